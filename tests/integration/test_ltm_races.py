"""What changes between a turn's prompt and its count, up to the moment in which the count holds the row."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date

import pytest

from perdure import ltm
from perdure.fact_types import Privacy
from perdure.store.accounting import Counted, Scored, record_recall_day
from perdure.store.database import SpaceTransaction
from perdure.store.embedded import ServerUrls
from perdure.store.fact_scopes import lock_scope
from perdure.store.fact_writing import change_fact, delete_fact
from perdure.store.facts import read_fact
from tests.doubles.clock import SkippingClock
from tests.integration.guild import Guild, gather

TODAY = date(2026, 3, 1)


@pytest.fixture
async def guild(urls: ServerUrls, noon: SkippingClock) -> AsyncIterator[Guild]:
    async with gather(urls, noon) as guild:
        yield guild


@pytest.mark.parametrize(("won", "left"), [(False, (0, None)), (True, (0, TODAY))])
async def test_a_fact_that_is_edited_while_the_count_waits_for_it_is_reset_if_it_won_and_else_left_alone(
    guild: Guild, won: bool, left: tuple[int, date | None]
) -> None:
    fact = await guild.known("a fact at 0.1")
    await guild.set_days(fact, 3)
    built = await guild.build()
    database = guild.memory.resources.database
    edited, may_commit = asyncio.Event(), asyncio.Event()

    async def edit(tx: SpaceTransaction) -> None:
        before = await read_fact(tx, fact)
        assert before is not None
        await lock_scope(tx, before.scope)
        assert await change_fact(tx, before, replace(before, content="other words at 0.1"), "update", "user")
        edited.set()
        await may_commit.wait()

    turn = Scored(
        guild.memory.resources.family.id,
        built.scored,
        (fact,) if won else (),
        built.candidates.scopes,
        "guild",
        "general",
    )

    async def count(tx: SpaceTransaction) -> Counted:
        return await record_recall_day(tx, turn, TODAY)

    editing = asyncio.create_task(database.in_space(guild.row.id, edit))
    await edited.wait()
    counting = asyncio.create_task(database.in_space(guild.row.id, count))
    await asyncio.sleep(0.2)
    assert not counting.done(), "the count has to wait for the edited row"
    may_commit.set()
    _, counted = await asyncio.gather(editing, counting)
    assert counted.aged == 0
    assert await guild.count(fact) == left


async def test_a_fact_that_is_deleted_while_the_count_waits_for_it_is_no_error(guild: Guild) -> None:
    fact, other = await guild.known("a fact at 0.1"), await guild.known("another at 0.1")
    built = await guild.build()
    database = guild.memory.resources.database
    deleted, may_commit = asyncio.Event(), asyncio.Event()

    async def delete(tx: SpaceTransaction) -> None:
        before = await read_fact(tx, fact)
        assert before is not None
        await lock_scope(tx, before.scope)
        assert await delete_fact(tx, before)
        deleted.set()
        await may_commit.wait()

    deleting = asyncio.create_task(database.in_space(guild.row.id, delete))
    await deleted.wait()
    counting = asyncio.create_task(guild.finish(built))
    await asyncio.sleep(0.2)
    assert not counting.done(), "the count has to wait for the deleted row"
    may_commit.set()
    _, sample = await asyncio.gather(deleting, counting)
    assert sample.persistence_failed == 0
    assert await guild.days(other) == 1


@pytest.mark.parametrize(
    ("level", "consents"), [(Privacy.PARTIAL, True), (Privacy.FULL, True), (Privacy.MINIMAL, False)]
)
async def test_what_the_host_says_of_privacy_after_the_prompt_holds_for_the_count(
    guild: Guild, level: Privacy, consents: bool
) -> None:
    near, far = await guild.known("Bob at 0.9", "Bob"), await guild.known("Bob at 0.1", "Bob")
    await guild.set_days(near, 3)
    built = await guild.build()
    assert {near, far} <= built.scored

    async def told(user_id: str) -> tuple[Privacy, bool]:
        return (level, consents) if user_id == "u-bob" else (Privacy.MINIMAL, True)

    object.__setattr__(guild.memory.resources, "privacy", told)
    sample = await guild.finish(built)
    assert sample.persistence_failed == 0
    assert await guild.count(near) == (3, None)
    assert await guild.count(far) == (0, None)


async def test_who_raises_privacy_after_the_prompt_has_nothing_embedded(guild: Guild) -> None:
    await guild.teach("Bob at 0.9", "Bob")
    of_ada = await guild.teach("Ada at 0.1", "Ada")
    built = await guild.build()
    await guild.space.set_person("u-bob", privacy="full")
    assert (await guild.finish(built)).filled_count == 1
    assert guild.embedder.documents == ["Ada at 0.1"]
    again = await guild.build()
    assert isinstance(again, ltm.TurnFacts)
    assert again.scored == {of_ada}
