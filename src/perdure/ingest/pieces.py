"""What is too long for one question goes back into its queue in pieces, each a row of its own.

So every piece is asked about by itself, as many side by side as the model has slots, within the day's budget; what is
done stays done when a later one fails or the process is killed, and one that can't be answered holds up no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perdure.ingest.work import Ready
from perdure.store.database import SpaceTransaction
from perdure.store.queue import QueuedWork, enqueue
from perdure.types import Outcome, Pending


def in_pieces(work: QueuedWork, payloads: Sequence[Mapping[str, object]]) -> Ready:
    """Puts these in place of the row. They follow nothing: whose conversation they are of is for the payload to say."""

    async def write(tx: SpaceTransaction) -> Sequence[Outcome]:
        return [
            Pending(
                await enqueue(
                    tx,
                    work.queue,
                    work.kind,
                    {**payload, "operation_id": work.payload["operation_id"]},
                    audience=work.audience,
                    speaker=work.speaker,
                    occurred_at=work.occurred_at,
                    for_model=True,
                )
            )
            for payload in payloads
        ]

    return Ready(write)
