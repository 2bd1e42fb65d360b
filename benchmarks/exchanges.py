"""Made-up exchanges: facts that resemble each other, so that each is compared with those before it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, LiteralString

import psycopg
from psycopg.rows import dict_row

from perdure.ingest import enqueue_exchange, read_exchange
from perdure.store.spaces import create_space
from perdure.types import Nothing

if TYPE_CHECKING:
    from perdure.ingest import Exchange
    from perdure.store.database import Database, SpaceTransaction
    from perdure.store.embedded import ServerUrls
    from perdure.store.spaces import SpaceRow

PER_CONVERSATION: Final = 25
IN_ONE_TRANSACTION: Final = 100
SAID_AT: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
_NAMES: Final = ("Ada", "Benjamín", "Chiara", "Dmitri", "Elif", "Farid", "Greta", "Hiro", "Ines", "Jonas", "Kofi")
_CITIES: Final = ("Boston", "Denver", "Lisbon", "Graz", "Osaka", "Leeds", "Turin", "Bergen", "Quito", "Perth", "Pune")
_THINGS: Final = ("a piano", "two bicycles", "her books", "an old desk", "the garden chairs", "a canoe", "nine plants")

COUNT_PENDING: Final = """
    SELECT (SELECT count(*) FROM pending_triage) + (SELECT count(*) FROM pending_followups) AS pending
"""

# What each exchange left: the texts that name its operation in their evidence, live or not.
COUNT_LEFT: Final = """
    SELECT left_by.texts, count(*) AS exchanges
    FROM operations o
    CROSS JOIN LATERAL (
        SELECT count(DISTINCT coalesce(m.chunk_of, m.id)) AS texts
        FROM memory_evidence e
        JOIN memories m ON m.space_id = e.space_id AND m.id = e.memory_id
        WHERE e.space_id = o.space_id AND e.external_id = o.operation_id AND e.kind = 'exchange'
    ) left_by
    GROUP BY left_by.texts
"""

COUNT_STORED: Final = """
    SELECT (SELECT count(*) FROM memories WHERE chunk_of IS NULL) AS texts,
           (SELECT count(*) FROM failed_operations) AS failed,
           (SELECT coalesce(sum(calls), 0)::bigint FROM model_usage) AS calls
"""


def exchange(number: int) -> Exchange:
    """Exchange `number`; no two have the same words on either side."""
    name, city = _NAMES[number % len(_NAMES)], _CITIES[number // 7 % len(_CITIES)]
    thing = _THINGS[number // 3 % len(_THINGS)]
    found = read_exchange(
        user=f"My friend {name} moved to {city} with {thing} and lives in flat {number} near the river now.",
        assistant=f"Noted: {name}, {city}, flat {number}. Shall I add the new address to your list?",
        tools=(),
        speaker="Sam",
        audience=None,
        conversation_id=f"conversation {number // PER_CONVERSATION}",
        occurred_at=SAID_AT,
        recalled_ids=(),
    )
    assert not isinstance(found, Nothing)
    return found


async def make_space(database: Database, name: str) -> SpaceRow:
    return await database.across(lambda tx: create_space(tx, name))


async def enqueue(database: Database, space_id: int, numbers: Iterable[int]) -> None:
    """Puts the exchanges of these numbers into the queue of a space, as capture does, many in a transaction."""
    waiting = list(numbers)
    for start in range(0, len(waiting), IN_ONE_TRANSACTION):

        async def write(tx: SpaceTransaction, batch: list[int] = waiting[start : start + IN_ONE_TRANSACTION]) -> None:
            for number in batch:
                await enqueue_exchange(tx, exchange(number), f"exchange {number}")

        await database.in_space(space_id, write)


def read(urls: ServerUrls, statement: LiteralString) -> list[dict[str, Any]]:
    """Rows over all spaces, as the owner sees them."""
    with psycopg.connect(urls.owner, autocommit=True, row_factory=dict_row) as owner:
        return owner.execute(statement).fetchall()


def pending(urls: ServerUrls) -> int:
    """Exchanges and follow-up questions that still wait, in all spaces."""
    return int(read(urls, COUNT_PENDING)[0]["pending"])
