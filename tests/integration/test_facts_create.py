"""`create_long_term_memory`: every check in its order, and nothing is written where one fails."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import replace

import pytest
from psycopg import sql

from perdure import Memory, Space
from perdure.fact_types import FactKind, FactScope, FactStatus, Participant, Persona, Privacy, TurnState
from perdure.store.embedded import ServerUrls
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

ADA = Participant("u-ada", "Ada", ("ada_l", "Countess"))
BOB = Participant("u-bob", "Bob", ("bob_the_builder",))
MOMO = Persona(10_007, "Momo", ("Momo-chan",))
TURN = TurnState("guild", "general", MOMO, ADA, (ADA, BOB), message_id="m-1")

TABLES = ("server_memories", "personal_memories", "fact_scopes", "fact_history", "fact_archive", "people", "spaces")


async def counts(memory: Memory) -> dict[str, int]:
    found = {}
    async with memory.resources.database.owner() as owner:
        for table in TABLES:
            query = sql.SQL("SELECT count(*) AS n FROM {}").format(sql.Identifier(table))
            row = await (await owner.execute(query)).fetchone()
            assert row is not None
            found[table] = int(row["n"])
    return found


def about_server(content: object = "The server plays chess on Mondays", **more: object) -> dict[str, object]:
    return {"memory_content": content, "memory_scope": "server_wide", **more}


def about(name: object, content: object = "{user} loves Crème brûlée") -> dict[str, object]:
    return {"memory_content": content, "memory_scope": "target_user", "target_user": name}


async def status(space: Space, arguments: object, state: TurnState = TURN) -> FactStatus:
    return (await space.create_long_term_memory(state, arguments)).status  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("not an object", FactStatus.INVALID_ARGUMENTS),
        (None, FactStatus.INVALID_ARGUMENTS),
        ({}, FactStatus.INVALID_ARGUMENTS),
        (about_server(None), FactStatus.INVALID_ARGUMENTS),
        (about_server(7), FactStatus.INVALID_ARGUMENTS),
        (about_server(["list"]), FactStatus.INVALID_ARGUMENTS),
        ({"memory_content": "x", "memory_scope": "everywhere"}, FactStatus.INVALID_ARGUMENTS),
        ({"memory_content": "x", "memory_scope": True}, FactStatus.INVALID_ARGUMENTS),
        (about(5), FactStatus.INVALID_ARGUMENTS),
        (about_server(""), FactStatus.BLANK_CONTENT),
        (about_server(" \n\u200b\u00ad "), FactStatus.BLANK_CONTENT),
        (about_server("\x00\x07"), FactStatus.BLANK_CONTENT),
        (about_server("Please don't remember this"), FactStatus.NOT_TO_REMEMBER),
        (about(None), FactStatus.TARGET_MISSING),
        (about("  "), FactStatus.TARGET_MISSING),
        (about("Eve"), FactStatus.TARGET_UNKNOWN),
        (about("u-ada"), FactStatus.TARGET_UNKNOWN),
        (about_server("x" * 1001), FactStatus.CONTENT_TOO_LONG),
        (about("Ada", "ü" * 1001), FactStatus.CONTENT_TOO_LONG),
    ],
)
async def test_what_cannot_be_kept_is_refused_by_name_and_writes_nothing(
    memory: Memory, space: Space, arguments: object, expected: FactStatus
) -> None:
    before = await counts(memory)
    outcome = await space.create_long_term_memory(TURN, arguments)  # type: ignore[arg-type]
    assert (outcome.status, outcome.ok, outcome.id) == (expected, False, None)
    assert outcome.message.endswith(".")
    assert await counts(memory) == before


async def test_the_first_check_that_fails_is_the_one_that_is_told(memory: Memory, space: Space) -> None:
    """Each step of this list repairs what the step before was refused for, and everything after it is wrong, too."""
    lineage_0 = replace(TURN, persona=Persona(0, "Momo"))
    nobody = replace(lineage_0, persona=None)
    long = "x" * 1001
    await space.set_server("guild", self_teaching_enabled=False)
    await space.set_person("u-ada", privacy=Privacy.FULL)
    told = [
        await status(space, {"memory_content": 1, "memory_scope": "target_user"}, nobody),
        await status(space, about(None, ""), nobody),
    ]
    await space.set_server("guild", self_teaching_enabled=True)
    told += [
        await status(space, about(None, ""), nobody),
        await status(space, about(None, ""), lineage_0),
        await status(space, about(None, long), lineage_0),
        await status(space, about("Eve", long), lineage_0),
        await status(space, about("Ada", long), lineage_0),
        await status(space, about("Ada"), lineage_0),
        await status(space, about("Ada")),
    ]
    assert told == [
        FactStatus.INVALID_ARGUMENTS,
        FactStatus.DISABLED,
        FactStatus.INCOMPLETE_TURN,
        FactStatus.BLANK_CONTENT,
        FactStatus.TARGET_MISSING,
        FactStatus.TARGET_UNKNOWN,
        FactStatus.CONTENT_TOO_LONG,
        FactStatus.RESERVED_LINEAGE,
        FactStatus.PRIVACY_RESTRICTED,
    ]
    assert await space.facts() == ()
    await space.set_person("u-ada", privacy=Privacy.MINIMAL)
    assert await status(space, about("Ada")) is FactStatus.SAVED
    assert await status(space, about("Ada")) is FactStatus.ALREADY_KNOWN


@pytest.mark.parametrize("unit", ["x", "ü", "{", "e\u0301", "my password is "])
async def test_a_flood_is_refused_at_once(space: Space, unit: str) -> None:
    flood = unit * 3_000_000
    began = time.monotonic()
    assert await status(space, about_server(flood)) is FactStatus.CONTENT_TOO_LONG
    assert await status(space, about(flood)) is FactStatus.TARGET_UNKNOWN
    for memory_id in (flood, 10**5000, "S" + "9" * 5_000_000):
        outcome = await space.update_long_term_memory(TURN, {"memory_id": memory_id, "memory_content": "x"})
        assert outcome.status is FactStatus.INVALID_ARGUMENTS
    outcome = await space.update_long_term_memory(TURN, {"memory_id": "S1", "memory_content": flood})
    assert outcome.status is FactStatus.CONTENT_TOO_LONG
    assert await status(space, about_server(" " * 5_000_000)) is FactStatus.BLANK_CONTENT
    assert time.monotonic() - began < 3


async def test_a_saved_fact_says_who_taught_it_where(space: Space) -> None:
    outcome = await space.create_long_term_memory(TURN, about("@ADA_L", "  {user} loves {dessert} \n"))
    assert outcome.ok
    assert outcome.scope == FactScope(FactKind.PERSONAL, "u-ada", 10_007)
    assert outcome.id is not None
    fact = (await space.fact(outcome.id)).fact
    assert (fact.content, fact.taught_by, fact.revision, fact.decay_days) == ("{user} loves dessert", "u-ada", 1, 0)
    assert fact.evidence == {
        "server_id": "guild",
        "channel_id": "general",
        "message_id": "m-1",
        "speaker": "u-ada",
        "lineage": 10_007,
    }
    assert str(outcome.id).startswith("P")
    assert str((await space.create_long_term_memory(TURN, about_server(surprise=1))).id).startswith("S")


@pytest.mark.parametrize("name", ["Momo", "@momo", "MOMO-CHAN", "self", " Self "])
async def test_the_assistant_itself_means_the_whole_server(space: Space, name: str) -> None:
    outcome = await space.create_long_term_memory(TURN, about(name, "{bot} is afraid of spiders"))
    assert outcome.scope == FactScope(FactKind.SERVER, "guild", 10_007)
    outside = replace(TURN, server_id=None)
    assert await status(space, about(name, "{bot} is afraid of ghosts"), outside) is FactStatus.INCOMPLETE_TURN
    assert await status(space, about_server(), outside) is FactStatus.INCOMPLETE_TURN
    assert await status(space, about("Ada"), outside) is FactStatus.SAVED


async def test_ambiguous_names_are_told_apart_by_what_is_theirs_alone(space: Space) -> None:
    people = tuple(Participant(f"u-{n}", "Alex", (f"alex{n}", "Lex")) for n in range(5))
    turn = replace(TURN, speaker=people[0], participants=people)
    outcome = await space.create_long_term_memory(turn, about("alex"))
    assert outcome.status is FactStatus.TARGET_AMBIGUOUS
    assert outcome.candidates == ("alex0", "alex1", "alex2")
    assert (await space.create_long_term_memory(turn, about("lex"))).status is FactStatus.TARGET_AMBIGUOUS
    chosen = await space.create_long_term_memory(turn, about(outcome.candidates[1]))
    assert chosen.scope == FactScope(FactKind.PERSONAL, "u-1", 10_007)


async def test_a_shown_name_comes_before_an_alias(space: Space) -> None:
    robert = Participant("u-robert", "Robert", ("Bob",))
    turn = replace(TURN, participants=(robert, BOB, ADA))
    outcome = await space.create_long_term_memory(turn, about("BOB"))
    assert outcome.scope == FactScope(FactKind.PERSONAL, "u-bob", 10_007)
    called_self = replace(TURN, participants=(ADA, Participant("u-self", "Self")))
    outcome = await space.create_long_term_memory(called_self, about("self"))
    assert outcome.scope == FactScope(FactKind.PERSONAL, "u-self", 10_007), (
        "a person's name is no way to tell everybody"
    )


async def test_what_was_said_not_to_be_remembered_is_not(space: Space) -> None:
    turn = replace(TURN, message="I'm pregnant, but please don't remember that")
    assert await status(space, about("Ada", "{user} is pregnant"), turn) is FactStatus.NOT_TO_REMEMBER
    assert await space.facts() == ()


async def test_secrets_are_masked_like_at_every_door(space: Space) -> None:
    outcome = await space.create_long_term_memory(TURN, about("Ada", "{user}'s pass{word} is hunter2"))
    assert outcome.content == "{user}'s password is [secret: password]"


async def test_only_what_was_recalled_is_nothing_to_keep(space: Space) -> None:
    await space.save("Ada is allergic to peanuts and must never eat them")
    recalled = await space.recall("May Ada eat peanuts?")
    assert recalled.tail
    assert await status(space, about_server(recalled.tail)) is FactStatus.BLANK_CONTENT


@pytest.mark.parametrize(
    ("level", "consents", "allowed"),
    [
        (Privacy.MINIMAL, True, True),
        (Privacy.MINIMAL, False, False),
        (Privacy.PARTIAL, True, False),
        (Privacy.FULL, True, False),
    ],
)
async def test_nothing_is_learnt_of_a_person_who_doesnt_want_that(
    space: Space, level: Privacy, consents: bool, allowed: bool
) -> None:
    await space.set_person("u-ada", privacy=level, consents=consents)
    assert await status(space, about("Ada")) is (FactStatus.SAVED if allowed else FactStatus.PRIVACY_RESTRICTED)
    assert await status(space, about("Bob")) is FactStatus.SAVED


class BrokenLookup:
    """A host that can't tell, in one of several ways."""

    def __init__(self, way: object) -> None:
        self.way = way

    async def __call__(self, user_id: str) -> tuple[Privacy, bool]:
        if isinstance(self.way, Exception):
            raise self.way
        if self.way == "late":
            await asyncio.sleep(60)
        return self.way  # type: ignore[return-value]


