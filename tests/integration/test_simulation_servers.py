"""The life of two servers through the real database: weeks of it in every run of the tests, all in the long one."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from perdure.simulation import Lived, fact_invariants, live_in_servers, scripted_servers, share_shown
from perdure.store.accounting import record_recall_day

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from perdure.simulation import ServerLife
    from perdure.store.accounting import Counted, Scored
    from perdure.store.database import SpaceTransaction


async def lived(life: ServerLife, directory: Path) -> Lived:
    return await live_in_servers(life, directory, progress=lambda _: None)


async def test_weeks_of_two_servers_keep_every_promise(tmp_path: Path) -> None:
    seen = await lived(scripted_servers(days=14, turns_a_day=2, known=6), tmp_path)
    assert [one for one in fact_invariants(seen) if not one.holds] == []
    assert seen.evenings[-1].dormant > 10
    assert sum(one.answered - one.active for one in seen.asked) > 10
    assert seen.numbers["recalled_count"] > 0


async def test_a_fact_that_ages_twice_a_day_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def counted_twice(tx: SpaceTransaction, turn: Scored, day: date) -> Counted:
        await record_recall_day(tx, turn, day)
        return await record_recall_day(tx, turn, day + timedelta(days=1))

    monkeypatch.setattr("perdure.ltm.accounting.record_recall_day", counted_twice)
    life = scripted_servers(days=14, turns_a_day=2, known=6)
    seen = await lived(replace(life, days=life.days[:2]), tmp_path)
    broken = {one.name for one in fact_invariants(seen) if not one.holds}
    assert broken == {
        "a fact ages by one day a day at most",
        "counts are those of the rules",
        "what isn't scored ages nothing",
    }


@pytest.mark.long
async def test_two_hundred_days_of_two_servers_keep_every_promise(tmp_path: Path) -> None:
    seen = await lived(scripted_servers(), tmp_path)
    assert [one for one in fact_invariants(seen) if not one.holds] == []
    assert share_shown(seen) < 0.5
