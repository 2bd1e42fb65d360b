"""No memory holds, returns or shows the id of one that fewer people may see, by whatever way it is asked."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import pytest

from perdure import Space
from perdure.store.changes import flag_conflict, relate, supersede
from perdure.store.database import SpaceTransaction
from perdure.store.memories import MemoryRow, read_rows
from tests.doubles.chat_server import ChatServer
from tests.doubles.clock import SkippingClock
from tests.integration.test_contradiction import everything, say

CHOIR = "On {} evening my wife Eva and I go to the choir in Bonn"

NAMES = """
    SELECT m.id, s.audience, m.related_ids || m.conflicts_with
        || CASE WHEN s.superseded_by IS NULL THEN '{}'::bigint[] ELSE ARRAY[s.superseded_by] END AS named
    FROM memories m
    JOIN memory_state s ON s.space_id = m.space_id AND s.memory_id = m.id
    JOIN spaces p ON p.id = m.space_id
    WHERE p.name = %s
    UNION ALL
    SELECT h.memory_id, h.state ->> 'audience', ARRAY(
        SELECT v::bigint FROM jsonb_array_elements_text(
            (h.state -> 'related_ids') || coalesce(h.state -> 'conflicts_with', '[]')
            || CASE WHEN h.state ->> 'superseded_by' IS NULL THEN '[]' ELSE h.state -> 'superseded_by' END
            || CASE WHEN h.about IS NULL THEN '[]' ELSE to_jsonb(h.about) END) AS v)
    FROM memory_history h JOIN spaces p ON p.id = h.space_id
    WHERE p.name = %s
    UNION ALL
    SELECT e.memory_id, s.audience, ARRAY[e.external_id::bigint]
    FROM memory_evidence e
    JOIN memory_state s ON s.space_id = e.space_id AND s.memory_id = e.memory_id
    JOIN spaces p ON p.id = e.space_id
    WHERE p.name = %s AND e.kind = 'memory'
