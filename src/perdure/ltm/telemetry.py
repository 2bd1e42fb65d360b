"""Telemetry: what the facts of one turn did, in numbers alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from perdure.ltm.scoring import RecallOutcome
from perdure.observing import Sampled, observe
from perdure.store.database import SpaceTransaction
from perdure.store.metric_samples import record_sample
from perdure.store.savings import MEMORY_RECALL


@dataclass(frozen=True, slots=True)
class RecallSample:
    """One `memory_recall` sample (mission); `outcome` in the order in which it is looked at.

    Attributes:
        total_ms: of recall and of what was written down after it. embedding_ms: of the wait for the query's vector.
        candidate_count: facts that may be used in the turn. scored_count: those with a vector of the family.
        reinforced_count: winners. recalled_count: dormant winners.
        quick_return_count: recalled facts that this turn's commit found 7 to 14 days old.
        dormant_tokens, recalled_tokens, query_tokens, fill_tokens: estimates, a quarter of the characters.
        filled_count: vectors that were stored. persistence_failed: 0, or 1 where counting or filling failed.
    """

    outcome: RecallOutcome
    total_ms: float
    candidate_count: int
    scored_count: int = 0
    reinforced_count: int = 0
    recalled_count: int = 0
    quick_return_count: int = 0
    dormant_tokens: int = 0
    recalled_tokens: int = 0
    query_tokens: int = 0
    fill_tokens: int = 0
    filled_count: int = 0
    persistence_failed: int = 0
    embedding_ms: float | None = None


async def record(tx: SpaceTransaction, sample: RecallSample) -> None:
    """Keeps a sample; what was not measured is not in it."""
    numbers = {name: value for name, value in asdict(sample).items() if name != "outcome" and value is not None}
    await record_sample(tx, MEMORY_RECALL, sample.outcome.value, numbers)
    observe(Sampled(sample.outcome.value, numbers))
