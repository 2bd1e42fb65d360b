"""A query is searched for by what it is about, not by the request around it."""

from __future__ import annotations

from time import perf_counter

import pytest

from perdure.text import query_terms
from perdure.text.framing import without_frame


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("Can you suggest a hotel in Miami?", ["hotel", "miami"]),
        ("I have trouble with my phone. Any tips?", ["troubl", "phone"]),
        ("Could you please remind me about the ferry?", ["ferri"]),
        ("¿Me puedes recomendar un hotel en Lima?", ["hotel", "lima"]),
        ("Peux-tu me conseiller un film ?", ["film"]),
        ("Kannst du mir ein Restaurant in Köln empfehlen?", ["restaur", "koln"]),
        ("Puoi consigliarmi un libro per il mare?", ["libro", "mare"]),
        ("Посоветуй мне книгу о море", ["книг", "мор"]),
        ("你能推荐茶吗", ["茶吗", "茶"]),
    ],
)
def test_the_frame_of_a_request_is_left_out(query: str, terms: list[str]) -> None:
    assert query_terms(query) == terms


@pytest.mark.parametrize(
    "query", ["What did Tim recommend?", "Kannst du schwimmen?", "Who gave me tips?", "推荐信在哪"]
)
def test_a_verb_that_is_what_the_question_is_about_stays(query: str) -> None:
    assert len(query_terms(without_frame(query))) == len(query_terms(query)) > 0


def test_a_query_of_nothing_but_a_frame_keeps_its_words() -> None:
    assert query_terms("Any tips?") == ["tip"]
    assert query_terms("can you help me?") == ["help"]


@pytest.mark.parametrize("text", ["can you " * 3000, "any " * 5000, "有" * 9000, "kannst du mir " * 2000])
def test_no_text_takes_long(text: str) -> None:
    began = perf_counter()
    without_frame(text)
    assert perf_counter() - began < 0.5
