"""The page on facts tells what happens, and names every status of the tools."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from perdure.fact_types import FactStatus

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "facts.md").read_text("utf-8")


async def test_the_life_of_one_fact_is_what_the_page_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "examples")
    # A cold model on a busy machine may miss the budget, and then a day doesn't count.
    monkeypatch.setenv("PERDURE_FACT_RECALL_S", "30")
    monkeypatch.setenv("PERDURE_RECALL_DEADLINE_S", "30")
    example = import_module("one_fact")
    told: list[str] = []
    await example.live(tmp_path, told.append)
    shown = re.search(r"^```\n(day  1.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert told == shown[1].splitlines()


def test_every_status_of_the_tools_is_on_the_page_and_none_that_isnt_there() -> None:
    table = PAGE.partition("| status | when | tool |")[2].partition("\n\n")[0]
    named = {
        status for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for status in re.findall(r"`(\w+)`", row)
    }
    assert named == {status.value for status in FactStatus}
