"""Reasoning is never taken for the answer, however a model marks it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.llm.reasoning import split_reasoning


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ("yes", "yes"),
        ("<think>hm</think>yes", "yes"),
        ("<think>\n\n</think>\n\nyes", "yes"),
        ("<THINK>hm</THINK>\nyes", "yes"),
        ("<think>a</think>yes<think>b</think>", "yes"),
        ("<think>still thinking", ""),
        ("yes <think>or perhaps no", "yes"),
        ("the template opened it</think>\nyes", "yes"),
        ('{"draft": 1} no, better</think>{"final": 2}', '{"final": 2}'),
        ("<reasoning>hm</reasoning>yes", "yes"),
        ("[THINK]hm[/THINK]yes", "yes"),
        ("[THINK]hm", ""),
        ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>yes<|return|>", "yes"),
        ("<|channel|>analysis<|message|>hm", ""),
        ("<thinker>Ada</thinker>", "<thinker>Ada</thinker>"),
        ("", ""),
    ],
)
def test_what_is_left_is_what_was_said(content: str, answer: str) -> None:
    found, reasoning = split_reasoning(content)
    assert found == answer
    assert bool(reasoning) == (answer != content)


def test_json_may_speak_of_the_tags() -> None:
    said = '{"summary": "Ada asked what <think> and </think> are for"}'
    assert split_reasoning(f"  {said}\n") == (said, "")


def test_deeply_nested_brackets_are_no_answer_and_no_crash() -> None:
    assert split_reasoning("[" * 100_000 + "</think>no")[0] == "no"


@settings(deadline=None)
@given(
    st.text(alphabet=st.characters(blacklist_characters="<>|[]{}", blacklist_categories=("Cs",))), st.text(max_size=80)
)
def test_nothing_between_the_tags_gets_out(answer: str, thought: str) -> None:
    thought = thought.replace("<", "").replace("]", "").replace("{", "")
    assert split_reasoning(f"<think>{thought}</think>{answer}") == (answer.strip(), f"<think>{thought}</think>")
