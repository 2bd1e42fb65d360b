"""One turn's prompt: all that remembers is asked at once, under one deadline, and what fails or is late is left out.

Memories, facts and documents share one request to the embedder, which is made when the first of them asks for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, TypeVar

import numpy as np

from perdure import recall
from perdure.clock import Clock
from perdure.cognition import read_identity
from perdure.context import Context, Layout, Parts, PersonFacts, Trait, build_context
from perdure.embedding import Embedder
from perdure.errors import PerdureError, without_words
from perdure.fact_types import TurnState
from perdure.recall import Selection, within
from perdure.resources import Resources
from perdure.store.database import SpaceTransaction, Transaction
from perdure.store.spaces import SpaceRow
from perdure.store.traits import list_traits
from perdure.text import has_memory_intent, truncate_chars
from perdure.types import Recall

T = TypeVar("T")
log = logging.getLogger("perdure.context")

QUERY_CHARS: Final = 1000
"""Characters of the message that facts and documents are looked up by (mission)."""

PREFIXES: Final = 4096
"""Conversations whose last prefix is remembered."""

DEFAULT_BOT: Final = "Assistant"
"""What `{bot}` stands for where no persona speaks."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a prompt is asked for, in the space of this name. `turn` says what is recalled, `state` who takes part where.

    `real`: a reply follows; a look leaves no trace. `introduces`: participants are named although nothing is known of
    them. `tools` are the host's own.
    """

    space: str
    turn: recall.Turn
    state: TurnState
    layout: Layout
    instructions: str = ""
    budget: int | None = None
    deadline_s: float = 2.0
    real: bool = True
    introduces: bool = True
    tools: tuple[Mapping[str, object], ...] = ()

    @property
    def conversation(self) -> Hashable:
        """Whose prefix a model's server may still hold."""
        state = self.state
        lineage = state.persona.lineage if state.persona else 0
        place = (state.server_id, state.channel_id, lineage)
        return (self.space, self.turn.audience, *place, self.layout.name)


class SharedQuery:
    """The texts of a turn as vectors: one request for all who ask, made when the first does."""

    def __init__(self, embedder: Embedder, turn: recall.Turn) -> None:
        self._embedder = embedder
        self._of_turn = turn.texts
        self._of_query = truncate_chars(turn.message.strip(), QUERY_CHARS)
        self._task: asyncio.Task[np.ndarray] | None = None

    async def of_turn(self) -> np.ndarray:
        """The vectors of the trajectory and, last, of the message; one where both are the same."""
        return (await self._vectors())[: len(self._of_turn)]

    async def of_query(self) -> np.ndarray:
        """The vector by which facts and documents are looked up."""
        vectors: np.ndarray = (await self._vectors())[self._texts.index(self._of_query)]
        return vectors

    def cancel(self) -> None:
        """Ends the request if it is still under way."""
        if self._task is not None:
            self._task.cancel()

    @property
    def _texts(self) -> list[str]:
        return list(dict.fromkeys([*self._of_turn, self._of_query]))

    async def _vectors(self) -> np.ndarray:
        if self._task is None:
            self._task = asyncio.create_task(self._embed(), name="perdure-query")
        # Whoever gives up waiting takes nothing from those who still do.
        return await asyncio.shield(self._task)

    async def _embed(self) -> np.ndarray:
        return await self._embedder.embed(self._texts, "query")


@dataclass(slots=True)
class Gathering:
    """Parts that are worked out beside each other until one deadline."""

    clock: Clock
    deadline_s: float
    degraded: dict[str, str] = field(default_factory=dict)
    timings_ms: dict[str, float] = field(default_factory=dict)
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock.monotonic()

    @property
    def left_s(self) -> float:
        return max(self.deadline_s - (self.clock.monotonic() - self.started), 0.001)

    def finished(self) -> dict[str, float]:
        """Milliseconds of each part, and of all together."""
        self.timings_ms["total"] = self._since(self.started)
        return self.timings_ms

    async def part(self, name: str, work: Coroutine[Any, Any, T], otherwise: T) -> T:
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


