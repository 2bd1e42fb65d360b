"""What holds between Perdure and a chat server, over real HTTP: dialects, answers, refusals, the key."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator

import pytest

from perdure.clock import DatabaseClock
from perdure.errors import ConfigurationError, ModelFailed, ModelUnavailable
from perdure.llm import Prompt, render
from perdure.llm.dialects import Dialect
from perdure.llm.endpoint import Endpoint
from perdure.llm.schemas import ContradictionVerdict, ExtractedEntities
from tests.doubles import chat_server as double
from tests.doubles.chat_server import ChatServer, Refuse, Say, serving
from tests.integration.endpoint_caller import PROMPT, SITE, calling

KEY = "sk-verysecret"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving("llamacpp") as running:
        yield running


@pytest.mark.parametrize("dialect", double.DIALECTS)
async def test_every_kind_of_server_is_found_out_and_held_to_the_schema(dialect: str) -> None:
    with serving(dialect, model="m") as server:
        async with calling(server) as caller:
            assert ExtractedEntities.model_validate_json((await caller.ask()).text)
            assert caller.endpoint.dialect == dialect
            assert caller.endpoint.model == "m"
            sent = server.requests[-1].body
            assert ("grammar" in sent) == (dialect == "llamacpp")
            assert ("response_format" in sent) == (dialect != "llamacpp")
            assert not sent.get("stream")
            before = len(server.paths)
            await caller.ask()
            assert server.paths[before:] == ["/v1/chat/completions"], "it is found out once"


async def test_a_dialect_and_a_model_that_are_set_are_not_asked_for(server: ChatServer) -> None:
    async with calling(server, dialect=Dialect.VLLM, model="m") as caller:
        await caller.ask()
        assert server.paths == ["/v1/chat/completions"]
        assert "response_format" in server.requests[0].body


async def test_what_openai_refuses_is_left_out_from_the_second_call_on() -> None:
    with serving("openai") as server:
        server.refuse("reasoning_effort", "temperature", "max_tokens")
        async with calling(server) as caller:
            await caller.ask()
            learned = len(server.requests)
            await caller.ask()
            assert len(server.requests) == learned + 1
            sent = server.requests[-1].body
            assert not {"reasoning_effort", "temperature", "max_tokens"} & sent.keys()
            assert sent["max_completion_tokens"] == 200


@pytest.mark.parametrize("message", ["response_format: unknown type json_schema", "Bad request"])
async def test_a_server_without_json_schema_is_asked_in_json_mode_and_remembered(message: str) -> None:
    def only_json_mode(request: double.Request) -> double.Answer:
        kind = request.body.get("response_format", {}).get("type")
        return Refuse(400, message) if kind == "json_schema" else None

    with serving("openai") as server:
        server.answer("", only_json_mode)
        async with calling(server) as caller:
            await caller.ask()
            await caller.ask()
            kinds = [request.body.get("response_format", {}).get("type") for request in server.requests]
            assert kinds == ["json_schema", "json_object", "json_object"]


async def test_an_unexplained_refusal_does_not_weaken_a_form_that_has_worked() -> None:
    with serving("vllm") as server:
        async with calling(server) as caller:
            await caller.ask()
            server.then(SITE, Refuse(400, "Bad request"))
            await caller.fails(ModelFailed)
            await caller.ask()
            kinds = [request.body["response_format"]["type"] for request in server.requests]
            assert kinds == ["json_schema"] * 3


async def test_a_server_that_offers_neither_is_asked_plainly() -> None:
    with serving("vllm") as server:
        server.refuse("response_format")
        async with calling(server) as caller:
            assert ExtractedEntities.model_validate_json((await caller.ask()).text)
            assert "response_format" not in server.requests[-1].body


async def test_a_grammar_that_a_server_cannot_read_costs_only_its_own_schema(server: ChatServer) -> None:
    server.answer(SITE, lambda request: Refuse(400, "failed to parse grammar") if "grammar" in request.body else None)
    async with calling(server) as caller:
        await caller.ask()
        assert "response_format" in server.requests[-1].body
        prompt = render("contradiction", new="a", new_when="", new_by="", old="b", old_when="", old_by="")
        await caller.endpoint.complete_with_grammar(prompt, ContradictionVerdict, caller.call())
        assert "grammar" in server.requests[-1].body


async def test_thinking_is_streamed_and_kept_apart_from_the_answer(server: ChatServer) -> None:
    server.then(SITE, Say("Lisbon.", reasoning="A city?"), double.thinking("Lisbon.", "A city?"))
    async with calling(server) as caller:
        for _ in range(2):
            reply = await caller.think()
            assert reply.text == "Lisbon."
            assert "A city?" in reply.reasoning
        assert server.requests[0].body["stream"] is True
        assert caller.ledger.uses[0].prompt_tokens > 10, "the server's own count"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (double.CUT_OFF, "ran out of tokens"),
        (double.EMPTY, "empty answer"),
        (Say("", reasoning="The answer is Lisbon."), "only thought"),
        (Say("<think>The answer is Lisbon."), "only thought"),
        (Say("I can't", finish_reason="content_filter"), "withheld"),
    ],
)
async def test_what_is_no_whole_answer_is_a_failure_that_keeps_what_was_said(
    server: ChatServer, said: Say, why: str
) -> None:
    server.answer(SITE, said)
    async with calling(server) as caller:
        for attempt in (caller.ask, caller.think):
            with pytest.raises(ModelFailed, match=why) as caught:
                await attempt()
            assert caught.value.answer == (said.text or said.reasoning)
        assert len(server.requests) == 2, "it is not asked again at once"
        assert caller.endpoint.breaker == "closed"


@pytest.mark.parametrize(
    ("status", "message", "hint"),
    [
        (401, "Incorrect API key provided: sk-verysecret", "PERDURE_THINKER_KEY"),
        (403, "no", "PERDURE_THINKER_KEY"),
        (404, 'model "m" not found, try pulling it first', "PERDURE_THINKER_MODEL"),
        (400, "The model `m` does not exist", "PERDURE_THINKER_MODEL"),
        (404, "no such page", "PERDURE_THINKER_URL"),
        (402, "pay", "account"),
    ],
)
async def test_a_wrong_setting_is_an_outage_that_says_what_to_set(
    server: ChatServer, status: int, message: str, hint: str
) -> None:
    server.answer("", Refuse(status, message))
    async with calling(server, key=KEY) as caller:
        error = await caller.fails(ModelUnavailable)
        assert hint in error.hint
        assert len(server.requests) == 1


async def test_the_names_of_the_models_that_there_are_stand_in_the_hint(server: ChatServer) -> None:
    server.answer("", Refuse(404, "model 'x' not found"))
    async with calling(server, model="x") as caller:
        assert "double" in (await caller.fails(ModelUnavailable)).hint


async def test_a_refused_input_is_this_inputs_failure_and_says_why(server: ChatServer) -> None:
    server.answer("", Refuse(400, "the request exceeds the available context size"))
    async with calling(server) as caller:
        error = await caller.fails(ModelFailed)
        assert "available context size" in error.message
        assert len(server.requests) == 1


async def test_the_key_goes_into_the_header_and_nowhere_else(
    server: ChatServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer("", Refuse(400, f"bad key {KEY}"))
    with caplog.at_level(logging.DEBUG):
        async with calling(server, key=KEY) as caller:
            error = await caller.fails(ModelFailed)
            printed = "".join(traceback.format_exception(error)) + repr(caller.endpoint) + error.message
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in printed
    assert KEY not in caplog.text


async def test_an_error_that_quotes_the_prompt_shows_no_word_of_it(server: ChatServer) -> None:
    server.answer("", lambda request: Refuse(400, f"can't read {request.user}"))
    async with calling(server) as caller:
        error = await caller.fails(ModelFailed)
        assert "Lisbon" not in str(error)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("localhost:8080", "no URL"),
        ("ftp://host", "no URL"),
        ("http://", "no URL"),
        ("http://host:99999", "no URL"),
        ("http://me:sk-verysecret@host/v1", "_KEY"),
        ("http://host/v1?key=sk-verysecret", "_KEY"),
    ],
)
def test_a_url_that_cannot_be_one_is_refused_without_being_shown(url: str, says: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Endpoint(url, clock=DatabaseClock())
    assert says in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_key_that_cannot_be_one_is_refused_without_being_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Endpoint("http://host", clock=DatabaseClock(), key="sk-ü\n")
    assert "sk-" not in str(caught.value)


async def test_half_a_surrogate_pair_is_sent_as_something_readable(server: ChatServer) -> None:
    async with calling(server) as caller:
        await caller.ask(Prompt("entities", 1, PROMPT.system, "a \ud800 b"))
        assert server.requests[0].user == "a ? b"
