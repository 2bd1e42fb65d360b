"""Chunking: every piece fits, nothing is lost, and the cut is where a reader would make it."""

from __future__ import annotations

import pytest
import regex
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from perdure.rules.chunking import MAX_CHUNK_BYTES, Chunk, chunk
from perdure.text import chunks

SCRIPTS = [
    "word ", "sentence. ", "Dr. ", "e\u0301", "👩‍👩‍👧‍👦", "🇩🇪", "\n", "\r\n", "\n\n", " \n \n", "\t", "中文句子。",
    "ไทยที่", "नमस्ते ",
    "שלום ", "مرحبا. ", "한국어 ", "\u202eabc\u202c", "x" * 30, " ", "\u3000", "\u0301", "\u200d", "𝒳", "\u2029", "!?",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(SCRIPTS), max_size=120).map("".join)


def joined(pieces: list[Chunk]) -> str:
    return "".join(piece.before + piece.text + piece.after for piece in pieces)


def texts(text: str, max_bytes: int) -> list[str]:
    return [piece.text for piece in chunks(text, max_bytes)]


@given(st.one_of(TEXTS, st.text(max_size=300)), st.integers(4, 200))
@settings(max_examples=300)
def test_joining_the_chunks_gives_back_the_text(text: str, max_bytes: int) -> None:
    pieces = chunks(text, max_bytes)
    assert joined(pieces) == (text if text.strip() else "")
    for piece in pieces:
        assert len(piece.text.encode()) <= max_bytes
        assert piece.text.strip()
        assert not (piece.before + piece.after).strip()
    assert all(not piece.before for piece in pieces[1:])


@given(TEXTS)
@settings(max_examples=200)
def test_no_grapheme_is_split_when_it_fits(text: str) -> None:
    assume(all(len(grapheme.encode()) <= 40 for grapheme in regex.findall(r"\X", text)))
    boundaries = {0, *(match.end() for match in regex.finditer(r"\X", text))}
    at = 0
    for piece in chunks(text, 40):
        at += len(piece.before)
        assert at in boundaries
        at += len(piece.text)
        assert at in boundaries
        at += len(piece.after)


def test_a_text_that_fits_is_one_chunk_verbatim() -> None:
    text = "  é" + "a" * (MAX_CHUNK_BYTES - 5) + "\n"
    assert len(text.encode()) == MAX_CHUNK_BYTES
    assert chunks(text) == [Chunk(text)]


@pytest.mark.parametrize("text", ["", " ", "\n" * 5000])
def test_white_space_is_no_memory(text: str) -> None:
    assert chunks(text) == []


def test_paragraphs_are_preferred_to_lines_to_sentences_to_words() -> None:
    assert texts("aaaa bbbb\n\ncccc\ndddd. eeee", 22) == ["aaaa bbbb", "cccc\ndddd. eeee"]
    assert texts("aaaa. bbbb\ncccc. dddd eeee", 20) == ["aaaa. bbbb", "cccc. dddd eeee"]
    assert texts("He came. She left. They stay", 22) == ["He came. She left.", "They stay"]
    assert texts("Er kam nicht und blieb", 15) == ["Er kam nicht", "und blieb"]
    assert texts("他昨天来了。她今天走了。", 24) == ["他昨天来了。", "她今天走了。"]


def test_windows_line_ends_make_paragraphs_too() -> None:
    pieces = chunks("one two\r\n\r\nthree four five", 18)
    assert [piece.text for piece in pieces] == ["one two", "three four five"]
    assert pieces[0].after == "\r\n\r\n"


def test_a_short_leading_line_joins_the_next_piece() -> None:
    first, *_ = texts("Hi!\n\n" + "word " * 40, 60)
    assert first.startswith("Hi!\n\nword word")


def test_a_long_word_fills_pieces_and_loses_nothing() -> None:
    assert texts("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]


def test_a_grapheme_longer_than_a_piece_is_cut_between_code_points() -> None:
    assert texts("👩‍👩‍👧‍👦", 8) == ["👩\u200d", "👩\u200d", "👧\u200d", "👦"]


def test_a_long_run_of_white_space_ends_a_piece() -> None:
    text = f"  ab{' ' * 50}cd"
    assert chunks(text, 10) == [Chunk("ab", before="  ", after=" " * 50), Chunk("cd")]


def test_white_space_behind_the_last_word_makes_no_further_piece() -> None:
    text = f"{'a' * 10}{' ' * 50}"
    assert chunks(text, 10) == [Chunk("a" * 10, after=" " * 50)]


def test_a_limit_that_holds_no_character_is_refused() -> None:
    with pytest.raises(ValueError, match="4"):
        chunk("abc", 3, graphemes=list, sentence_ends=lambda _: [])


def test_sentence_ends_inside_white_space_count() -> None:
    found = chunk("aaaa.   bbbb cccc", 13, graphemes=list, sentence_ends=lambda _: [6])
    assert [piece.text for piece in found] == ["aaaa.", "bbbb cccc"]
