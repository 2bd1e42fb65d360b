"""A chat server that is slow, busy, gone or half dead: retries, deadlines, slots, and the breaker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from perdure.errors import ModelFailed, ModelUnavailable
from perdure.llm.dialects import Dialect
from perdure.rules.breaker import FIRST_REST_S
from tests.doubles import chat_server as double
from tests.doubles.chat_server import ChatServer, Refuse, Slow, serving
from tests.integration.endpoint_caller import SITE, calling


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving("llamacpp") as running:
        yield running


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
            error = await caller.fails(ModelUnavailable, seconds=0.1, live=True)
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


async def test_background_work_waits_for_a_slot_as_long_as_it_takes_and_has_its_whole_time_then(
    server: ChatServer,
) -> None:
    server.answer(SITE, Slow(0.2))
    async with calling(server) as caller:
        async with caller.endpoint.slots.hold(live=True):
            waiting = asyncio.create_task(caller.ask(seconds=0.5))
            await asyncio.sleep(0.7)
            assert not waiting.done()
        await waiting


async def test_the_deadline_of_a_turn_counts_waiting_for_a_slot_which_is_nobodys_failure(server: ChatServer) -> None:
    async with calling(server) as caller:
        async with caller.endpoint.slots.hold(live=False):
            error = await caller.fails(ModelUnavailable, seconds=0.1, live=True)
        assert "PERDURE_THINKER_SLOTS" in error.hint
        assert (server.requests, caller.ledger.uses) == ([], [])
        assert caller.endpoint.breaker == "closed"


async def test_an_input_that_had_little_time_left_is_not_blamed(server: ChatServer) -> None:
    server.then(SITE, double.TOO_MANY)
    server.answer(SITE, double.HANG)

    async def long(seconds: float) -> None:
        caller.clock.ahead += 59.7

    async with calling(server, sleep=long) as caller:
        assert "waiting" in (await caller.fails(ModelUnavailable, seconds=60)).message


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
