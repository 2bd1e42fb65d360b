"""The prompt of a turn as a client has it: all of it but what only the server's process holds."""

from __future__ import annotations

from dataclasses import dataclass

from perdure.context import LAYOUTS, Context, ContextReport
from perdure.fact_types import FactId
from perdure.types import Recall
from perdure.wire import Prompt


@dataclass(frozen=True, slots=True, eq=False)
class RemoteContext(Context):
    """A `Context` that a server made. `context_id` is its name there, for an hour, so that `capture` finds its facts.

    `winners` are the facts that were recalled for this turn.
    """

    context_id: str = ""
    winners: tuple[FactId, ...] = ()

    @classmethod
    def nothing(cls, recall: Recall) -> RemoteContext:
        """The prompt of a turn whose server is away."""
        report = ContextReport(None, 0, 0, 0)
        return cls(recall.query, (), "", "", LAYOUTS["native"], recall, None, report, recall.degraded)


def remote_context(prompt: Prompt) -> RemoteContext:
    """A prompt as it came over the wire."""
    return RemoteContext(
        prompt.query,
        prompt.blocks,
        prompt.prefix,
        prompt.tail,
        prompt.layout,
        prompt.recall,
        None,
        prompt.report,
        prompt.degraded,
        prompt.timings_ms,
        prompt.memory_intent,
        prompt.tools,
        prompt.real,
        prompt.context_id,
        prompt.winners,
    )
