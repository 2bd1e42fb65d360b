"""Reading chat requests and answers, and where what is remembered has its place."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidInput
from perdure.serve.proxy.asked import Use, read_asked
from perdure.serve.proxy.reply import Reply, StreamedReply, read_reply
from perdure.serve.proxy.turn import read_turn, remembering

CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "I like rain"},
    {"role": "assistant", "content": "Noted."},
    {"role": "user", "content": "What is the weather?"},
]


def test_the_turn_is_what_the_user_said_last_and_the_talk_before_it() -> None:
    turn = read_turn(MESSAGES)
    assert turn is not None
    assert (turn.at, turn.said, turn.earlier, turn.tools) == (3, "What is the weather?", tuple(MESSAGES[1:3]), ())


def test_answers_of_tools_belong_to_the_turn_under_their_names() -> None:
    asked = [
        *MESSAGES,
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "wet"},
    ]
    turn = read_turn(asked)
    before = read_turn(MESSAGES)
    assert turn is not None
    assert before is not None
    assert [(tool.name, tool.content) for tool in turn.tools] == [("weather", "wet")]
    assert turn.digest == before.digest


@pytest.mark.parametrize("messages", [None, "hello", 3, [], ["hello"], [{"role": "system", "content": "Be brief."}]])
def test_what_has_no_message_of_a_user_is_no_turn(messages: object) -> None:
    assert read_turn(messages) is None


def test_pictures_say_nothing_and_texts_beside_them_do() -> None:
    parts = [{"type": "image_url", "image_url": {"url": "data:"}}, {"type": "text", "text": "Who is this?"}]
    turn = read_turn([{"role": "user", "content": parts}])
    assert turn is not None
    assert turn.said == "Who is this?"
    changed = remembering([{"role": "user", "content": parts}], 0, "", "TAIL")
    assert changed == [{"role": "user", "content": [{"type": "text", "text": "TAIL"}, *parts]}]


def test_the_prefix_stands_behind_the_hosts_words_and_the_tail_before_the_users() -> None:
    changed = remembering(MESSAGES, 3, "PREFIX", "TAIL")
    assert changed[0] == {"role": "system", "content": "Be brief.\n\nPREFIX"}
    assert changed[1:3] == MESSAGES[1:3]
    assert changed[3] == {"role": "user", "content": "TAIL\n\nWhat is the weather?"}
    assert MESSAGES[0]["content"] == "Be brief."


def test_without_a_word_of_the_host_the_prefix_comes_first() -> None:
    assert remembering(MESSAGES[1:2], 0, "PREFIX", "") == [{"role": "system", "content": "PREFIX"}, MESSAGES[1]]


def test_nothing_remembered_changes_nothing() -> None:
    assert remembering(MESSAGES, 3, "", "") == MESSAGES


def test_all_before_the_last_message_is_the_same_in_the_next_turn() -> None:
    first = remembering(MESSAGES, 3, "PREFIX", "one tail")
    then = [*MESSAGES, {"role": "assistant", "content": "Wet."}, {"role": "user", "content": "And tomorrow?"}]
    assert remembering(then, 5, "PREFIX", "another")[:3] == first[:3]


STREAM = b"".join(
    b"data: " + json.dumps(each).encode() + b"\n\n"
    for each in [
        {"choices": [{"index": 0, "delta": {"role": "assistant"}}]},
        {"choices": [{"index": 0, "delta": {"content": "Grüße "}}, {"index": 1, "delta": {"content": "no"}}]},
        {"choices": [{"index": 0, "delta": {"content": "aus 東京"}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"total_tokens": 3}},
    ]
)


@given(st.lists(st.integers(1, len(STREAM) - 1), max_size=8))
def test_a_stream_is_handed_on_to_the_byte_however_it_is_cut(cuts: list[int]) -> None:
    sent = STREAM + b": a comment\r\n\r\ndata: [DONE]\n\n"
    ends = [0, *sorted(cuts), len(sent)]
    heard = StreamedReply()
    passed, ended = b"", 0
    for begin, end in itertools.pairwise(ends):
        for event, last in heard.events(sent[begin:end]):
            passed += event
            ended += last
    assert passed + heard.rest() == sent
    assert ended == 1
    assert heard.reply == Reply("Grüße aus 東京")


def test_a_stream_that_calls_tools_or_tells_of_an_error_says_so() -> None:
    calling, failing = StreamedReply(), StreamedReply()
    list(calling.events(b'data: {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0}]}}]}\n\n'))
    list(failing.events(b'data: {"error": {"message": "overloaded"}}\n\n'))
    assert calling.reply.calls_tools
    assert failing.failed
    assert not calling.failed


def test_the_reply_is_the_first_choice() -> None:
    body = {"choices": [{"index": 0, "message": {"content": "yes"}}, {"index": 1, "message": {"content": "no"}}]}
    assert read_reply(body) == Reply("yes")
    assert read_reply({"choices": [{"message": {"content": None, "tool_calls": [CALL]}}]}) == Reply(
        "", calls_tools=True
    )
    assert read_reply({"error": {"message": "no"}}) is None


def test_an_unknown_use_of_memory_is_refused() -> None:
    assert read_asked({"x-perdure-memory": "OFF"}).use is Use.OFF
    assert read_asked({}).use is Use.ON
    with pytest.raises(InvalidInput, match="X-Perdure-Memory"):
        read_asked({"x-perdure-memory": "of"})
