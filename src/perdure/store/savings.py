"""What prompts cost and what was spared them: sums over the samples of turns, which hold numbers and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.store.database import SpaceTransaction
from perdure.store.metric_samples import record_sample

PROMPT: Final = "prompt"
"""The metric of a prompt's own sample."""
MEMORY_RECALL: Final = "memory_recall"
"""The metric of the facts of a turn (mission)."""

READ_SAVINGS: Final = """
    SELECT count(*) FILTER (WHERE s.metric = %(prompt)s) AS prompts,
        count(*) FILTER (WHERE s.metric = %(recall)s) AS turns,
        coalesce(sum((s.numbers->>'prefix_tokens')::bigint), 0)::bigint AS prefix_tokens,
        coalesce(sum((s.numbers->>'reused_tokens')::bigint), 0)::bigint AS reused_tokens,
        coalesce(sum((s.numbers->>'tail_tokens')::bigint), 0)::bigint AS tail_tokens,
        coalesce(sum((s.numbers->>'dormant_tokens')::bigint), 0)::bigint AS dormant_tokens,
        coalesce(sum((s.numbers->>'recalled_tokens')::bigint), 0)::bigint AS recalled_tokens,
        coalesce(sum((s.numbers->>'query_tokens')::bigint), 0)::bigint AS query_tokens,
        coalesce(sum((s.numbers->>'fill_tokens')::bigint), 0)::bigint AS fill_tokens,
        coalesce(sum((s.numbers->>'recalled_count')::bigint), 0)::bigint AS recalled,
        coalesce(sum((s.numbers->>'quick_return_count')::bigint), 0)::bigint AS quick_returns
    FROM metric_samples s
    WHERE s.space_id = %(space_id)s AND s.metric = ANY(%(metrics)s) AND s.sampled_at >= %(since)s
"""


@dataclass(frozen=True, slots=True)
class Savings:
    """What prompts cost, and what dormancy and a stable prefix spared them; tokens are estimates.

    Attributes:
        prompts: prompts that a reply followed. turns: those of them in which facts were looked at.
        prefix_tokens: of their prefixes; reused_tokens: how much of that was the same as in the prompt before, in the
            same conversation and process. tail_tokens: of what changes with every turn.
        dormant_tokens: of facts that were left out. recalled_tokens: of those that came back for a turn.
        query_tokens, fill_tokens: what was embedded for that.
        recalled: facts that came back. quick_returns: those that had been dormant for a week at most.
    """

    prompts: int = 0
    turns: int = 0
    prefix_tokens: int = 0
    reused_tokens: int = 0
    tail_tokens: int = 0
    dormant_tokens: int = 0
    recalled_tokens: int = 0
    query_tokens: int = 0
    fill_tokens: int = 0
    recalled: int = 0
    quick_returns: int = 0

    @property
    def saved_tokens(self) -> int:
        """Tokens that dormancy spared the prompts, less those that came back; below 0 where it cost some."""
        return self.dormant_tokens - self.recalled_tokens

    @property
    def embedding_tokens(self) -> int:
        """What that took in embedding."""
        return self.query_tokens + self.fill_tokens

    @property
    def thrash_ratio(self) -> float | None:
        """How many of the facts that came back had hardly been dormant, 0..1; None where none came back.

        A high one says that facts change between stages for nothing, and seven days are too few.
        """
        return self.quick_returns / self.recalled if self.recalled else None


async def record_prompt(tx: SpaceTransaction, *, prefix_tokens: int, reused_tokens: int, tail_tokens: int) -> None:
    """Keeps what one prompt cost."""
    numbers = {"prefix_tokens": prefix_tokens, "reused_tokens": reused_tokens, "tail_tokens": tail_tokens}
    await record_sample(tx, PROMPT, "built", numbers)


async def read_savings(tx: SpaceTransaction, since: datetime) -> Savings:
    """The sums over all samples since then."""
    params = {"prompt": PROMPT, "recall": MEMORY_RECALL, "metrics": [PROMPT, MEMORY_RECALL], "since": since}
    row = await tx.fetch_one(READ_SAVINGS, params)
    assert row is not None
    return Savings(**row)
