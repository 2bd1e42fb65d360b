"""The double that stands in for model servers can be relied on: it says what it was told, and shows what it got."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from perdure.llm import render
from perdure.llm.grammar import gbnf
from perdure.llm.schemas import TriageVerdict
from tests.doubles.chat_server import (
    CUT_OFF,
    DIALECTS,
    GARBAGE,
    HALF,
    HANG,
    STALL,
    TOO_MANY,
    ChatServer,
    Refuse,
    Say,
    in_a_process,
    serving,
    thinking,
)

PROMPT = render(
    "triage_conversation", when="2026-11-30", speaker="Ada", user="I <like>\n  tea & cake", assistant="ok", tools=""
)


def body(**other: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": PROMPT.system}, {"role": "user", "content": PROMPT.user}]
    return {"messages": messages, "max_tokens": 100, **other}


def post(url: str, timeout: float = 5.0, **other: Any) -> httpx.Response:
    return httpx.post(f"{url}/chat/completions", json=body(**other), timeout=timeout)


def said(reply: httpx.Response) -> Any:
    return reply.json()["choices"][0]["message"]["content"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_it_knows_the_question_by_the_prompt_and_gives_back_what_it_was_asked(dialect: str) -> None:
    with serving(dialect) as server:
        server.answer("triage", lambda request: {"summary": f"Heard: {request.data('user')}", "salience": 9})
        verdict = TriageVerdict.model_validate_json(said(post(server.url)))

        assert verdict.summary == "Heard: I <like>\n  tea & cake"
        assert verdict.salience == 9
        (request,) = server.asked("triage")
        assert request is server.asked("triage_conversation")[0]
        assert request.data("speaker") == "Ada"
        assert not request.repaired


def test_a_script_that_fails_fails_the_test_that_wrote_it() -> None:
    def run() -> None:
        with serving() as server:
            server.answer("triage", lambda _: {"salience": 1 // 0})
            assert post(server.url).status_code == 500

    with pytest.raises(ZeroDivisionError):
        run()


def test_an_answer_that_its_grammar_forbids_can_be_given_as_text_only() -> None:
    def run() -> None:
        with serving() as server:
            server.then("triage", '{"salience": 11}', {"salience": 11})
            assert said(post(server.url, grammar=gbnf(TriageVerdict))) == '{"salience": 11}'
            assert post(server.url, grammar=gbnf(TriageVerdict)).status_code == 500

    with pytest.raises(AssertionError, match="no server could say"):
        run()


def test_the_queue_comes_first_and_is_used_up() -> None:
    with serving() as server:
        server.answer("triage", "always")
        server.then("triage", TOO_MANY, GARBAGE, CUT_OFF, thinking("{}"), Say("", reasoning="hm"))
        replies = [post(server.url) for _ in range(6)]

    assert [reply.status_code for reply in replies] == [429, 200, 200, 200, 200, 200]
    assert replies[0].headers["Retry-After"] == "0"
    assert replies[1].text.startswith("<html>")
    assert replies[2].json()["choices"][0]["finish_reason"] == "length"
    assert said(replies[3]) == "<think>The user wants JSON.</think>\n{}"
    assert replies[4].json()["choices"][0]["message"] == {
        "role": "assistant",
        "content": "",
        "reasoning_content": "hm",
    }
    assert said(replies[5]) == "always"


def test_it_breaks_off_hangs_refuses_and_goes_away() -> None:
    with serving() as server:
        server.then("", HALF, HALF, HANG, STALL, Refuse(503, "loading"))
        for stream in (False, True):
            with pytest.raises(httpx.RemoteProtocolError):
                post(server.url, stream=stream)
        for stream in (False, True):
            with pytest.raises(httpx.ReadTimeout):
                post(server.url, timeout=0.2, stream=stream)
        assert post(server.url).status_code == 503
        server.refuse("response_format")
        assert "response_format" in post(server.url, response_format={"type": "json_object"}).text
        server.down()
        with pytest.raises(httpx.ConnectError):
            post(server.url)
        server.up()
        assert post(server.url).status_code == 200


def test_a_stream_holds_the_same_words_as_a_document() -> None:
    with serving() as server:
        server.answer("triage", Say("one answer, in several pieces, ünd mehr", reasoning="first a thought about it"))
        events = [
            json.loads(line.removeprefix("data: "))
            for line in post(server.url, stream=True, stream_options={"include_usage": True}).text.splitlines()
            if line.startswith("data: {")
        ]

    deltas = [choice["delta"] for event in events for choice in event["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == "one answer, in several pieces, ünd mehr"
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "first a thought about it"
    assert events[-1]["usage"]["completion_tokens"] > 0


def test_a_key_is_wanted_where_one_is_set() -> None:
    with serving(key="secret") as server:
        assert post(server.url).status_code == 401
        reply = httpx.post(f"{server.url}/chat/completions", json=body(), headers={"Authorization": "Bearer secret"})
        assert reply.status_code == 200


async def test_it_counts_how_many_were_in_work_side_by_side() -> None:
    with serving(delay_s=0.1) as server:
        async with httpx.AsyncClient() as client:
            await asyncio.gather(*(client.post(f"{server.url}/chat/completions", json=body()) for _ in range(5)))

        assert server.most_at_once == 5


def test_a_process_of_its_own_answers_plausibly() -> None:
    with in_a_process("ollama") as url:
        verdict = TriageVerdict.model_validate_json(said(post(url)))

    assert verdict.summary == "I <like>\n  tea & cake"


@pytest.mark.parametrize(("dialect", "owner"), [("llamacpp", "llamacpp"), ("vllm", "vllm"), ("openai", "system")])
def test_it_lists_its_model_as_the_servers_of_its_kind_do(dialect: str, owner: str) -> None:
    with serving(dialect, model="qwen3") as server:
        (listed,) = httpx.get(f"{server.url}/models").json()["data"]

    assert (listed["id"], listed["owned_by"]) == ("qwen3", owner)


def test_closing_it_waits_for_nobody() -> None:
    server = ChatServer("llamacpp")
    server.then("", HANG)
    with pytest.raises(httpx.ReadTimeout):
        post(server.url, timeout=0.1)
    server.close()
    with pytest.raises(httpx.ConnectError):
        post(server.url)
