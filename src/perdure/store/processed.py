"""Which items of a source (mails, events, messages of an archive) are in already, and what they said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.store.database import SpaceTransaction

FIND_PROCESSED: Final = """
    SELECT external_id, contents FROM processed_items
    WHERE space_id = %(space_id)s AND audience = %(audience)s AND source = %(source)s
      AND external_id = ANY(%(external_ids)s)
"""

MARK_PROCESSED: Final = """
    INSERT INTO processed_items (space_id, audience, source, external_id, contents, processed_at)
    SELECT %(space_id)s, %(audience)s, %(source)s, t.external_id,
           coalesce(array_agg(DISTINCT t.content) FILTER (WHERE t.content IS NOT NULL), '{}'), %(now)s
    FROM unnest(%(external_ids)s::text[], %(contents)s::bytea[]) AS t (external_id, content)
    GROUP BY t.external_id
    ON CONFLICT (space_id, audience, source, external_id)
    DO UPDATE SET contents = array_cat(processed_items.contents, excluded.contents)
"""


async def processed(
    tx: SpaceTransaction, source: str, external_ids: Sequence[str], audience: str | None
) -> dict[str, frozenset[bytes]]:
    """Which of these items of a source are in for this audience, each with the digests of what it said.

    No digests: whatever it says, it is in.
    """
    params = {"source": source, "external_ids": list(external_ids), "audience": audience or ""}
    rows = await tx.fetch_all(FIND_PROCESSED, params)
    return {row["external_id"]: frozenset(map(bytes, row["contents"])) for row in rows}


async def mark_processed(
    tx: SpaceTransaction,
    source: str,
    external_ids: Sequence[str],
    audience: str | None,
    contents: Sequence[bytes] | None = None,
) -> None:
    """Marks items as in; called in the transaction that stores or enqueues them. The marks outlive erasure.

    `contents` are digests of what each of them says, where that may change under one id.
    """
    digests = [None] * len(external_ids) if contents is None else list(contents)
    params = {"source": source, "external_ids": list(external_ids), "audience": audience or "", "contents": digests}
    await tx.execute(MARK_PROCESSED, params)
