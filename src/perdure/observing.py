"""What happens in this process, told to whoever counts it: numbers and names of things, never a word of anybody.

Nobody listens unless a door asks for it. A listener that fails is logged and costs the work nothing.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from perdure.clock import DatabaseClock
from perdure.errors import PerdureError, without_words

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Answered:
    """A verb of a space came to its end.

    Attributes:
        verb: its name. seconds: how long it took. stages: seconds of its parts, where it tells them.
        degraded: which parts failed or were late. brought: memories that a recall or search brought; None of others.
        status: of the outcome, such as `stored`; None of verbs without one. error: the code of what it raised.
    """

    verb: str
    seconds: float
    stages: Mapping[str, float] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    brought: int | None = None
    status: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ModelAsked:
    """One request to a language model, failed ones included."""

    site: str
    role: str
    ok: bool
    seconds: float
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of work that had waited, or of memories that had their time: how many, by what."""

    what: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Sampled:
    """A `memory_recall` sample: the outcome and the numbers of one turn's facts."""

    outcome: str
    numbers: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Worked:
    """A chore of the heartbeat came to its end; `trouble` is whether something went wrong in it."""

    chore: str
    seconds: float
    trouble: bool


Event = Answered | ModelAsked | Settled | Sampled | Worked
Listener = Callable[[Event], None]
_LISTENERS: Final[list[Listener]] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tells a listener what happens in this process, until the block ends."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def observe(event: Event) -> None:
    """Tells everybody who listens."""
    for listener in _LISTENERS:
        try:
            listener(event)
        except Exception as error:
            _LOG.warning("a listener failed: %s", without_words(error))


_BRING: Final = frozenset({"recall", "search", "context"})
P = ParamSpec("P")
T = TypeVar("T")


S = TypeVar("S")
_CLOCK: Final = DatabaseClock()


def observed(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """A verb whose end is told; name, arguments and docstring stay the same."""

    @functools.wraps(method)
    async def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if not _LISTENERS:
            return await method(self, *args, **kwargs)
        verb, began = method.__name__, _CLOCK.monotonic()
        try:
            result = await method(self, *args, **kwargs)
        except (Exception, asyncio.CancelledError) as error:
            gone = "cancelled" if isinstance(error, asyncio.CancelledError) else "internal"
            code = error.code if isinstance(error, PerdureError) else gone
            observe(Answered(verb, _CLOCK.monotonic() - began, error=code))
            raise
        observe(_answered(verb, _CLOCK.monotonic() - began, result))
        return result

    return call


def _answered(verb: str, seconds: float, result: object) -> Answered:
    timings: Mapping[str, float] = getattr(result, "timings_ms", {})
    of = getattr(result, "recall", result)
    brought: Sized = getattr(of, "memories", None) or getattr(of, "hits", None) or ()
    count = len(brought) if verb in _BRING else None
    status = getattr(result, "status", None)
    return Answered(
        verb,
        seconds,
        {stage: ms / 1000 for stage, ms in timings.items()},
        tuple(getattr(result, "degraded", ())),
        count,
        None if status is None else str(status),
    )
