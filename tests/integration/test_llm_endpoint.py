"""What holds between Perdure and a chat server, over real HTTP: dialects, retries, deadlines, the breaker, the key."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import pytest

from perdure.clock import DatabaseClock
from perdure.errors import ConfigurationError, ModelFailed, ModelUnavailable
from perdure.llm import Ledger, Prompt, Reply, render
from perdure.llm.dialects import Dialect
from perdure.llm.endpoint import Endpoint, EndpointLimits
from perdure.llm.port import Call
from perdure.llm.schemas import ContradictionVerdict, ExtractedEntities
from perdure.rules.breaker import FIRST_REST_S
from tests.doubles import chat_server as double
from tests.doubles.chat_server import ChatServer, Refuse, Say, Slow, serving

PROMPT = render("entities", text="Ada moved to Lisbon.")
SITE = "entities"
KEY = "sk-verysecret"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving("llamacpp") as running:
        yield running


class Waits(list[float]):
    """Records how long the client wanted to wait, and doesn't."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


class Shifted:
    """The real clock, plus what a test adds."""

    ahead = 0.0

    def now(self) -> datetime | None:
        return None

    def monotonic(self) -> float:
        return DatabaseClock().monotonic() + self.ahead


class Caller:
    """An endpoint, the ledger of its calls, and short ways to make them."""

    def __init__(self, url: str, **options: Any) -> None:
        self.clock = Shifted()
        self.waits = Waits()
        limits = EndpointLimits(**{"probe": 5.0, "stall": 10.0, **options.pop("limits", {})})
        given = {"clock": self.clock, "limits": limits, "chance": lambda: 0.0, "sleep": self.waits, **options}
        self.endpoint = Endpoint(url, **given)
        self.ledger = Ledger()

    def call(self, *, seconds: float = 5.0, live: bool = False) -> Call:
        return Call(SITE, "subagent", self.ledger, self.clock.monotonic() + seconds, 200, live)

    async def ask(self, prompt: Prompt = PROMPT, *, seconds: float = 5.0, live: bool = False) -> Reply:
        return await self.endpoint.complete_with_grammar(
            prompt, ExtractedEntities, self.call(seconds=seconds, live=live)
        )

    async def think(self, *, seconds: float = 5.0) -> Reply:
        return await self.endpoint.complete(PROMPT, self.call(seconds=seconds))

    async def fails(self, error: type[ModelFailed | ModelUnavailable], **given: Any) -> Any:
        with pytest.raises(error) as caught:
            await self.ask(**given)
        return caught.value


@asynccontextmanager
async def calling(server: ChatServer | str, **options: Any) -> AsyncIterator[Caller]:
    caller = Caller(server if isinstance(server, str) else server.url, **options)
    try:
        yield caller
    finally:
        await caller.endpoint.close()
        assert caller.endpoint.slots.free == caller.endpoint.slots.count, "a slot was lost or made"


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


@pytest.mark.parametrize("said", [double.GARBAGE, double.HALF])
async def test_half_an_answer_or_garbage_is_the_inputs_fault_while_the_server_answers_others(
    server: ChatServer, said: double.Behaviour
) -> None:
    server.answer(SITE, said)
    async with calling(server) as caller:
        assert (await caller.fails(ModelFailed)).message
        with pytest.raises(ModelFailed) as caught:
            await caller.think()
        assert caught.value.answer
        assert caller.endpoint.breaker == "closed"


async def test_a_stream_that_stalls_is_noticed_long_before_the_deadline(server: ChatServer) -> None:
    server.answer(SITE, double.STALL)
    async with calling(server, limits={"stall": 0.2}) as caller:
        async with asyncio.timeout(20):
            with pytest.raises(ModelFailed, match="nothing more") as caught:
                await caller.think(seconds=60)
        assert "moved" in caught.value.answer


async def test_a_busy_server_is_asked_again_when_it_says(server: ChatServer) -> None:
    server.then("", Refuse(429, "slow", {"Retry-After": "3"}), Refuse(503, "loading"), Refuse(503, "loading"))
    async with calling(server) as caller:
        await caller.ask()
        assert caller.waits == [3.0, 1.0, 2.0]
        assert [use.ok for use in caller.ledger.uses] == [False, False, False, True]
        assert [use.prompt_tokens > 0 for use in caller.ledger.uses] == [False, False, False, True]


