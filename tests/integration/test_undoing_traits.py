"""Undoing a run takes back what it did to traits, in whatever words and order it did it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from perdure.errors import Conflict
from tests.integration.test_cognition import save, trait

if TYPE_CHECKING:
    from perdure import Space
    from tests.doubles.chat_server import ChatServer
    from tests.doubles.clock import SkippingClock


async def concludes(space: Space, chat: ChatServer, noon: SkippingClock, text: str, *traits: dict[str, object]) -> int:
    """Consolidates a new memory with these traits; returns the run."""
    await save(space, text, salience=9)
    chat.answer("consolidation", {"profile_updates": [], "trait_updates": list(traits), "merges": []})
    await space.consolidate()
    noon.advance(timedelta(hours=1))
    return (await space.cognition_runs())[0].id


async def values(space: Space) -> list[str]:
    return [row.value for row in await space.traits()]


async def test_a_run_that_names_one_key_twice_is_undone_like_any_other(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    await concludes(judged, chat, noon, "Ada drinks green tea.", trait("tea", "green", [1]))
    twice = [trait("tea", "black", [1]), trait("Tea", "red", [1]), trait("tea", "", [1], "remove")]
    later = await concludes(judged, chat, noon, "Ada drinks black tea.", *twice)
    await judged.undo_run(later)
    assert await values(judged) == ["green"]


async def test_a_trait_that_a_later_run_changed_is_undone_after_it_and_stays_undone(
    judged: Space, chat: ChatServer, noon: SkippingClock
) -> None:
    first = await concludes(judged, chat, noon, "Ada drinks green tea.", trait("tea", "green", [1]))
    second = await concludes(judged, chat, noon, "Ada drinks black tea.", trait("tea", "black", [1]))
    with pytest.raises(Conflict, match=f"run {second}"):
        await judged.undo_run(first)
    await judged.undo_run(second)
    assert await values(judged) == ["green"]
    await judged.undo_run(first)
    assert await values(judged) == []
