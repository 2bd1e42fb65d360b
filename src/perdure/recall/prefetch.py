"""Prefetch: before the model speaks, the few memories that this turn needs, in time or not at all."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from perdure.context import PREFIX, render_tail
from perdure.errors import InvalidInput, PerdureError, without_words
from perdure.recall.deadline import within
from perdure.recall.retrieval import Question, configured_profile, question, retrieve
from perdure.resources import Resources
from perdure.rules.gate import Candidate, is_rare, passes
from perdure.rules.trajectory import EARLIER_MESSAGES, trajectory
from perdure.store.database import SpaceTransaction
from perdure.store.queue import recent_pending
from perdure.store.ranking import Ranked
from perdure.store.spaces import SpaceRow, read_state
from perdure.text import is_elliptic, query_terms, says_something, truncate_chars
from perdure.types import Filters, Hit, PendingItem, Recall

PENDING_LOOKED_AT = 20
PENDING_SHOWN = 2

log = logging.getLogger("perdure.recall")


def read_history(history: Sequence[object]) -> list[tuple[str, str]]:
    """(role, text) of chat messages as hosts keep them; content may be a list of parts, of which text counts.

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
        messages.append((str(message.get("role", "")), content))
    return messages


async def prefetch(
    resources: Resources,
    find_space: Callable[[], Awaitable[SpaceRow | None]],
    message: str,
    history: Sequence[tuple[str, str]],
    *,
    audience: str | None,
    limit: int,
    deadline_s: float,
) -> Recall:
    """The memories to inject for one turn; never later than the deadline, and empty and flagged where something failed.

    The vector comes from the trajectory (the last three user messages and this one), words and entities from this
    message alone. Writes nothing; where `find_space` finds none, there is nothing to recall.
    """
    clock = resources.database.clock
    start = clock.monotonic()
    timings: dict[str, float] = {}
    part = "database"

    def lap(name: str, since: float) -> None:
        timings[name] = round((clock.monotonic() - since) * 1000, 2)

    async def turn() -> tuple[str, list[Hit], list[PendingItem]]:
        nonlocal part
        space = await find_space()
        if space is None:
            return "UTC", [], []
        part, since = "embedding", clock.monotonic()
        # Trajectory and latest message in one request: later consumers of this turn share the second vector.
        texts = list(dict.fromkeys([trajectory(history, message, cut=truncate_chars), message]))
        vectors = await resources.embedder.embed(texts, "query")
        noise = resources.noise.of(vectors[0]) if resources.settings.relevance_gate else None
        lap("embedding", since)
        part, since = "database", clock.monotonic()
        asked = question(message, vectors[0])
        remaining = deadline_s - (clock.monotonic() - start)
        hits, pending = await _look_up(
            resources,
            space,
            asked,
            audience=audience,
            limit=limit,
            noise=noise,
            telling=tells(history, message),
            timeout_s=max(remaining, 0.001),
        )
        lap("database", since)
        return space.time_zone, hits, pending

    time_zone = "UTC"
    hits: list[Hit] = []
    pending: list[PendingItem] = []
    degraded: tuple[str, ...] = ()
    try:
        time_zone, hits, pending = await within(deadline_s, turn())
    except TimeoutError:
        degraded = (f"{part}: no answer within {deadline_s:g} s",)
    except PerdureError as error:
        degraded = (f"{part}: {error.message}",)
    except Exception as error:
        # The reply must go on whatever happens here; the flag and the log say that something is wrong.
        log.error("recall failed in the %s: %s", part, without_words(error))  # noqa: TRY400 - tracebacks quote messages
        degraded = (f"{part}: {type(error).__name__}",)
    lap("total", start)
    tail = render_tail(hits, pending, time_zone)
    return Recall(message, tuple(hits), tuple(pending), PREFIX, tail, degraded, timings)


async def _look_up(
    resources: Resources,
    space: SpaceRow,
    asked: Question,
    *,
    audience: str | None,
    limit: int,
    noise: float | None,
    telling: bool,
    timeout_s: float,
) -> tuple[list[Hit], list[PendingItem]]:
    async def read(tx: SpaceTransaction) -> tuple[list[Hit], list[PendingItem]]:
        resources.require_family(space, await read_state(tx))
        hits, ranked = await retrieve(
            tx,
            resources,
            space,
            asked,
            audience=audience,
            filters=Filters(),
            limit=limit,
            profile=configured_profile(resources),
        )
        waiting = await recent_pending(tx, audience, PENDING_LOOKED_AT)
        if noise is not None:
            hits = [hit for hit in hits if _may_enter(hit, ranked, noise, telling=telling)]
        return hits, _matching(asked, waiting)

    return await resources.database.in_space(space.id, read, timeout_s=timeout_s)


def tells(history: Sequence[tuple[str, str]], message: str) -> bool:
    """Whether a turn asks for anything: by itself, or ("When is it?") by going on with what the user said before."""
    if says_something(message):
        return True
    if not is_elliptic(message):
        return False
    said = [text for role, text in history if role == "user" and text.strip() not in {"", message.strip()}]
    before = next((text for text in reversed(said[-EARLIER_MESSAGES:]) if not is_elliptic(text)), "")
    return says_something(before)


def _may_enter(hit: Hit, ranked: Ranked, noise: float, *, telling: bool) -> bool:
    rare = any(is_rare(ranked.document_frequencies.get(term, 0), ranked.memories) for term in hit.matched)
    cosine = next(row.similarity for row in ranked.rows if row.memory_id == hit.memory.id)
    candidate = Candidate(cosine, rare, hit.entity_match)
    return passes(candidate, says_something=telling, noise=noise)


def _matching(asked: Question, waiting: Sequence[Mapping[str, object]]) -> list[PendingItem]:
    """Exchanges that are not drained yet and share a word with the turn, newest first; never the turn itself."""
    if not says_something(asked.text):
        return []
    wanted = set(asked.terms)
    items: list[PendingItem] = []
    for row in waiting:
        payload = row["payload"]
        assert isinstance(payload, Mapping)
        text = str(payload["user"] or payload["assistant"])
        if text.strip() != asked.text.strip() and wanted & set(query_terms(text)):
            items.append(PendingItem(row["id"], row["speaker"], text, row["occurred_at"]))  # type: ignore[arg-type]
    return items[:PENDING_SHOWN]
