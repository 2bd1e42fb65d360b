"""What the command line prints: safe for a terminal, plain for a pipe, exact for a program."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from perdure.cli.as_data import hit_data, memory_data
from perdure.cli.hits import why
from perdure.cli.printing import Screen, moment, one_line, print_json, printable
from perdure.types import Hit, MemoryType, StoredMemory, Trust

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MEMORY = StoredMemory(
    space="ada",
    id=2**62,
    summary="你好 [bold]",
    memory_type=MemoryType.FACT,
    salience=5,
    usefulness=0.5,
    confidence=1,
    retrieval_count=0,
    source="user",
    trust=Trust.USER,
    source_date=NOON,
    created_at=NOON,
    related_ids=(7,),
)


@given(st.text())
def test_nothing_printable_speaks_to_the_terminal(text: str) -> None:
    shown = printable(text)
    assert not any(ord(character) < 32 and character != "\n" for character in shown)
    assert not any(0x7F <= ord(character) <= 0x9F for character in shown)
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
    assert "\n" not in one_line(text)


@pytest.mark.parametrize("text", ["你好,世界", "שלום", "สวัสดี", "👩‍👩‍👧", "[bold]x[/]", "naïve café", "a\u200db"])
def test_words_of_any_script_are_printed_as_they_are(text: str) -> None:
    assert printable(text) == text


def test_escapes_are_shown_not_sent() -> None:
    assert printable("\x1b]0;title\x07 \x9b31m \u202e") == r"\x1b]0;title\x07 \x9b31m \u202e"


def test_times_are_iso_8601_in_utc() -> None:
    madrid = timezone(timedelta(hours=2))
    assert moment(datetime(2026, 8, 1, 9, 30, tzinfo=madrid)) == "2026-08-01T07:30:00Z"


def test_ids_are_strings_because_javascript_would_round_them() -> None:
    data = memory_data(MEMORY)
    assert data["id"] == str(2**62)
    assert data["related_ids"] == ["7"]
    assert json.loads(json.dumps(hit_data(_hit())))["source_date"] == "2026-03-01T12:00:00Z"


def test_json_is_ascii_where_the_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"text": "你好"})
    assert json.loads(capsys.readouterr().out) == {"text": "你好"}


def test_columns_align_by_the_width_of_characters(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().table(["who", "what"], [("你好", "x"), ("ab", "y")])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["who   what", "你好  x", "ab    y"]


def test_a_narrow_terminal_cuts_the_last_column_only() -> None:
    screen = Screen()
    screen.console = Console(width=40, force_terminal=True, color_system=None)
    with screen.console.capture() as captured:
        screen.table(["id", "date", "memory"], [("1", "2026-03-01", "word " * 40), ("22", "2026-03-02", "你好" * 40)])
    lines = [line.rstrip() for line in captured.get().splitlines()]
    assert lines[1].startswith("1   2026-03-01  word word")
    assert lines[2].startswith("22  2026-03-02  你好你好")
    assert all(line.endswith("…") and cell_len(line) <= 40 for line in lines[1:])


def test_markup_and_emoji_names_are_printed_literally(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    screen.line("[red]a[/] :smile: https://example.org")
    screen.table(["[b]h"], [("[link=x]y[/link]",)])
    out = capsys.readouterr().out
    assert "[red]a[/] :smile: https://example.org" in out
    assert "[link=x]y[/link]" in out


def test_a_pipe_gets_whole_lines_without_colours(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().line(("long " * 200, "bold red"), indent=3)
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert "\x1b" not in out


def test_no_color_is_respected_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(force_terminal=True, width=40)
    with console.capture() as captured:
        console.print("x", style="red")
    assert "\x1b[31m" not in captured.get()


def test_why_names_each_reason_once() -> None:
    assert why(_hit(), "Where's the KEY of the bikes?") == "meaning 0.50 · words KEY, bikes · a name"
    assert why(Hit(MEMORY, 0, 0, {}, ())) == "weight and age alone"


def test_matched_words_are_shown_as_they_were_asked() -> None:
    hit = Hit(MEMORY, -0.4, 0, {}, (), ("@m5", "allergi", "may", "自", "自行", "行", "行车"))
    assert why(hit, "Ada's allergies, in May? 自行车的号码") == "words allergies, May, 自行, 行车"


def _hit() -> Hit:
    return Hit(MEMORY, -0.4, 0.5, {"text": -0.1}, ("words",), ("bike", "key"), entity_match=True)