async def test_a_server_that_asks_for_more_time_than_there_is_counts_as_down(server: ChatServer) -> None:
    server.answer("", Refuse(429, "slow", {"Retry-After": "3600"}))
    async with calling(server) as caller:
        await caller.fails(ModelUnavailable)
        assert (len(server.requests), list(caller.waits)) == (1, [])


async def test_a_turn_is_tried_less_often_than_background_work(server: ChatServer) -> None:
    server.answer("", Refuse(503, "loading"))
    async with calling(server) as caller:
        await caller.fails(ModelUnavailable, live=True)
        assert len(server.requests) == 2
        await caller.fails(ModelUnavailable)
        assert len(server.requests) == 6


async def test_while_it_waits_to_ask_again_its_slot_is_free(server: ChatServer) -> None:
    server.then("", Refuse(503, "loading"))
    free: list[int] = []
    async with calling(server) as caller:

        async def sleep(_: float) -> None:
            free.append(caller.endpoint.slots.free)

        caller.endpoint._sleep = sleep
        await caller.ask()
        assert free == [1]


async def test_a_server_that_is_gone_is_unavailable_and_used_again_when_it_is_back(server: ChatServer) -> None:
    async with calling(server) as caller:
        await caller.ask()
        server.down()
        error = await caller.fails(ModelUnavailable)
        assert "4 of 4 attempts" in error.message
        server.up()
        await caller.ask()


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


async def test_an_error_of_the_server_on_one_input_is_that_inputs_failure(server: ChatServer) -> None:
    server.answer(SITE, Refuse(500, "assertion failed"))
    async with calling(server) as caller:
        for _ in range(4):
            assert "assertion failed" in (await caller.fails(ModelFailed)).answer
        assert caller.endpoint.breaker == "closed"


async def test_a_server_that_fails_at_everything_is_down(server: ChatServer) -> None:
    server.answer("", Refuse(500, "CUDA error"))
    async with calling(server) as caller:
        await caller.fails(ModelUnavailable)


async def test_a_hang_on_one_input_is_that_inputs_failure(server: ChatServer) -> None:
    server.answer(SITE, double.HANG)
    async with calling(server) as caller:
        for _ in range(4):
            error = await caller.fails(ModelFailed, seconds=0.2)
        assert "PERDURE_MODEL_PATIENCE" in error.hint
        assert caller.endpoint.breaker == "closed"


async def test_a_server_that_hangs_trips_the_breaker_and_one_probe_finds_it_well_again(server: ChatServer) -> None:
    server.answer("", double.HANG)
    async with calling(server, limits={"probe": 0.1}) as caller:
        for _ in range(3):
            await caller.fails(ModelUnavailable, seconds=0.1)
        assert caller.endpoint.breaker == "open"
        asked = len(server.requests)
        error = await caller.fails(ModelUnavailable)
        assert "left alone" in error.message
        assert "did not answer within" in error.message
        assert len(server.requests) == asked, "an open breaker asks nothing"
        caller.clock.ahead += FIRST_REST_S
        server.answer("", None)
        await caller.ask()
        assert caller.endpoint.breaker == "closed"


async def test_a_probe_is_one_request_and_its_failure_is_the_next_rest(server: ChatServer) -> None:
    server.answer("", Refuse(503, "loading"))
    async with calling(server) as caller:
        for _ in range(3):
            await caller.fails(ModelUnavailable)
        caller.clock.ahead += FIRST_REST_S
        asked = len(server.requests)
        await caller.fails(ModelUnavailable)
        assert len(server.requests) == asked + 1
        caller.clock.ahead += FIRST_REST_S
        assert caller.endpoint.breaker == "open", "the second rest is longer"


async def test_a_bad_answer_is_an_answer_and_closes_the_breaker(server: ChatServer) -> None:
    server.answer("", Refuse(503, "loading"))
    async with calling(server) as caller:
        for _ in range(3):
            await caller.fails(ModelUnavailable)
        caller.clock.ahead += FIRST_REST_S
        server.answer("", double.EMPTY)
        await caller.fails(ModelFailed)
        assert caller.endpoint.breaker == "closed"


async def test_an_input_at_which_a_server_hangs_up_is_that_inputs_failure() -> None:
    asked = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        content = await reader.readexactly(int(length.split(b":")[1]))
        asked += 1
        if b"Lisbon" not in content:
            said = b'{"choices": [{"message": {"content": "OK"}, "finish_reason": "stop"}]}'
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(said), said))
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
        async with calling(url, model="m", dialect=Dialect.LLAMACPP) as caller:
            error = await caller.fails(ModelFailed)
            assert "closed the connection" in error.message
            assert asked == 5, "four tries, and the question whether it answers anything"


