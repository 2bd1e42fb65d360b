"""A language model that is gone for an hour, by refusing or by hanging: nothing is lost, no attempt is used up."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta

import pytest

from perdure import Memory, SimulatedClock, Space
from perdure.llm import Models, Role
from perdure.llm.endpoint import Endpoint, EndpointLimits
from tests.doubles.chat_server import WRONG_JSON, ChatServer, Request, serving
from tests.doubles.embedder import HashedEmbedder
from tests.faults.harness import Place
from tests.faults.scripts import NOON

HASTY = EndpointLimits(attempts=2, first_backoff=0.05, connect=0.5, stall=0.5, probe=0.5, peek=0.3)
MINUTE = timedelta(minutes=1)


class MovedClock(SimulatedClock):
    """A clock whose durations move with its time, so that an hour passes for what rests, too."""

    def __init__(self, start: datetime) -> None:
        super().__init__(start)
        self._moved = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self._moved

    def advance(self, step: timedelta) -> None:
        super().advance(step)
        self._moved += step.total_seconds()


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    with serving() as server:
        yield server


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock(NOON)


@pytest.fixture
async def judged(
    place: Place, chat: ChatServer, clock: MovedClock, new_space: Callable[[], str]
) -> AsyncIterator[Space]:
    endpoint = Endpoint(chat.url, clock=clock, limits=HASTY)
    models = Models({Role.THINKER: endpoint, Role.SUBAGENT: endpoint}, clock, patience=0.02)
    async with Memory.open(
        database_url=place.app,
        database_worker_url=place.worker,
        embedder=HashedEmbedder(),
        worker=False,
        clock=clock,
        models=models,
    ) as memory:
        yield memory.space(new_space())
    await models.close()


async def _say(space: Space, *said: str) -> None:
    for number, words in enumerate(said):
        await space.capture(
            user=words,
            conversation_id=f"talk-{number % 2}",
            occurred_at=NOON + timedelta(seconds=number),
            operation_id=f"capture-{number}",
        )


@contextmanager
def _refusing(chat: ChatServer) -> Iterator[None]:
    chat.down()
    yield
    chat.up()


@contextmanager
def _silent(chat: ChatServer) -> Iterator[None]:
    """In its place listens somebody who never says a word."""
    port = int(chat.url.split(":")[2].split("/")[0])
    chat.down()
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(64)
        yield
    chat.up()


SAID = tuple(f"The {name} is {number + 3} years old" for number, name in enumerate(("cat", "dog", "horse", "crow")))


@pytest.mark.parametrize(
    ("gone", "minutes"), [(_refusing, 60), (_silent, 3), pytest.param(_silent, 60, marks=pytest.mark.long)]
)
async def test_a_model_that_is_gone_costs_no_attempt_and_what_waited_is_judged_in_order(
    judged: Space,
    chat: ChatServer,
    clock: MovedClock,
    gone: Callable[[ChatServer], AbstractContextManager[None]],
    minutes: int,
) -> None:
    await _say(judged, *SAID)
    with gone(chat):
        for _ in range(minutes):
            report = await judged.drain()
            assert report.outage
            assert (report.done, report.failed, report.waiting) == (0, 0, len(SAID))
            clock.advance(MINUTE)
        assert await judged.failed() == ()
    # A breaker rests ten minutes at the longest; then one request finds out that it may end, and the rest follow.
    clock.advance(timedelta(minutes=11))
    chat.requests.clear()
    report = await judged.drain()
    clock.advance(MINUTE)
    report += await judged.drain()
    assert (report.done, report.failed, report.waiting, report.outage) == (len(SAID), 0, 0, None)
    assert sorted(memory.summary for memory in await judged.list()) == sorted(SAID)
    for talk in (0, 1):
        asked = [request.data("user") for request in chat.asked("triage")]
        assert [words for words in asked if words in SAID[talk::2]] == list(SAID[talk::2])


async def test_what_a_model_answers_with_nonsense_holds_up_nobody_else(
    judged: Space, chat: ChatServer, clock: MovedClock
) -> None:
    def answer(request: Request) -> object:
        return WRONG_JSON if "dog" in request.data("user") else None

    chat.answer("triage", answer)  # type: ignore[arg-type]
    await _say(judged, *SAID)
    for _ in range(4):
        await judged.drain()
        clock.advance(timedelta(minutes=16))
    (failed,) = await judged.failed()
    assert "enormous" in str((await judged.failed_context(failed.id))["answer"])
    assert sorted(memory.summary for memory in await judged.list()) == sorted(s for s in SAID if "dog" not in s)
    chat.answer("triage", None)
    await judged.replay_failed()
    await judged.drain()
    assert len(await judged.list()) == len(SAID)
    assert await judged.failed() == ()
