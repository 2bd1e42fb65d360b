"""Passages: every one fits, neighbours overlap, nothing is lost, and the cut is where a reader would make it."""

from __future__ import annotations

from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.clock import DatabaseClock
from perdure.rules.passages import OVERLAP_CHARS, PASSAGE_CHARS, Passage
from perdure.rules.passages import passages as cut
from perdure.text import graphemes, passages, sentence_ends
from tests.unit.test_rules_chunking import TEXTS

ENGLISH = "The ferry to the island leaves at seven. It takes forty minutes, and bicycles travel free of charge. "
CHINESE = "渡轮早上七点开往小岛。航程四十分钟，自行车免费。"
ARABIC = "تغادر العبارة إلى الجزيرة في الساعة السابعة. تستغرق الرحلة أربعين دقيقة. "
THAI = "เรือข้ามฟากไปเกาะออกเวลาเจ็ดโมงใช้เวลาสี่สิบนาที"


def small(text: str, size: int, overlap: int) -> list[Passage]:
    return cut(text, size, overlap, graphemes=graphemes, sentence_ends=sentence_ends)


@given(st.one_of(TEXTS, st.text(max_size=400)), st.integers(4, 120), st.integers(0, 60))
@settings(max_examples=600)
def test_all_that_can_be_seen_is_in_a_passage_and_neighbours_share_no_more_than_they_may(
    text: str, size: int, overlap: int
) -> None:
    overlap = min(overlap, size // 2)
    found = small(text, size, overlap)
    assert bool(found) == bool(text.strip())
    covered = 0
    for one in found:
        assert 0 < one.end - one.start <= size
        assert text[one.start : one.end].strip()
        assert not text[covered : one.start].strip()
        assert covered - one.start <= overlap
        assert one.end > covered
        covered = one.end
    assert not text[covered:].strip()


@given(TEXTS)
@settings(max_examples=200)
def test_no_grapheme_is_split_where_a_passage_begins_or_ends(text: str) -> None:
    boundaries = {0, *(match.end() for match in regex.finditer(r"\X", text))}
    if any(len(grapheme) > 40 for grapheme in graphemes(text)):
        return
    for one in small(text, 60, 20):
        assert one.start in boundaries
        assert one.end in boundaries


@pytest.mark.parametrize("sentence", [ENGLISH, CHINESE, ARABIC, THAI, "x" * 37], ids=["en", "zh", "ar", "th", "blob"])
def test_neighbours_overlap_by_something_near_the_200_characters_in_every_script(sentence: str) -> None:
    text = (sentence * 400)[:9000]
    found = passages(text)
    assert len(found) >= 9000 // PASSAGE_CHARS
    for before, after in pairwise(found):
        assert OVERLAP_CHARS / 2 <= before.end - after.start <= OVERLAP_CHARS
        assert before.end - before.start >= PASSAGE_CHARS * 2 / 3 - 1


def test_passages_begin_and_end_with_whole_words() -> None:
    text = ENGLISH * 60
    words = set(text.split())
    for one in passages(text):
        said = text[one.start : one.end].split()
        assert said[0] in words
        assert said[-1] in words


def test_what_stands_around_a_cut_is_whole_in_one_of_two_neighbours() -> None:
    text = " ".join(f"Rule {number} costs {number * 7} crowns." for number in range(400))
    found = [text[one.start : one.end] for one in passages(text)]
    for number in range(400):
        assert any(f"Rule {number} costs {number * 7} crowns." in passage for passage in found)


def test_paragraphs_are_preferred_to_lines_and_lines_to_sentences() -> None:
    paragraph = "a" * 45 + ". " + "b" * 20 + "\n" + "c" * 10 + "\n\n"
    text = paragraph + "d" * 10 + ". " + "e" * 60
    first = small(text, 100, 20)[0]
    assert text[: first.end].endswith("c" * 10)


def test_a_long_run_of_white_space_makes_no_passage_of_nothing() -> None:
    text = "begin" + " " * 5000 + "end"
    assert [text[one.start : one.end] for one in passages(text)] == ["begin", "end"]


def test_a_text_of_white_space_has_no_passage_and_a_short_one_is_one() -> None:
    assert passages(" \n\t ") == []
    assert passages("  short ") == [Passage(2, 7)]


@pytest.mark.parametrize(("size", "overlap"), [(3, 0), (10, 6), (10, -1)])
def test_sizes_that_cannot_go_on_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="can't overlap"):
        small("some text", size, overlap)


def test_a_paragraph_of_half_a_million_chinese_characters_takes_seconds_at_most() -> None:
    clock = DatabaseClock()
    began = clock.monotonic()
    assert len(passages(CHINESE * 20_000)) > 500
    assert clock.monotonic() - began < 20


def test_sentences_are_found_beyond_the_first_window() -> None:
    text = ENGLISH * 100
    ends = list(sentence_ends(text))
    assert len(ends) == 200
    assert all(text[:end].rstrip().endswith(".") for end in ends)
