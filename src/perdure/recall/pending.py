"""Exchanges that were captured and not drained yet: those that share words with the turn are shown beside memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log
from typing import Final

from perdure.clock import Clock
from perdure.recall.retrieval import Question
from perdure.store.database import SpaceTransaction
from perdure.store.pending import MATCHED_CHARS, WaitingExchange, pending_page, rested_on
from perdure.store.spaces import read_state
from perdure.text import fold, mask, query_terms, says_something
from perdure.types import Filters, PendingItem

SHOWN: Final = 2
PAGE: Final = 200
LOOKED_AT: Final = 2_000
"""Exchanges at most; more of them wait only while no worker runs."""

LOOKING_S: Final = 0.2
"""After this long no further page is read: a tenth of the deadline."""

HISTORY: Final = 50
"""Messages of the host's history in which an exchange is looked for, the latest."""

SOURCE: Final = "conversation"
"""What an exchange will have as its source."""

Match = tuple[WaitingExchange, frozenset[str]]
"""An exchange, and the terms that it shares with the turn."""

_KNOWN_START: Final = 3
_ENDING: Final = 2


async def waiting_exchanges(
    tx: SpaceTransaction,
    asked: Question,
    history: Sequence[str],
    *,
    audience: str | None,
    filters: Filters,
    clock: Clock,
) -> list[WaitingExchange]:
    """The exchanges that have most in common with the turn by shared words, rare ones among them counting most.

    Never the turn itself, nor what stands in the `history` that the host has anyway. An exchange has no tags, no
    metadata, no type and no judged source: a filter for one of these leaves all of them out.
    """
    told_apart = filters.tags or filters.metadata or filters.memory_type or filters.source not in {None, SOURCE}
    if told_apart or not says_something(asked.text):
        return []
    state = await read_state(tx)
    if state is not None and not state.waiting:
        return []
    started = clock.monotonic()
    looked_at = 0
    before: int | None = None
    found: list[Match] = []
    while looked_at < LOOKED_AT and clock.monotonic() - started < LOOKING_S:
        page = await pending_page(tx, audience, filters, before=before, limit=PAGE)
        said_by = [one for one in page if filters.speaker in {None, fold(one.speaker or "").strip()}]
        found += [(exchange, shared) for exchange in said_by if (shared := _shared(asked.terms, exchange.said))]
        looked_at += len(page)
        if len(page) < PAGE:
            break
        before = page[-1].id
    return _best(_not_known(found, asked.text, history), looked_at)


async def without_held(
    tx: SpaceTransaction, waiting: Sequence[WaitingExchange], memory_ids: Sequence[int]
) -> list[PendingItem]:
    """The exchanges as they are shown, without those that were drained meanwhile into one of these memories."""
    operations = [exchange.operation_id for exchange in waiting if exchange.operation_id]
    held = await rested_on(tx, memory_ids, operations) if operations and memory_ids else set()
    return [
        PendingItem(exchange.id, exchange.speaker, exchange.said, exchange.occurred_at)
        for exchange in waiting
        if exchange.operation_id not in held
    ]


def _not_known(found: Sequence[Match], message: str, history: Sequence[str]) -> list[Match]:
    if not found:
        return []
    # What was captured was masked; a host's history may hold secrets, and then its exchange is shown all the same.
    known = {_plain(text) for text in (message, mask(message).text, *history[-HISTORY:])}
    return [one for one in found if _plain(one[0].said) not in known]


def _best(found: Sequence[Match], looked_at: int) -> list[WaitingExchange]:
    """Those that share most; of equal ones the newest."""
    seen = Counter(term for _, shared in found for term in shared)

    def weight(shared: frozenset[str]) -> float:
        return sum(log(1 + looked_at / seen[term]) for term in shared)

    return [exchange for exchange, _ in sorted(found, key=lambda one: (-weight(one[1]), -one[0].id))[:SHOWN]]


def _shared(wanted: Sequence[str], text: str) -> frozenset[str]:
    """The terms that both have. Whole texts are taken apart only where a word could be in them."""
    folded = fold(text)
    if not any(_start(term) in folded for term in wanted):
        return frozenset()
    return frozenset(wanted) & frozenset(query_terms(text))


def _start(term: str) -> str:
    """What a text that has a term surely contains: a stem may end otherwise than the words it stands for."""
    return term[: max(_KNOWN_START, len(term) - _ENDING)]


def _plain(text: str) -> str:
    return " ".join(fold(text[:MATCHED_CHARS]).split())
