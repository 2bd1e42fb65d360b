"""Several things are found out beside each other: until one deadline, and with one request to the embedder."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar, get_args

import numpy as np

from perdure import ltm, recall
from perdure.clock import Clock
from perdure.embedding import Embedder
from perdure.errors import PerdureError, without_words
from perdure.recall import within

T = TypeVar("T")
log = logging.getLogger("perdure.context")


class SharedQuery:
    """The texts of a turn as vectors: one request for all who ask, made when the first does."""

    def __init__(self, embedder: Embedder, turn: recall.Turn) -> None:
        self._embedder = embedder
        self._of_turn = turn.texts
        self._of_query = ltm.query_of(turn.message) or turn.message
        self._task: asyncio.Task[np.ndarray] | None = None

    async def of_turn(self) -> np.ndarray:
        """The vectors of the trajectory and, last, of the message; one where both are the same."""
        return (await self.start_query_retrieval())[: len(self._of_turn)]

    async def of_query(self) -> np.ndarray:
        """The vector by which facts and documents are looked up."""
        vectors: np.ndarray = (await self.start_query_retrieval())[self._texts.index(self._of_query)]
        return vectors

    def cancel(self) -> None:
        """Ends the request if it is still under way."""
        if self._task is not None:
            self._task.cancel()

    @property
    def _texts(self) -> list[str]:
        return list(dict.fromkeys([*self._of_turn, self._of_query]))

    async def start_query_retrieval(self) -> np.ndarray:
        """The vectors of all texts: of the request that is under way, or of the one that this starts."""
        if self._task is None:
            self._task = asyncio.create_task(self._embed(), name="perdure-query")
        # Whoever gives up waiting takes nothing from those who still do.
        return await asyncio.shield(self._task)

    async def _embed(self) -> np.ndarray:
        return await self._embedder.embed(self._texts, "query")


Part = Literal["space", "identity", "facts", "memories", "documents"]
PARTS: Final[tuple[Part, ...]] = get_args(Part)


@dataclass(slots=True)
class Gathering:
    """Parts that are worked out beside each other until one deadline."""

    clock: Clock
    deadline_s: float
    degraded: dict[Part, str] = field(default_factory=dict)
    timings_ms: dict[str, float] = field(default_factory=dict)
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock.monotonic()

    @property
    def left_s(self) -> float:
        return max(self.deadline_s - (self.clock.monotonic() - self.started), 0.001)

    def missing(self) -> tuple[str, ...]:
        """What failed or was late, and why, in the order of PARTS."""
        return tuple(f"{name}: {self.degraded[name]}" for name in PARTS if name in self.degraded)

    def finished(self) -> dict[str, float]:
        """Milliseconds of each part, and of all together."""
        self.timings_ms["total"] = self._since(self.started)
        return self.timings_ms

    async def part(self, name: Part, work: Coroutine[Any, Any, T], otherwise: T) -> T:
        """What `work` returns; `otherwise` where it failed or was late, which is noted."""
        began = self.clock.monotonic()
        try:
            return await within(self.left_s, work)
        except TimeoutError:
            self.degraded[name] = f"no answer within {self.deadline_s:g} s"
        except PerdureError as error:
            self.degraded[name] = error.message
        except Exception as error:
            # The reply must go on whatever happens here; tracebacks would quote messages.
            log.error("a prompt is without its %s: %s", name, without_words(error))  # noqa: TRY400
            self.degraded[name] = type(error).__name__
        finally:
            self.timings_ms[name] = self._since(began)
        return otherwise

    def _since(self, moment: float) -> float:
        return round((self.clock.monotonic() - moment) * 1000, 2)
