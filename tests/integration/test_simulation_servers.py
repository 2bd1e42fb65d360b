"""The life of two servers through the real database: weeks of it in every run of the tests, all of it in the long one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from perdure.simulation import Lived, fact_invariants, live_in_servers, scripted_servers, share_shown

if TYPE_CHECKING:
    from pathlib import Path

    from perdure.simulation import ServerLife


async def lived(life: ServerLife, directory: Path) -> Lived:
    return await live_in_servers(life, directory, progress=lambda _: None)


async def test_weeks_of_two_servers_keep_every_promise(tmp_path: Path) -> None:
    seen = await lived(scripted_servers(days=14, turns_a_day=2, known=6), tmp_path)
    assert [one for one in fact_invariants(seen) if not one.holds] == []
    assert seen.evenings[-1].dormant > 10
    assert sum(one.answered - one.active for one in seen.asked) > 10
    assert seen.numbers["recalled_count"] > 0


@pytest.mark.long
async def test_two_hundred_days_of_two_servers_keep_every_promise(tmp_path: Path) -> None:
    seen = await lived(scripted_servers(), tmp_path)
    assert [one for one in fact_invariants(seen) if not one.holds] == []
    assert share_shown(seen) < 0.5