FindSpace = Callable[[], Awaitable[tuple[SpaceRow, Asked] | None]]
"""Finds the space, and reads what is asked in its time zone; None where there is no such space."""


async def assemble(resources: Resources, find: FindSpace, asked: Asked) -> Context:
    """The prompt of a turn, never later than the deadline. Writes nothing; there is little in it without a space."""
    gathering = Gathering(resources.database.clock, asked.deadline_s)
    found = await gathering.part("space", _found(find), None)
    space, asked = found or (None, asked)
    query = SharedQuery(resources.embedder, asked.turn)
    turn = _Turn(resources, space, asked, query, gathering)
    try:
        known, selection = await asyncio.gather(
            gathering.part("identity", turn.known(), Parts()),
            gathering.part("memories", turn.memories(), Selection()),
        )
    finally:
        query.cancel()
    parts = replace(
        known,
        instructions=asked.instructions,
        people=_people(asked),
        memories=selection.hits,
        pending=selection.pending,
        bot=asked.state.persona.name if asked.state.persona else DEFAULT_BOT,
    )
    timings = gathering.finished()
    context = build_context(
        asked.turn.message,
        parts,
        asked.layout,
        recall=_recall(asked, selection, gathering),
        budget=asked.budget,
        before=resources.prefixes.get(asked.conversation, ()),
        degraded=tuple(f"{name}: {why}" for name, why in gathering.degraded.items()),
        timings_ms=timings,
        memory_intent=has_memory_intent(asked.turn.message),
        real=asked.real,
    )
    if asked.real:
        _remember_prefix(resources, asked.conversation, context)
    return context


@dataclass(frozen=True, slots=True)
class _Turn:
    """What each part of a prompt is worked out from."""

    resources: Resources
    space: SpaceRow | None
    asked: Asked
    query: SharedQuery
    gathering: Gathering

    async def known(self) -> Parts:
        """Who the user is, and the time, in one transaction."""
        space = self.space
        if space is None:
            return Parts(now=await self.resources.database.across(_time, timeout_s=self.gathering.left_s))

        async def read(tx: SpaceTransaction) -> Parts:
            identity = await read_identity(tx, space)
            traits = [Trait(one.category, one.key, one.value) for one in await list_traits(tx)]
            return Parts(identity=identity.profile, traits=traits, now=tx.now, time_zone=space.time_zone)

        return await self.resources.database.in_space(space.id, read, timeout_s=self.gathering.left_s)

    async def memories(self) -> Selection:
        """Recalled memories, and exchanges that wait."""
        turn = self.asked.turn
        if self.space is None or not turn.message.strip():
            return Selection()
        vectors = await self.query.of_turn()
        gated, left_s = self.resources.settings.relevance_gate, self.gathering.left_s
        return await recall.look_up(self.resources, self.space, turn, vectors, gated=gated, timeout_s=left_s)


def _people(asked: Asked) -> list[PersonFacts]:
    """Who takes part, as far as there is something to say of them."""
    people = [PersonFacts(one.user_id, one.name, one.aliases) for one in asked.state.participants]
    return [one for one in people if one.facts or asked.introduces]


def _remember_prefix(resources: Resources, conversation: Hashable, context: Context) -> None:
    resources.prefixes[conversation] = tuple(replace(one, text="") for one in context.blocks if one.cacheable)
    resources.prefixes.move_to_end(conversation)
    if len(resources.prefixes) > PREFIXES:
        resources.prefixes.popitem(last=False)


async def _found(find: FindSpace) -> tuple[SpaceRow, Asked] | None:
    return await find()


async def _time(tx: Transaction) -> datetime:
    return tx.now


def _recall(asked: Asked, selection: Selection, gathering: Gathering) -> Recall:
    """What came to mind, before the budget of the whole prompt; prefix and tail are set with that."""
    why = gathering.degraded.get("memories")
    return Recall(
        query=asked.turn.message,
        memories=selection.hits,
        pending=selection.pending,
        prefix="",
        tail="",
        degraded=() if why is None else (f"memories: {why}",),
        timings_ms=gathering.timings_ms,
        left_out=selection.left_out,
    )
