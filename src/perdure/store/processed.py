"""Which items of a source (mails, events, messages of an archive) are in already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.store.database import SpaceTransaction

FIND_PROCESSED: Final = """
    SELECT external_id FROM processed_items
    WHERE space_id = %(space_id)s AND source = %(source)s AND external_id = ANY(%(external_ids)s)
"""

MARK_PROCESSED: Final = """
    INSERT INTO processed_items (space_id, source, external_id, processed_at)
    SELECT %(space_id)s, %(source)s, t.external_id, %(now)s
    FROM unnest(%(external_ids)s::text[]) AS t (external_id)
    ON CONFLICT (space_id, source, external_id) DO NOTHING
"""


async def processed(tx: SpaceTransaction, source: str, external_ids: Sequence[str]) -> set[str]:
    """Which of these items of a source are in already."""
    params = {"source": source, "external_ids": list(external_ids)}
    return {row["external_id"] for row in await tx.fetch_all(FIND_PROCESSED, params)}


async def mark_processed(tx: SpaceTransaction, source: str, external_ids: Sequence[str]) -> None:
    """Marks items as in; called in the transaction that stores or enqueues them. The marks outlive erasure."""
    await tx.execute(MARK_PROCESSED, {"source": source, "external_ids": list(external_ids)})
