"""Where imported messages go, and what they are called."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from perdure.cli.filters import read_metadata
from perdure.cli.importing import FORMAT_NAMES, Imported, Plan, default_source, placed
from perdure.cli.windows import require_zone
from perdure.connect import FORMATS, ITEM_FORMATS
from perdure.errors import InvalidInput
from perdure.ingest import BatchReport
from perdure.types import Message

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLAN = Plan(source="chats", space="ada", all_into=False, assume_time=None, audience=None)


def test_a_message_goes_where_it_says_or_else_where_the_call_says() -> None:
    assert placed(Message("1", "x", occurred_at=NOON), PLAN).space == "ada"
    assert placed(Message("1", "x", occurred_at=NOON, space="bob"), PLAN).space == "bob"


def test_spaces_put_into_one_keep_their_ids_apart() -> None:
    into_one = replace(PLAN, all_into=True)
    first, second = (placed(Message("D1:1", "x", occurred_at=NOON, space=name), into_one) for name in ("a", "b"))
    assert first.space == second.space == "ada"
    assert first.external_id != second.external_id
    assert placed(Message("1", "x", occurred_at=NOON, space="ada"), into_one).external_id == "1"


def test_a_message_without_a_time_gets_the_assumed_one_and_no_other_message_does() -> None:
    assuming = replace(PLAN, assume_time=NOON)
    assert placed(Message("1", "x"), assuming).occurred_at == NOON
    said = NOON.replace(year=2020)
    assert placed(Message("1", "x", occurred_at=said), assuming).occurred_at == said
    assert placed(Message("1", "x"), PLAN).occurred_at is None


@pytest.mark.parametrize("space", ["", "x" * 201, "two\nlines"])
def test_a_space_that_cannot_be_named_is_refused_before_anything_is_written(space: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        placed(Message("1", "x", occurred_at=NOON, space=space), PLAN)
    assert caught.value.field == "space"


@pytest.mark.parametrize(
    ("path", "format_name", "source"),
    [
        ("conversations.json", "chatgpt", "chatgpt"),
        ("result.json", "telegram", "telegram"),
        ("chat with Vera.txt", "whatsapp", "chat with Vera"),
        ("notes.2026.jsonl.gz", "jsonl", "notes.2026"),
        (".jsonl", "jsonl", ".jsonl"),
    ],
)
def test_an_import_is_named_by_format_where_ids_hold_and_else_by_file(path: str, format_name: str, source: str) -> None:
    assert default_source(Path("/some", path), format_name) == source


def test_every_format_of_the_readers_can_be_named() -> None:
    assert (*FORMATS, *ITEM_FORMATS) == FORMAT_NAMES


def test_all_refusals_are_counted_and_reports_add_up() -> None:
    imported = Imported()
    imported.refuse(InvalidInput("text", "", "it must not be empty", line=3))
    refused = (InvalidInput("text", "", "it must not be empty", line=9),)
    imported.add("ada", BatchReport(stored=2, merged=1, known=3, empty=1, refused=refused))
    assert (imported.messages, imported.refused, imported.spaces["ada"]) == (9, 2, 8)
    assert [error.line for error in imported.refusals] == [3, 9]


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd", "", "\0"])
def test_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidInput):
        require_zone(zone)


def test_metadata_filters_read_json_values_and_take_anything_else_as_text() -> None:
    pairs = ["floor=3", "done=true", "name=Vera", 'code="3"', "note=a=b", "none="]
    assert read_metadata(pairs) == {"floor": 3, "done": True, "name": "Vera", "code": "3", "note": "a=b", "none": ""}
    with pytest.raises(InvalidInput):
        read_metadata(["=3"])
