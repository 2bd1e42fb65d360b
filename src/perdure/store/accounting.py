"""What a scored turn counts: winners are reinforced, losers age, in statements that guard each row by what it is now.

Nothing is read and written back: the guards look at the locked row, so that however many turns, personas and processes
count at once, a row ages by one day a day at most, and a win stands whichever commit comes first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from perdure.fact_types import FactId, FactKind, FactScope
from perdure.store.database import SpaceTransaction
from perdure.store.fact_tables import of_kind

# Rows are held in the order of their ids, so that two who count the same scope never wait for each other. What has left
# the turn's reach since the prompt was built (moved, hidden, deleted, without its vector) is not held and not counted.
# After a wait for somebody else's change, `m` is the row as it is now, all else as it was when the statement began: the
# vector that is seen then belongs to the row only if its revision is still the same.
RECORD_RECALL_DAY: Final = """
    WITH held AS MATERIALIZED (
        SELECT m.id, m.decay_days AS before, m.id = ANY(%(winners)s::bigint[]) AS won
        FROM {facts} m
        WHERE m.space_id = %(space_id)s AND m.id = ANY(%(ids)s::bigint[])
          AND m.{owner} = ANY(%(owners)s::text[]) AND m.persona_lineage_id = ANY(%(lineages)s::bigint[])
          AND (m.channel_ids = '{{}}' OR %(channel_id)s::text = ANY(m.channel_ids))
          AND CASE WHEN m.id = ANY(%(winners)s::bigint[])
              THEN m.decay_days > 0 OR m.last_counted_day IS NULL OR m.last_counted_day < %(day)s::date
              ELSE NOT m.pinned AND (m.last_counted_day IS NULL OR m.last_counted_day < %(day)s::date)
                  AND EXISTS (
                      SELECT 1 FROM {fact_vectors} v
                      JOIN {facts} o ON o.space_id = %(space_id)s AND o.id = v.memory_id AND o.revision = m.revision
                      WHERE v.space_id = %(space_id)s AND v.memory_id = m.id AND v.family_id = %(family_id)s)
              END
          AND NOT (%(of_people)s AND (
              EXISTS (
                  SELECT 1 FROM people p
                  WHERE p.space_id = %(space_id)s AND p.user_id = m.{owner}
                    AND (p.privacy_level = 'full'
                         OR (m.persona_lineage_id <> 0 AND (p.privacy_level <> 'minimal' OR NOT p.consents))))
              OR EXISTS (
                  SELECT 1 FROM server_people s
                  WHERE s.space_id = %(space_id)s AND s.server_id = %(server_id)s AND s.user_id = m.{owner}
                    AND NOT s.personalised)))
        ORDER BY m.id
        FOR NO KEY UPDATE OF m
    )
    UPDATE {facts} m
    SET decay_days = CASE WHEN h.won THEN 0 ELSE m.decay_days + 1 END,
        last_counted_day = greatest(coalesce(m.last_counted_day, %(day)s::date), %(day)s::date)
    FROM held h
    WHERE m.space_id = %(space_id)s AND m.id = h.id
    RETURNING m.id, h.before, h.won
"""


@dataclass(frozen=True, slots=True)
class Scored:
    """What is to be counted of a turn: all that was scored, winners among them, and where the turn took place.

    `server_id` and `channel_id` are empty or None outside of servers. `scopes` are all that the turn looks into.
    """

    family_id: int
    scored: Collection[FactId]
    winners: Collection[FactId]
    scopes: Sequence[FactScope]
    server_id: str | None = None
    channel_id: str | None = None


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted: how many facts aged, and of each that was reset the days it had been at, by this commit."""

    aged: int
    reset: dict[FactId, int]


async def record_recall_day(tx: SpaceTransaction, turn: Scored, day: date) -> Counted:
    """Counts one scored turn on a day (UTC): winners are at 0 days again, losers age by one, once a day."""
    aged = 0
    reset: dict[FactId, int] = {}
    for kind in FactKind:
        scopes = [scope for scope in turn.scopes if scope.kind is kind]
        ids = sorted(fact.number for fact in turn.scored if fact.kind is kind)
        if not ids or not scopes:
            continue
        params = {
            "ids": ids,
            "winners": [fact.number for fact in turn.winners if fact.kind is kind],
            "owners": sorted({scope.owner for scope in scopes}),
            "lineages": sorted({scope.lineage for scope in scopes}),
            "channel_id": turn.channel_id,
            "server_id": turn.server_id,
            "family_id": turn.family_id,
            "of_people": kind is FactKind.PERSONAL,
            "day": day,
        }
        for row in await tx.fetch_all(of_kind(RECORD_RECALL_DAY, kind), params):
            if row["won"]:
                reset[FactId(kind, row["id"])] = row["before"]
            else:
                aged += 1
    return Counted(aged, reset)