async def test_a_probe_that_is_cancelled_does_not_stick(server: ChatServer) -> None:
    server.answer("", double.HANG)
    async with calling(server, limits={"probe": 0.1}) as caller:
        for _ in range(3):
            await caller.fails(ModelUnavailable, seconds=0.1)
        caller.clock.ahead += FIRST_REST_S
        probe = asyncio.create_task(caller.ask())
        await asyncio.sleep(0.1)
        error = await caller.fails(ModelUnavailable)
        assert "left alone" in error.message, "one probe at a time"
        probe.cancel()
        await asyncio.gather(probe, return_exceptions=True)
        server.answer("", None)
        await caller.ask()
        assert caller.endpoint.breaker == "closed"


async def test_a_probe_that_waits_for_a_slot_is_none_yet(server: ChatServer) -> None:
    """A busy slot, W74: whoever holds no slot must not hold the half-open permission either."""
    server.answer("", double.HANG)
    async with calling(server, limits={"probe": 0.1}) as caller:
        for _ in range(3):
            await caller.fails(ModelUnavailable, seconds=0.1)
        caller.clock.ahead += FIRST_REST_S
        async with caller.endpoint.slots.hold(live=True):
            error = await caller.fails(ModelUnavailable, seconds=0.1)
            assert "slots" in error.message
        server.answer("", None)
        await caller.ask()


async def test_a_turn_that_runs_out_of_time_is_told_at_once_and_the_breaker_later(server: ChatServer) -> None:
    server.answer("", double.HANG)
    async with calling(server, limits={"probe": 0.8}) as caller:
        for _ in range(3):
            before = caller.clock.monotonic()
            await caller.fails(ModelUnavailable, seconds=0.1, live=True)
            assert caller.clock.monotonic() - before < 0.8, "it does not wait for the probe"
            await asyncio.sleep(1.0)
        assert caller.endpoint.breaker == "open"


async def test_turns_with_short_deadlines_do_not_open_the_breaker_of_a_slow_server(server: ChatServer) -> None:
    server.answer(SITE, Slow(1.0))
    async with calling(server) as caller:
        for _ in range(4):
            await caller.fails(ModelUnavailable, seconds=0.05, live=True)
            await asyncio.sleep(0.05)
        assert caller.endpoint.breaker == "closed"


async def test_the_deadline_counts_waiting_for_a_slot_which_is_nobodys_failure(server: ChatServer) -> None:
    async with calling(server) as caller:
        async with caller.endpoint.slots.hold(live=False):
            error = await caller.fails(ModelUnavailable, seconds=0.1)
        assert "PERDURE_THINKER_SLOTS" in error.hint
        assert (server.requests, caller.ledger.uses) == ([], [])
        assert caller.endpoint.breaker == "closed"


async def test_an_input_that_had_little_time_left_is_not_blamed(server: ChatServer) -> None:
    server.answer(SITE, double.HANG)
    async with calling(server) as caller:
        async with caller.endpoint.slots.hold(live=False):
            waiting = asyncio.create_task(caller.fails(ModelUnavailable, seconds=60))
            await asyncio.sleep(0)
            caller.clock.ahead += 59.7
        assert "waiting" in (await waiting).message


async def test_no_more_requests_than_slots_and_turns_before_background_work(server: ChatServer) -> None:
    order: list[str] = []

    async def one(name: str, *, live: bool) -> None:
        await caller.ask(live=live)
        order.append(name)

    server.delay_s = 0.2
    async with calling(server, slots=2) as caller:
        tasks = [asyncio.create_task(one(f"background {number}", live=False)) for number in range(6)]
        await asyncio.sleep(0.02)
        tasks.append(asyncio.create_task(one("turn", live=True)))
        await asyncio.gather(*tasks)
    assert server.most_at_once == 2
    assert order.index("turn") <= 3


async def test_cancelling_calls_at_any_moment_leaves_slots_and_breaker_sound(server: ChatServer) -> None:
    server.delay_s = 0.01
    async with calling(server, slots=2) as caller:
        for round_ in range(30):
            tasks = [asyncio.create_task(caller.ask(live=number % 2 == 0)) for number in range(6)]
            await asyncio.sleep(0.001 * round_)
            for task in tasks[round_ % 3 :]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert (caller.endpoint.slots.free, caller.endpoint.slots.waiting) == (2, 0)
        assert caller.endpoint.breaker == "closed"
        await caller.ask()


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
