"""What the page on self-taught facts promises of its edges (spec, section 10), each by its name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

from perdure import ltm
from perdure.context import BlockName
from perdure.fact_types import FactId, FactKind, FactStatus, Privacy
from perdure.ltm import RecallOutcome
from perdure.store.accounting import Counted, Scored, record_recall_day
from perdure.store.database import SpaceTransaction
from perdure.store.embedded import ServerUrls
from tests.doubles.clock import SkippingClock
from tests.doubles.told_embedder import ToldEmbedder
from tests.integration.conftest import open_memory
from tests.integration.guild import ADA, BOB, RIKU, STATE, Guild, gather, speaking

DAY = timedelta(days=1)
TODAY = date(2026, 3, 1)


@pytest.fixture
async def guild(urls: ServerUrls, noon: SkippingClock) -> AsyncIterator[Guild]:
    async with gather(urls, noon) as guild:
        yield guild


async def test_fifty_misses_of_one_day_are_one_day(guild: Guild) -> None:
    fact = await guild.known("a fact at 0.1")
    for _ in range(50):
        await guild.turn()
    assert await guild.count(fact) == (1, TODAY)


async def test_a_win_after_a_miss_sets_it_back(guild: Guild) -> None:
    near, far = await guild.known("a fact at 0.9"), await guild.known("a fact at 0.1")
    await guild.set_days(near, 6)
    miss = await guild.build()
    lost = Scored(family_of(guild), {near, far}, (), miss.candidates.scopes, "guild", "general")
    await guild.memory.resources.database.in_space(guild.row.id, lambda tx: record_recall_day(tx, lost, TODAY))
    assert await guild.days(near) == 7
    await guild.turn()
    assert await guild.count(near) == (0, TODAY)
    assert await guild.days(far) == 1


async def test_a_miss_after_a_win_of_the_same_day_changes_nothing(guild: Guild) -> None:
    fact = await guild.known("a fact at 0.9")
    await guild.set_days(fact, 5)
    built = await guild.build()
    await guild.finish(built)
    await count(guild, built, winners=())
    assert await guild.count(fact) == (0, TODAY)


@pytest.mark.parametrize("first", ["win", "miss"])
async def test_reinforcement_wins_whichever_commit_is_first(guild: Guild, first: str) -> None:
    fact = await guild.known("a fact at 0.9")
    await guild.set_days(fact, 3)
    built = await guild.build()
    holds, waits = ((fact,), ()) if first == "win" else ((), (fact,))
    counted, may_commit = asyncio.Event(), asyncio.Event()

    async def hold(tx: SpaceTransaction) -> Counted:
        done = await record_recall_day(tx, scored(guild, built, holds), TODAY)
        counted.set()
        await may_commit.wait()
        return done

    database = guild.memory.resources.database
    one = asyncio.create_task(database.in_space(guild.row.id, hold))
    await counted.wait()
    other = asyncio.create_task(count(guild, built, winners=waits))
    await asyncio.sleep(0.2)
    assert not other.done(), "the second has to wait for the first one's row"
    may_commit.set()
    await asyncio.gather(one, other)
    assert await guild.count(fact) == (0, TODAY)


async def test_a_minute_before_midnight_and_one_after_are_two_days(guild: Guild, noon: SkippingClock) -> None:
    fact = await guild.known("a fact at 0.1")
    noon.advance(timedelta(hours=11, minutes=59))
    await guild.turn()
    noon.advance(timedelta(minutes=2))
    await guild.turn()
    assert await guild.count(fact) == (2, TODAY + DAY)


async def test_the_day_is_the_one_of_utc_whatever_zone_the_clock_has(urls: ServerUrls) -> None:
    in_tokyo = SkippingClock(datetime(2026, 3, 2, 3, tzinfo=timezone(timedelta(hours=9))))
    async with gather(urls, in_tokyo) as guild:
        fact = await guild.known("a fact at 0.1")
        await guild.turn()
        assert await guild.count(fact) == (1, TODAY)


async def test_what_has_no_vector_neither_ages_nor_wins_and_is_scored_from_the_next_turn_on(guild: Guild) -> None:
    fact = await guild.teach("a fact at 0.9")
    first = await guild.turn()
    assert (first.outcome, first.candidate_count, first.scored_count) == (RecallOutcome.SCORED, 1, 0)
    assert (first.filled_count, first.reinforced_count) == (1, 0)
    assert await guild.count(fact) == (0, None)
    second = await guild.turn()
    assert (second.scored_count, second.reinforced_count, second.filled_count) == (1, 1, 0)
    assert guild.embedder.documents == ["a fact at 0.9"]


async def test_a_fact_ages_only_in_families_that_know_it_and_the_day_is_shared(
    guild: Guild, urls: ServerUrls, noon: SkippingClock
) -> None:
    both, one = await guild.known("the first at 0.1"), await guild.teach("the second at 0.1")
    async with open_memory(urls, ToldEmbedder("other", 16), clock=noon) as memory:  # type: ignore[arg-type]
        other = Guild(memory, memory.space(guild.row.name), memory.resources.embedder, guild.row)  # type: ignore[arg-type]
        await other.turn()  # fills the vectors of the other family
        assert (await guild.days(both), await guild.days(one)) == (0, 0)
        await guild.turn()
        assert (await guild.days(both), await guild.days(one)) == (1, 0)
        await other.turn()
    assert (await guild.days(both), await guild.days(one)) == (1, 1)


async def test_what_two_personas_were_shown_ages_once_and_one_win_saves_it(guild: Guild) -> None:
    shared = await guild.remember("known to all, at 0.9")
    far = await guild.remember("known to all, at 0.1")
    riku = speaking(persona=RIKU)
    await guild.fill()
    one, two = await guild.build(), await guild.build(riku)
    await count(guild, one, winners=())
    await guild.finish(two)
    assert await guild.count(far) == (1, TODAY)
    assert await guild.count(shared) == (0, TODAY)


@pytest.mark.parametrize("wish", [{"privacy": "full"}, {"privacy": "partial"}, {"consents": False}])
async def test_privacy_raised_between_prompt_and_count_leaves_the_fact_alone(
    guild: Guild, wish: dict[str, Any]
) -> None:
    near, far = await guild.known("Bob at 0.9", "Bob"), await guild.known("Bob at 0.1", "Bob")
    await guild.set_days(near, 3)
    built = await guild.build()
    assert {near, far} <= built.scored
    await guild.space.set_person("u-bob", **wish)
    await guild.finish(built)
    assert await guild.count(near) == (3, None)
    assert await guild.count(far) == (0, None)
    assert not (await guild.build()).candidates.every


async def test_what_people_wrote_of_somebody_is_used_until_they_want_full_privacy(guild: Guild) -> None:
    fact = await guild.remember("Bob at 0.9", about="person:u-bob")
    await guild.space.set_person("u-bob", privacy="partial", consents=False)
    assert [one.id for one in (await guild.build()).candidates.every] == [fact]
    await guild.space.set_person("u-bob", privacy="full")
    assert not (await guild.build()).candidates.every


async def test_a_person_taken_out_of_a_server_between_prompt_and_count_is_left_alone(guild: Guild) -> None:
    fact = await guild.known("Bob at 0.1", "Bob")
    built = await guild.build()
    await guild.space.set_personalised("u-bob", "guild", personalised=False)
    await guild.finish(built)
    assert await guild.count(fact) == (0, None)


async def test_of_facts_edited_during_the_turn_the_winner_is_reset_and_the_loser_does_not_age(guild: Guild) -> None:
    won, lost = await guild.known("Ada at 0.9", "Ada"), await guild.known("Ada at 0.1", "Ada")
    built = await guild.build()
    for fact in (won, lost):
        told = await guild.space.update_long_term_memory(
            STATE, {"memory_id": str(fact), "memory_content": f"Ada anew {fact}, at 0.2", "target_user": "Ada"}
        )
        assert told.status is FactStatus.UPDATED
    await guild.set_days(won, 4)
    await guild.set_days(lost, 4)
    sample = await guild.finish(built)
    assert await guild.count(won) == (0, TODAY)
    assert await guild.count(lost) == (4, None)
    assert sample.persistence_failed == 0


async def test_what_was_deleted_between_prompt_and_count_is_no_error(guild: Guild) -> None:
    fact, left = await guild.known("Ada at 0.9", "Ada"), await guild.known("Ada at 0.1", "Ada")
    built = await guild.build()
    await guild.space.forget_fact(fact)
    sample = await guild.finish(built)
    assert (sample.persistence_failed, sample.reinforced_count) == (0, 1)
    assert await guild.days(left) == 1


async def test_without_an_embedding_model_a_dormant_fact_is_shown_and_hidden_again_with_one(guild: Guild) -> None:
    fact = await guild.known("a fact at 0.1")
    await guild.set_days(fact, 9)
    turn = ltm.FactTurn(STATE, "What do we do now?")
    without = await ltm.build(guild.memory.resources, guild.row, turn, query=None)
    assert (without.outcome, [one.id for one in without.server]) == (RecallOutcome.NO_MODEL, [fact])
    assert (await guild.build()).server == ()


async def test_a_week_without_the_provider_ages_nothing_and_dormant_facts_stay_hidden(
    guild: Guild, noon: SkippingClock
) -> None:
    active, dormant = await guild.known("the first at 0.1"), await guild.known("the second at 0.9")
    await guild.set_days(active, 6)
    await guild.set_days(dormant, 9)
    guild.embedder.outage = True
    for _ in range(7):
        noon.advance(DAY)
        built = await guild.build()
        assert (built.outcome, built.recalled) == (RecallOutcome.PROVIDER_ERROR, ())
        assert [fact.id for fact in built.server] == [active]
        assert built.degraded
        await guild.finish(built)
    assert (await guild.days(active), await guild.days(dormant)) == (6, 9)


async def test_of_four_that_are_near_three_win_and_the_fourth_ages(guild: Guild) -> None:
    facts = [await guild.teach(f"fact {number} at {near}") for number, near in enumerate((0.9, 0.8, 0.7, 0.6))]
    await guild.fill()
    built = await guild.build()
    assert list(built.winners) == facts[:3]
    await guild.finish(built)
    assert [await guild.days(fact) for fact in facts] == [0, 0, 0, 1]


async def test_exactly_half_wins(guild: Guild) -> None:
    exact, below = await guild.known("a fact at 0.5"), await guild.known("a fact at 0.49")
    built = await guild.build()
    assert built.winners == (exact,)
    assert below in built.scored


async def test_where_all_facts_are_dormant_there_is_no_empty_header(guild: Guild) -> None:
    facts = [await guild.known("Ada at 0.1", "Ada"), await guild.known("the server at 0.1")]
    before = await guild.space.context("What do we do now?", state=STATE)
    assert "Ada at 0.1" in before.prefix
    assert BlockName.SERVER_MEMORIES in {block.name for block in before.blocks}
    for fact in facts:
        await guild.set_days(fact, 7)
    context = await guild.space.context("What do we do now?", state=STATE)
    names = {block.name for block in context.blocks}
    assert not names & {BlockName.SERVER_MEMORIES, BlockName.KNOWLEDGE_RECALLED_MEMORIES}
    assert "at 0.1" not in context.prefix + context.tail


@pytest.mark.parametrize("message", ["", "😀😀", "!?", "ok", "  a1 "])
async def test_a_message_that_says_nothing_scores_nothing(guild: Guild, message: str) -> None:
    fact = await guild.known("a fact at 0.1")
    asked = len(guild.embedder.queries)
    sample = await guild.turn(message=message)
    assert sample.outcome is RecallOutcome.NO_QUERY
    assert await guild.count(fact) == (0, None)
    assert len(guild.embedder.queries) == asked


async def test_one_character_is_a_query_where_words_have_no_spaces(guild: Guild) -> None:
    await guild.known("a fact at 0.1")
    assert (await guild.turn(message="吃")).outcome is RecallOutcome.SCORED


async def test_where_decay_is_off_nothing_is_scored_hidden_or_replaced(urls: ServerUrls, noon: SkippingClock) -> None:
    async with gather(urls, noon, memory_decay_enabled=False, max_server_memories=1) as guild:
        fact = await guild.teach("a fact at 0.9")
        await guild.set_days(fact, 20)
        sample = await guild.turn()
        built = await guild.build()
        assert (sample.outcome, sample.filled_count) == (RecallOutcome.DISABLED, 0)
        assert [one.id for one in built.server] == [fact]
        full = await guild.space.create_long_term_memory(
            STATE, {"memory_content": "another", "memory_scope": "server_wide"}
        )
        assert full.status is FactStatus.LIMIT_EXCEEDED
        assert await guild.count(fact) == (20, None)
        assert not guild.embedder.queries


async def test_a_dormant_fact_comes_back_for_the_turn_and_is_active_in_the_next(guild: Guild) -> None:
    fact = await guild.known("a fact at 0.9")
    await guild.set_days(fact, 9)
    built = await guild.build()
    assert ([one.id for one in built.recalled], built.server) == ([fact], ())
    sample = await guild.finish(built)
    assert (sample.recalled_count, sample.quick_return_count) == (1, 1)
    after = await guild.build()
    assert ([one.id for one in after.server], after.recalled) == ([fact], ())


async def test_a_return_is_quick_by_what_the_commit_found(guild: Guild) -> None:
    old, young, raced = [await guild.teach(f"fact {number} at 0.9") for number in range(3)]
    await guild.fill()
    for fact, days in ((old, 15), (young, 14), (raced, 10)):
        await guild.set_days(fact, days)
    built = await guild.build()
    assert set(built.winners) == {old, young, raced}
    await guild.set_days(raced, 0)  # another turn was quicker
    assert (await guild.finish(built)).quick_return_count == 1


async def test_a_pinned_fact_is_scored_and_never_ages(guild: Guild) -> None:
    fact = await guild.known("a fact at 0.1")
    await guild.space.pin_fact(fact)
    await guild.turn()
    assert await guild.count(fact) == (0, None)


async def test_what_is_for_another_channel_or_keyword_can_neither_win_nor_age(guild: Guild) -> None:
    elsewhere = await guild.remember("there, at 0.9", channels=["other"])
    keyed = await guild.remember("cats, at 0.8", tags=["cat"])
    await guild.fill(speaking(channel_id="other"))
    await guild.turn(message="the category of things")
    assert (await guild.count(elsewhere), await guild.count(keyed)) == ((0, None), (0, None))
    built = await guild.build(message="my cat sleeps")
    assert {fact.id for fact in built.candidates.every} == {keyed}


async def test_a_persona_that_speaks_as_somebody_knows_what_is_known_of_them_alone(guild: Guild) -> None:
    of_bob, _, _ = [
        await guild.known("Bob at 0.9", "Bob"),
        await guild.known("Ada at 0.9", "Ada"),
        await guild.known("the server at 0.9"),
    ]
    built = await guild.build(speaking(participants=(ADA, replace(BOB, impersonated=True))))
    assert [fact.id for fact in built.candidates.every] == [of_bob]


async def test_counting_lets_go_of_what_was_rendered_of_the_server_and_of_nothing_else(guild: Guild) -> None:
    await guild.known("the server at 0.1")
    await guild.known("Ada at 0.1", "Ada")
    built = await guild.build()
    for facts in (built.server, built.people["u-ada"]):
        ltm.render_facts(guild.memory.resources, guild.row.id, facts, "Ada", "Momo")
    await guild.finish(built)
    assert {scope.kind for _, scope in guild.memory.resources.rendered} == {FactKind.PERSONAL}


async def test_a_look_counts_nothing(guild: Guild) -> None:
    fact = await guild.known("a fact at 0.9")
    told = len(await guild.samples())
    for _ in range(3):
        await guild.build()
    assert await guild.count(fact) == (0, None)
    assert len(await guild.samples()) == told


async def test_facts_that_are_late_let_the_reply_go_on(urls: ServerUrls, noon: SkippingClock) -> None:
    async with gather(urls, noon, fact_recall_s=0.05) as guild:
        fact = await guild.known("a fact at 0.9")
        await guild.set_days(fact, 8)
        guild.embedder.hang_s = 5
        built = await guild.build()
        assert (built.outcome, built.recalled, built.server) == (RecallOutcome.TIMEOUT, (), ())
        sample = await guild.finish(built)
        assert (sample.outcome, sample.filled_count) == (RecallOutcome.TIMEOUT, 0)
        assert await guild.count(fact) == (8, None)


async def test_a_process_that_holds_too_much_memory_scores_nothing_and_hides_what_is_dormant(
    urls: ServerUrls, noon: SkippingClock
) -> None:
    async with gather(urls, noon) as guild:
        fact = await guild.known("a fact at 0.9")
        await guild.set_days(fact, 8)
        heavy = guild.memory.resources.settings.model_copy(update={"process_memory_limit_mb": 1})
        object.__setattr__(guild.memory.resources, "settings", heavy)
        built = await guild.build()
    assert (built.outcome, built.server, built.recalled) == (RecallOutcome.MEMORY_CRITICAL, (), ())


async def test_a_server_without_facts_asks_no_embedder(guild: Guild) -> None:
    sample = await guild.turn()
    assert sample.outcome is RecallOutcome.NO_CANDIDATES
    assert not guild.embedder.queries


async def test_one_turn_fills_sixty_four_vectors_in_batches_the_newest_first(guild: Guild) -> None:
    for number in range(70):
        await guild.teach(f"fact {number} of the server, at 0.1")
    first = await guild.turn()
    assert (first.filled_count, len(guild.embedder.documents)) == (64, 64)
    assert guild.embedder.documents[0] == "fact 69 of the server, at 0.1"
    assert (await guild.turn()).filled_count == 6


async def test_a_vector_of_words_that_were_changed_meanwhile_is_not_kept(guild: Guild) -> None:
    fact = await guild.teach("a fact at 0.1")
    embed = guild.embedder.embed

    async def edited_meanwhile(texts: list[str], kind: str) -> object:
        if kind == "document" and texts == ["a fact at 0.1"]:
            await guild.space.edit_fact(fact, content="other words at 0.9")
        return await embed(texts, kind)  # type: ignore[arg-type]

    guild.embedder.embed = edited_meanwhile  # type: ignore[method-assign, assignment]
    assert (await guild.turn()).filled_count == 0
    assert not (await guild.build()).scored
    assert (await guild.turn()).filled_count == 1


async def test_a_sample_holds_numbers_and_nothing_else(guild: Guild) -> None:
    fact = await guild.known("a secret at 0.9", "Bob")
    await guild.set_days(fact, 8)
    await guild.turn(message="What about the secret?")
    sample = (await guild.samples())[-1]
    assert sample.pop("outcome") == "scored"
    assert all(isinstance(value, (int, float)) for value in sample.values())
    assert set(sample) == {
        "total_ms", "embedding_ms", "candidate_count", "scored_count", "reinforced_count", "recalled_count",
        "quick_return_count", "dormant_tokens", "recalled_tokens", "query_tokens", "fill_tokens", "filled_count",
        "persistence_failed",
    }  # fmt: skip
    assert sample["query_tokens"] == 6
    assert sample["dormant_tokens"] == sample["recalled_tokens"] > 0


async def test_a_fill_that_fails_is_told_and_what_was_counted_stays(guild: Guild) -> None:
    fact = await guild.known("a fact at 0.1")
    await guild.teach("another at 0.1")
    built = await guild.build()
    guild.embedder.outage = True
    sample = await guild.finish(built)
    assert (sample.outcome, sample.persistence_failed, sample.filled_count) == (RecallOutcome.SCORED, 1, 0)
    assert await guild.days(fact) == 1


async def test_whoever_cannot_be_looked_up_is_hidden(urls: ServerUrls, noon: SkippingClock) -> None:
    async with gather(urls, noon) as guild:
        await guild.known("Bob at 0.9", "Bob")

        async def down(user_id: str) -> tuple[Privacy, bool]:
            raise ConnectionError(user_id)

        object.__setattr__(guild.memory.resources, "privacy", down)
        assert not (await guild.build()).candidates.every


def family_of(guild: Guild) -> int:
    return guild.memory.resources.family.id


def scored(guild: Guild, built: ltm.TurnFacts, winners: tuple[FactId, ...]) -> Scored:
    return Scored(family_of(guild), built.scored, winners, built.candidates.scopes, "guild", "general")


async def count(guild: Guild, built: ltm.TurnFacts, winners: tuple[FactId, ...]) -> Counted:
    turn = scored(guild, built, winners)
    return await guild.memory.resources.database.in_space(guild.row.id, lambda tx: record_recall_day(tx, turn, TODAY))