"""


async def require_no_leak(space: Space) -> None:
    """What the tables hold: each row names only what all those may see who may see the row."""
    async with space._memory.resources.database.owner() as owner:
        rows = await (await owner.execute(NAMES, (space.name,) * 3)).fetchall()
    audiences = {row["id"]: row["audience"] for row in rows}
    for row in rows:
        for other in row["named"]:
            assert audiences.get(other) in {None, row["audience"]}, f"{row['id']} names {other}"


def private(space: Space) -> Space:
    return space._memory.space(space.name, audience="ada-and-bot")


async def grieve(space: Space, chat: ChatServer) -> None:
    """An upheaval told in private, over memories of the whole space and private ones."""
    for day in ("Monday", "Tuesday"):
        await space.save(CHOIR.format(day))
    await private(space).save(CHOIR.format("Wednesday"))
    chat.answer("triage", {"salience": 9, "paradigm_shift": True, "said_by": "user"})
    await private(space).capture(user=CHOIR.format("Friday") + " for the last time")
    await space.drain()


def named(memories: Iterable[object]) -> set[int]:
    found: set[int] = set()
    for memory in memories:
        found |= {*memory.related_ids, *memory.conflicts_with, memory.superseded_by or 0}  # type: ignore[attr-defined]
    return found


async def test_a_transition_told_in_private_is_not_named_by_what_the_whole_space_sees(
    judged: Space, chat: ChatServer
) -> None:
    await grieve(judged, chat)
    (transition,) = await private(judged).list(memory_type="transition")
    assert transition.audience == "ada-and-bot"
    assert len(transition.related_ids) == 4
    hidden = {row.id for row in await private(judged).list(superseded=True) if row.audience is not None}
    assert hidden.isdisjoint(named(await judged.list(superseded=True)))
    theirs = [row for row in await private(judged).list() if row.audience is not None and row.id != transition.id]
    assert all(transition.id in row.related_ids for row in theirs)
    await require_no_leak(judged)


async def test_every_way_of_asking_for_the_whole_space_leaves_private_ids_out(judged: Space, chat: ChatServer) -> None:
    await grieve(judged, chat)
    everyone = private(judged)
    hidden = {row.id for row in await everyone.list(superseded=True) if row.audience is not None}
    found = await judged.search("Eva choir Bonn evening")
    recall = await judged.recall("When do Eva and I go to the choir in Bonn?")
    assert found.hits
    assert recall.memories
    hits = [*found.hits, *recall.memories]
    assert hidden.isdisjoint(named(hit.memory for hit in hits) | {hit.memory.id for hit in hits})
    assert hidden.isdisjoint({hit.led_by or 0 for hit in hits})
    assert not any(str(each) in recall.tail.split() for each in hidden)
    for each in await judged.list():
        assert hidden.isdisjoint(named([await judged.get(each.id)]))
        for item in await judged.evidence(each.id):
            assert item.kind != "memory" or int(item.external_id or 0) not in hidden
        for row in await judged.history(each.id):
            assert hidden.isdisjoint(row["state"]["related_ids"])  # type: ignore[index]
    for each in hidden:
        answer = await judged.why_not(each, "Eva choir Bonn")
        assert (answer.fate, answer.superseded_by, answer.hit) == ("not_there", None, None)


async def test_forgetting_what_all_see_erases_what_was_made_of_it_in_private_and_does_not_say_so(
    judged: Space, chat: ChatServer
) -> None:
    await grieve(judged, chat)
    (transition,) = await private(judged).list(memory_type="transition")
    monday = next(row for row in await judged.list() if "Monday" in row.summary)
    receipt = await judged.forget(monday.id)
    assert receipt.ids == (monday.id,)
    assert await private(judged).list(memory_type="transition") == ()
    assert transition.id not in named(await private(judged).list(superseded=True))


async def test_what_is_restored_in_a_chain_names_what_counts_today_and_is_named_where_it_may(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    chat.answer("contradiction", {"verdict": "UPDATES", "reason": "it was moved"})
    for hour in (3, 4, 5):
        await say(judged, f"The weekly meeting of the whole team begins at {hour} pm")
        noon.advance(timedelta(minutes=1))
    stored = await everything(judged)
    first, _, last = (stored[f"The weekly meeting of the whole team begins at {hour} pm"] for hour in (3, 4, 5))
    back = await judged.restore(first.id)
    assert back.conflicts_with == (last.id,)
    assert (await judged.get(last.id)).conflicts_with == (first.id,)


async def test_a_private_memory_that_is_restored_in_a_chain_stays_unknown_to_the_public_end_of_it(
    judged: Space,
) -> None:
    one = await private(judged).save("The meeting is at 3")
    two = await private(judged).save("Or rather at 4, the lesson")
    three = await judged.save("Dinner at 5 it is")
    row = await judged._memory.ensure_space(judged.name)

    async def chain(tx: SpaceTransaction) -> None:
        rows = await read_rows(tx, judged.name, [*one.ids, *two.ids])
        await supersede(tx, [rows[one.ids[0]]], two.ids[0], reason="x", changed_by="test", at=tx.now)
        await supersede(tx, [rows[two.ids[0]]], three.ids[0], reason="x", changed_by="test", at=tx.now)

    await judged._memory.resources.database.in_space(row.id, chain)
    back = await private(judged).restore(one.ids[0])
    assert back.conflicts_with == three.ids
    assert (await judged.get(three.ids[0])).conflicts_with == ()
    await require_no_leak(judged)


async def test_nothing_private_supersedes_what_the_whole_space_sees(judged: Space) -> None:
    public = (await judged.save("Dinner at 5 it is")).ids[0]
    secret = (await private(judged).save("The lesson is at 4")).ids[0]
    row = await judged._memory.ensure_space(judged.name)

    async def outdate(tx: SpaceTransaction) -> None:
        rows = await read_rows(tx, judged.name, [public])
        await supersede(tx, list(rows.values()), secret, reason="x", changed_by="test", at=tx.now)

    with pytest.raises(ValueError, match="fewer people"):
        await judged._memory.resources.database.in_space(row.id, outdate)


async def test_the_store_links_and_flags_only_what_everybody_sees_who_sees_the_memory(judged: Space) -> None:
    public = (await judged.save("Dinner at 5 it is")).ids[0]
    secret = (await private(judged).save("The lesson is at 4")).ids[0]
    row = await judged._memory.ensure_space(judged.name)

    async def link(tx: SpaceTransaction) -> dict[int, MemoryRow]:
        await relate(tx, [secret], [public])
        await flag_conflict(tx, public, [secret])
        await flag_conflict(tx, secret, [public])
        return await read_rows(tx, judged.name, [public, secret])

    rows = await judged._memory.resources.database.in_space(row.id, link)
    assert (rows[public].memory.related_ids, rows[public].memory.conflicts_with) == ((), ())
    assert (rows[secret].memory.related_ids, rows[secret].memory.conflicts_with) == ((public,), (public,))
