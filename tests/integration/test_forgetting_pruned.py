"""What upkeep has pruned is history, and `forget` erases it, and what was made of it, like anything else."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from perdure.errors import NotFound
from tests.integration.test_cognition import of_type, save
from tests.integration.test_forgetting import canary, held_by

if TYPE_CHECKING:
    from perdure import Space
    from tests.doubles.chat_server import ChatServer
    from tests.doubles.clock import SkippingClock

__all__ = ["canary"]
LATER = timedelta(days=120)


async def test_what_was_pruned_is_forgotten_by_its_id(judged: Space, noon: SkippingClock, canary: str) -> None:
    memory_id = await save(judged, f"The boat is called {canary}.", salience=5)
    noon.advance(LATER)
    await judged.upkeep()
    assert not await judged.list(superseded=True)
    assert await held_by(judged, canary)
    assert (await judged.forget(memory_id)).ids == (memory_id,)
    assert await held_by(judged, canary) == []
    assert not (await judged.search("boat", as_of="2026-03-01")).hits
    with pytest.raises(NotFound):
        await judged.forget(memory_id)


async def test_all_chunks_of_a_pruned_text_go_together(judged: Space, noon: SkippingClock, canary: str) -> None:
    outcome = await judged.save(" ".join(f"Line {n} is about {canary} and {n * 7919}." for n in range(400)), salience=5)
    noon.advance(LATER)
    await judged.upkeep()
    assert len(outcome.ids) > 1  # type: ignore[union-attr]
    assert await held_by(judged, canary)
    await judged.forget(outcome.ids[-1])  # type: ignore[union-attr]
    assert await held_by(judged, canary) == []


async def test_what_another_audience_was_told_and_was_pruned_is_not_theirs_to_forget(
    judged: Space,
    noon: SkippingClock,
    canary: str,
) -> None:
    private = judged._memory.space(judged.name, audience="a")
    memory_id = await save(private, f"The boat is called {canary}.", salience=5)
    noon.advance(LATER)
    await judged.upkeep()
    for stranger in (judged, judged._memory.space(judged.name, audience="b")):
        with pytest.raises(NotFound):
            await stranger.forget(memory_id)
    await private.forget(memory_id)
    assert await held_by(judged, canary) == []


async def test_a_pruned_episode_goes_with_what_it_told_of(
    judged: Space,
    chat: ChatServer,
    noon: SkippingClock,
    canary: str,
) -> None:
    ids = [await save(judged, f"Ada walks the dog {canary} in the park, round {n}.", salience=9) for n in range(4)]
    chat.answer("episode", {"summary": f"That day {canary} was walked.", "tags": []})
    await judged.think()
    (episode,) = await of_type(judged, "episode")
    await judged.undo_run((await judged.cognition_runs())[-1].id)
    noon.advance(LATER)
    await judged.upkeep()
    assert episode.id not in {each.id for each in await judged.list(superseded=True)}
    await judged.forget(*ids)
    assert await held_by(judged, canary) == []


async def test_what_was_pruned_is_listed_by_its_source_for_those_who_may_see_it(
    judged: Space, noon: SkippingClock
) -> None:
    private = judged._memory.space(judged.name, audience="a")
    first, second = await save(judged, "The boat is green.", salience=5), await save(private, "A cat sat.", salience=5)
    assert await judged.pruned() == ()
    noon.advance(LATER)
    await judged.upkeep()
    assert await judged.pruned() == (first,)
    assert await private.pruned() == (first, second)
    assert await private.pruned(memory_id=second) == (second,)
    assert await private.pruned(source="user", limit=1) == (first,)
    assert await private.pruned(source="import:demo") == ()
