"""Which questions are measured, and how a message of an evaluation set is placed."""

from __future__ import annotations

import pytest

from perdure.connect import Question
from perdure.errors import InvalidInput
from perdure.evaluation.sets import Choice, choose


def questions(conversations: int = 5, each: int = 12) -> list[Question]:
    kinds = ("single", "multi", "temporal")
    return [
        Question(f"talk-{talk}", f"question {number}", None, kinds[number % 3], (f"m{number}",))
        for talk in range(conversations)
        for number in range(each)
    ]


def test_without_a_choice_every_question_is_asked() -> None:
    assert choose(questions(), Choice()) == questions()


@pytest.mark.parametrize("size", [1, 7, 15, 59])
def test_a_sample_has_its_size_and_is_the_same_every_time(size: int) -> None:
    chosen = choose(questions(), Choice(sample=size))
    assert len(chosen) == len(set(chosen)) == size
    assert chosen == choose(questions(), Choice(sample=size))


def test_a_sample_larger_than_the_set_is_the_set() -> None:
    assert choose(questions(), Choice(sample=1000)) == questions()


def test_a_sample_is_spread_over_categories_and_conversations() -> None:
    chosen = choose(questions(), Choice(sample=15))
    assert {(question.category, question.space) for question in chosen} == {
        (question.category, question.space) for question in questions()
    }


def test_a_sample_keeps_the_order_of_the_file() -> None:
    all_of_them = questions()
    places = [all_of_them.index(question) for question in choose(all_of_them, Choice(sample=11))]
    assert places == sorted(places)


def test_the_two_parts_share_no_conversation_and_are_the_whole() -> None:
    even, odd = choose(questions(), Choice(part="even")), choose(questions(), Choice(part="odd"))
    assert {question.space for question in even} == {"talk-0", "talk-2", "talk-4"}
    assert {question.space for question in odd} == {"talk-1", "talk-3"}
    assert len(even) + len(odd) == len(questions())


def test_one_conversation_can_be_measured_alone() -> None:
    assert {question.space for question in choose(questions(), Choice(conversation="talk-3"))} == {"talk-3"}


def test_a_conversation_that_nobody_asks_about_is_refused() -> None:
    with pytest.raises(InvalidInput, match="space 'talk-9'"):
        choose(questions(), Choice(conversation="talk-9"))
    with pytest.raises(InvalidInput, match="space 'talk-1'"):
        choose(questions(), Choice(part="even", conversation="talk-1"))
