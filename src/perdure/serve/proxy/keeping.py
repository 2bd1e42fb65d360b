"""What the proxy asks of memory: recall before the model speaks, capture after. Whatever fails, the chat goes on."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from perdure.clock import Clock
from perdure.context import Context
from perdure.errors import Conflict, DatabaseUnavailable, without_words
from perdure.ingest import ToolResult
from perdure.serve.proxy.asked import Asked
from perdure.serve.proxy.reply import Reply
from perdure.serve.proxy.turn import ChatTurn
from perdure.space import Space
from perdure.text import MAX_TEXT_BYTES, truncate_bytes

_LOG: Final = logging.getLogger(__name__)

CAPTURE_WAIT_S: Final = 2.0
"""How long a reply's end may wait for the commit of its exchange; then it is tried on beside."""
RETRY_S: Final = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0)
"""Pauses between tries at a database that is away: four minutes in all."""
MOST_WAITING: Final = 1000
"""Exchanges that may wait for a database at a time; more are given up, and logged as such."""
MOST_TOOLS: Final = 64
REMEMBERED_TURNS: Final = 512
TURN_S: Final = 3600.0
"""How long the requests of one turn may be apart to have their recall in common."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One turn on its way into memory."""

    space: Space
    turn: ChatTurn
    asked: Asked
    context: Context | None
    day: str

    @property
    def operation_id(self) -> str:
        """The host's own, or one that the same conversation up to here has all day: a repeated request is one turn."""
        if self.asked.operation is not None:
            return f"proxy:{hashlib.sha256(self.asked.operation.encode()).hexdigest()}"
        told = "\0".join([self.turn.digest, self.asked.conversation or "", self.asked.speaker or "", self.day])
        return f"proxy:{hashlib.sha256(told.encode()).hexdigest()}"


class Keeping:
    """Recall and capture for all requests of a process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._contexts: OrderedDict[tuple[str, str | None, str], tuple[float, Context]] = OrderedDict()
        self._waiting: set[asyncio.Task[str]] = set()

    async def recall(self, space: Space, turn: ChatTurn) -> Context | None:
        """The prompt for this turn; None where memory fails, which is logged without a word of it.

        All requests of a turn get the same, so that a model that called tools finds its prompt unchanged.
        """
        key = (space.name, space.audience, turn.digest)
        found = self._contexts.get(key)
        if found is not None and self._clock.monotonic() - found[0] < TURN_S and turn.tools:
            return found[1]
        try:
            said = truncate_bytes(turn.said, MAX_TEXT_BYTES)
            context = await space.context(said, history=turn.earlier)
        except Exception as error:
            _LOG.warning("the chat goes on without memory: %s", without_words(error))
            return None
        self._contexts[key] = (self._clock.monotonic(), context)
        self._contexts.move_to_end(key)
        while len(self._contexts) > REMEMBERED_TURNS:
            self._contexts.popitem(last=False)
        return context

    async def capture(self, exchange: Exchange, reply: Reply) -> str:
        """Commits the exchange, and says what became of it: an outcome's status, `waiting` or `failed`.

        It returns after two seconds at the latest; what isn't committed by then is tried on beside.
        """
        task = self.capture_beside(exchange, reply)
        if task is None:
            return "failed"
        done, _ = await asyncio.wait({task}, timeout=CAPTURE_WAIT_S)
        return task.result() if done else "waiting"

    def capture_beside(self, exchange: Exchange, reply: Reply) -> asyncio.Task[str] | None:
        """Begins to commit the exchange; None where too many wait already."""
        if len(self._waiting) >= MOST_WAITING:
            _LOG.error("an exchange is given up: %d wait for the database", len(self._waiting))
            return None
        task = asyncio.create_task(self._capture(exchange, reply))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)
        return task

    async def close(self, within_s: float) -> None:
        """Lets captures that are under way end, for so many seconds."""
        if not self._waiting:
            return
        _, left = await asyncio.wait(set(self._waiting), timeout=within_s)
        for task in left:
            task.cancel()
        if left:
            _LOG.error("%d exchanges were not committed: the database was away when the server ended", len(left))

    async def _capture(self, exchange: Exchange, reply: Reply) -> str:
        for pause in (*RETRY_S, None):
            try:
                outcome = await exchange.space.capture(
                    user=truncate_bytes(exchange.turn.said, MAX_TEXT_BYTES),
                    assistant=truncate_bytes(reply.text, MAX_TEXT_BYTES),
                    tools=_fitting(exchange.turn.tools, exchange.turn.said, reply.text),
                    speaker=exchange.asked.speaker,
                    conversation_id=exchange.asked.conversation,
                    operation_id=exchange.operation_id,
                    recall=exchange.context,
                )
            except Conflict:
                # The same question was answered anew; the first exchange of it is kept.
                return "nothing"
            except DatabaseUnavailable as error:
                if pause is None:
                    _LOG.error("an exchange is given up: %s", without_words(error))
                    return "failed"
                await asyncio.sleep(pause)
            except Exception as error:
                _LOG.warning("an exchange was not captured: %s", without_words(error))
                return "failed"
            else:
                return outcome.status
        raise AssertionError("unreachable")


def _fitting(tools: tuple[ToolResult, ...], said: str, replied: str) -> tuple[ToolResult, ...]:
    """As many of the latest answers of tools as an exchange may hold."""
    room = MAX_TEXT_BYTES - min(MAX_TEXT_BYTES, (len(said.encode()) + len(replied.encode())) // 2)
    kept: list[ToolResult] = []
    for tool in reversed(tools[-MOST_TOOLS:]):
        cut = truncate_bytes(tool.content, room)
        room -= len(cut.encode())
        if cut:
            kept.append(ToolResult(tool.name, cut))
    return tuple(reversed(kept))
