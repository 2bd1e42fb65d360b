"""What somebody who wants a prompt asks for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from perdure import recall
from perdure.context import Layout
from perdure.fact_types import TurnState


@dataclass(frozen=True, slots=True)
class Asked:
    """What a prompt is asked for, in the space of this name.

    `turn` says what is recalled, `state` who takes part where. `real`: a reply follows; a look leaves no trace.
    `introduces`: participants are named although nothing is known of them. `tools` are the host's own.
    """

    space: str
    turn: recall.Turn
    state: TurnState
    layout: Layout
    instructions: str = ""
    budget: int | None = None
    deadline_s: float = 2.0
    real: bool = True
    introduces: bool = True
    tools: tuple[Mapping[str, object], ...] = ()

    @property
    def conversation(self) -> Hashable:
        """Whose prefix a model's server may still hold."""
        state = self.state
        lineage = state.persona.lineage if state.persona else 0
        place = (state.server_id, state.channel_id, lineage)
        return (self.space, self.turn.audience, *place, self.layout.name)