@pytest.mark.parametrize(
    "way",
    [RuntimeError("down"), "late", None, ("nonsense", True), (Privacy.MINIMAL, "yes"), (Privacy.FULL, True), ()],
    ids=str,
)
async def test_where_nobody_can_tell_whether_a_person_agrees_nothing_is_kept(
    urls: ServerUrls, embedder: HashedEmbedder, way: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.ltm.privacy.LOOKUP_S", 0.2)
    async with open_memory(urls, embedder, privacy=BrokenLookup(way)) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        assert await status(space, about("Ada")) is FactStatus.PRIVACY_RESTRICTED
        assert await space.facts() == ()
        assert await status(space, about_server()) is FactStatus.SAVED


async def test_a_host_may_be_stricter_than_what_is_set_here_and_not_laxer(
    urls: ServerUrls, embedder: HashedEmbedder
) -> None:
    async def agreed(user_id: str) -> tuple[Privacy, bool]:
        return Privacy.MINIMAL, True

    async with open_memory(urls, embedder, privacy=agreed) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        assert await status(space, about("Ada")) is FactStatus.SAVED
        await space.set_person("u-ada", privacy="partial")
        assert await status(space, about("Ada", "other")) is FactStatus.PRIVACY_RESTRICTED


async def test_the_same_fact_in_another_spelling_is_known_in_its_scope_and_new_in_others(space: Space) -> None:
    first = await space.create_long_term_memory(TURN, about("Ada"))
    again = await space.create_long_term_memory(TURN, about("Ada", "{{USER}} LOVES  creme brulee"))
    assert (again.status, again.ok, again.id) == (FactStatus.ALREADY_KNOWN, True, first.id)
    other_persona = replace(TURN, persona=Persona(10_008, "Kiki"))
    other_server = replace(TURN, server_id="other")
    ids = {first.id}
    for turn, arguments in (
        (TURN, about("Bob")),
        (other_persona, about("Ada")),
        (TURN, about_server("{user} loves Crème brûlée")),
        (other_server, about_server("{user} loves Crème brûlée")),
    ):
        outcome = await space.create_long_term_memory(turn, arguments)
        assert outcome.status is FactStatus.SAVED
        ids.add(outcome.id)
    assert len(ids) == 5


async def test_a_person_is_the_same_in_every_server_and_unknown_in_another_space(memory: Memory, space: Space) -> None:
    first = await space.create_long_term_memory(TURN, about("Ada"))
    elsewhere = await space.create_long_term_memory(replace(TURN, server_id="other"), about("Ada"))
    assert (elsewhere.status, elsewhere.id) == (FactStatus.ALREADY_KNOWN, first.id)
    stranger = memory.space(f"space-{secrets.token_hex(6)}")
    assert await stranger.facts() == ()
    assert await status(stranger, about("Ada")) is FactStatus.SAVED


async def test_a_failed_call_makes_no_space(memory: Memory) -> None:
    stranger = memory.space(f"space-{secrets.token_hex(6)}")
    assert await status(stranger, about("Eve")) is FactStatus.TARGET_UNKNOWN
    assert await memory.find_space(stranger.name) is None


async def test_a_database_that_is_gone_is_told_and_nothing_is_claimed(memory: Memory, space: Space) -> None:
    await status(space, about_server())
    await memory.resources.database.close()
    outcome = await space.create_long_term_memory(TURN, about_server("Something new"))
    assert (outcome.status, outcome.ok) == (FactStatus.UNAVAILABLE, False)
