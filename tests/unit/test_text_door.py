"""The door: what is refused, what is repaired, and where text may be cut."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidInput
from perdure.text import MAX_TEXT_BYTES, clean, graphemes, require_text, sentence_ends, truncate_bytes, truncate_chars

FAMILY = "👩‍👩‍👧‍👦"
PIECES = st.sampled_from([FAMILY, "e\u0301", "\r\n", "한", "ที่", "a", " ", "🇩🇪", "नि", "中", "\u200d"])
GRAPHEME_TEXT = st.lists(PIECES, max_size=30).map("".join)


def test_nul_controls_and_lone_surrogates_are_dropped() -> None:
    assert clean("a\x00b\x07c\ud800d\x7f") == "abcd"
    assert clean("tab\tnew\nline") == "tab\tnew\nline"


def test_line_ends_of_every_system_become_newlines() -> None:
    assert clean("a\r\nb\rc\n") == "a\nb\nc\n"


def test_two_halves_of_a_surrogate_pair_become_their_character() -> None:
    assert clean("\ud83c\udf89!") == "🎉!"


@given(st.text(st.characters()))
def test_whatever_comes_in_can_be_stored_as_utf8(text: str) -> None:
    cleaned = clean(text)
    assert "\x00" not in cleaned
    assert cleaned.encode().decode() == cleaned
    assert clean(cleaned) == cleaned


@pytest.mark.parametrize("text", ["", " \n\t", "\x00", "\u3000", "\ud800"])
def test_empty_text_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        require_text(text, "summary")
    assert raised.value.field == "summary"
    assert "empty" in raised.value.limit


def test_a_megabyte_is_refused_and_the_limit_named() -> None:
    with pytest.raises(InvalidInput, match="262,144") as raised:
        require_text("é" * 500_000, "text")
    assert "1,000,000" in raised.value.limit
    assert require_text("a" * MAX_TEXT_BYTES) == "a" * MAX_TEXT_BYTES


@pytest.mark.parametrize("value", [None, 5, b"bytes", ["x"]])
def test_what_is_not_text_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="not "):
        require_text(value, "text")  # type: ignore[arg-type]


def test_truncation_never_splits_a_grapheme() -> None:
    assert truncate_chars(f"ab{FAMILY}", 5) == "ab"
    assert truncate_bytes("nai\u0308ve", 4) == "na"
    assert truncate_bytes("一二三", 7) == "一二"
    assert truncate_chars("a\r\nb", 2) == "a"
    assert truncate_chars("abc", 0) == truncate_bytes("abc", -1) == ""


def test_a_grapheme_longer_than_the_limit_is_cut_rather_than_lost() -> None:
    assert truncate_chars(FAMILY, 2) == FAMILY[:2]
    assert truncate_bytes("a" + "\u0301" * 100, 5) == "a\u0301\u0301"


@given(GRAPHEME_TEXT, st.integers(0, 40))
def test_truncation_is_the_longest_beginning_that_fits(text: str, limit: int) -> None:
    ends = [match.end() for match in regex.finditer(r"\X", text)]
    for cut, size in ((truncate_chars, len), (truncate_bytes, lambda part: len(part.encode()))):
        kept = cut(text, limit)
        assert text.startswith(kept)
        assert size(kept) <= limit
        fitting = [end for end in ends if size(text[:end]) <= limit]
        if fitting:
            assert len(kept) == fitting[-1]


@given(st.text())
def test_graphemes_joined_are_the_text(text: str) -> None:
    assert "".join(graphemes(text)) == text


def test_abbreviations_end_no_sentence() -> None:
    text = "Dr. Smith came. 他来了。Then he left."
    ends = list(sentence_ends(text))
    assert [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)] == [
        "Dr. Smith came.",
        "他来了。",
        "Then he left.",
    ]
