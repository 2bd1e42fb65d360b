"""Prefetch: before the model speaks, the few memories that this turn needs, in time or not at all."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perdure.calibrating import keep_fresh
from perdure.context import PREFIX, render_tail
from perdure.errors import InvalidInput, PerdureError, without_words
from perdure.recall.deadline import within
from perdure.recall.gating import bar_of, read_gates
from perdure.recall.pending import waiting_exchanges, without_held
from perdure.recall.retrieval import configured_profile, question, retrieve
from perdure.recall.selecting import Budget, Selection, candidates_for, comparing, select
from perdure.resources import Resources, calibration_of
from perdure.rules.fencing import strip_fenced
from perdure.rules.trajectory import trajectory
from perdure.store.database import SpaceTransaction
from perdure.store.pending import pending_page
from perdure.store.ranking import MAX_LIMIT
from perdure.store.spaces import SpaceRow, read_state
from perdure.text import truncate_chars
from perdure.types import Filters, Recall

log = logging.getLogger("perdure.recall")


def read_history(history: Sequence[object]) -> list[tuple[str, str]]:
    """(role, text) of chat messages as hosts keep them; content may be a list of parts, of which text counts.

    What an earlier prompt had put in between is nobody's words, and taken out.

    Raises InvalidInput for what is no chat message.
    """
    messages: list[tuple[str, str]] = []
    for message in history:
        if not isinstance(message, Mapping):
            raise InvalidInput("history", message, "it has to be a list of messages with `role` and `content`")
        content = message.get("content") or ""
        if not isinstance(content, str):
            parts = content if isinstance(content, Sequence) else []
            content = "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and "text" in part)
        messages.append((str(message.get("role", "")), strip_fenced(content)))
    return messages


@dataclass(frozen=True, slots=True)
class Turn:
    """What a recall is asked: a message after a history, for whom, and how much of what may come back.

    `leaves_traces`: what a process learns beside it of the space and its embedder may be kept.
    """

    message: str
    history: Sequence[tuple[str, str]]
    audience: str | None
    limit: int
    filters: Filters
    leaves_traces: bool = True

    @property
    def texts(self) -> list[str]:
        """What is embedded, in one request: the trajectory says what is meant, the message whether anything is asked.

        One text where both are the same.
        """
        return list(dict.fromkeys([trajectory(self.history, self.message, cut=truncate_chars), self.message]))


FindTurn = Callable[[], Awaitable[tuple[SpaceRow, Turn] | None]]
"""Finds the space, and reads the turn in its time zone; None where there is no such space."""


async def prefetch(resources: Resources, find_turn: FindTurn, message: str, *, deadline_s: float) -> Recall:
    """The memories to inject for one turn; never later than the deadline, and empty and flagged where something failed.

    The vector comes from the trajectory (the last three user messages and this one), words and entities from this
    message alone. Writes nothing; where `find_turn` finds no space, there is nothing to recall.
    """
    clock = resources.database.clock
    start = clock.monotonic()
    timings: dict[str, float] = {}
    part = "database"

    def lap(name: str, since: float) -> None:
        timings[name] = round((clock.monotonic() - since) * 1000, 2)

    async def look() -> tuple[str, Selection]:
        nonlocal part
        found = await find_turn()
        if found is None:
            return "UTC", Selection()
        space, turn = found
        part, since = "embedding", clock.monotonic()
        vectors = await resources.embedder.embed(turn.texts, "query")
        lap("embedding", since)
        part, since = "database", clock.monotonic()
        remaining = deadline_s - (clock.monotonic() - start)
        gated = resources.settings.relevance_gate
        selection = await look_up(resources, space, turn, vectors, gated=gated, timeout_s=max(remaining, 0.001))
        lap("database", since)
        return space.time_zone, selection

    time_zone, found = "UTC", Selection()
    degraded: tuple[str, ...] = ()
    try:
        time_zone, found = await within(deadline_s, look())
    except TimeoutError:
        degraded = (f"{part}: no answer within {deadline_s:g} s",)
    except PerdureError as error:
        degraded = (f"{part}: {error.message}",)
    except Exception as error:
        # The reply must go on whatever happens here; the flag and the log say that something is wrong.
        log.error("recall failed in the %s: %s", part, without_words(error))  # noqa: TRY400 - tracebacks quote messages
        degraded = (f"{part}: {type(error).__name__}",)
    lap("total", start)
    tail = render_tail([*found.hits, *found.pending], time_zone)
    return Recall(message, found.hits, found.pending, PREFIX, tail, degraded, timings, found.left_out, found.tokens)


async def anything_to_recall(resources: Resources, space: SpaceRow, audience: str | None, *, timeout_s: float) -> bool:
    """Whether there are memories, or exchanges that wait; without any, no turn has to be embedded for them."""
    looked = resources.measured.get(space.id)
    if looked is not None and looked.memories:
        return True

    async def read(tx: SpaceTransaction) -> bool:
        state = await read_state(tx)
        if state is not None and state.memories:
            return True
        return bool(await pending_page(tx, audience, Filters(), before=None, limit=1))

    return await resources.database.in_space(space.id, read, timeout_s=timeout_s)


async def look_up(
    resources: Resources, space: SpaceRow, turn: Turn, vectors: np.ndarray, *, gated: bool, timeout_s: float
) -> Selection:
    """What a turn gets from the database, in one transaction. Raises DatabaseUnavailable, FamilyMismatch.

    `vectors` are those of the turn's trajectory and, last, of its message alone; one where both are the same.
    """

    async def read(tx: SpaceTransaction) -> Selection:
        asked = question(turn.message, vectors[0], tx.now)
        resources.require_family(space, await read_state(tx))
        # Before the memories: what is drained in between is found twice rather than not at all.
        waiting = await waiting_exchanges(
            tx,
            asked,
            [text for _, text in turn.history],
            audience=turn.audience,
            filters=turn.filters,
            clock=resources.database.clock,
        )
        found = await retrieve(
            tx,
            resources,
            space,
            asked,
            audience=turn.audience,
            filters=turn.filters,
            limit=min(MAX_LIMIT, candidates_for(turn.limit)),
            profile=configured_profile(resources),
            needed=turn.limit,
            vectors=True,
        )
        hits, ranked = found.hits, found.ranked
        passing = hits
        if gated:
            frequencies, memories = ranked.document_frequencies, ranked.memories
            bar = await bar_of(
                tx,
                resources,
                space,
                message=turn.message,
                history=turn.history,
                vectors=vectors,
                memories=memories,
                keep=turn.leaves_traces,
            )
            readings = read_gates(bar, ranked.rows, asked.terms, frequencies, memories)
            passing = [hit for hit, gate in zip(hits, readings, strict=True) if gate.passed]
        calibration = await calibration_of(tx, resources, space)
        return select(
            hits,
            {hit.memory.id for hit in passing},
            await without_held(tx, waiting, [hit.memory.id for hit in hits]) if waiting else [],
            Budget(resources.settings.recall_token_budget, space.time_zone),
            limit=turn.limit,
            beside=comparing([hit.memory for hit in passing], found.vectors, calibration),
        )

    found = await resources.database.in_space(space.id, read, ranks=True, timeout_s=timeout_s)
    if turn.leaves_traces:
        keep_fresh(resources, space)
    return found
