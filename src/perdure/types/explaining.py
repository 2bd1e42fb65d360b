"""Why a memory came, or why it did not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from perdure.types.ids import Id
from perdure.types.retrieval import Hit


@dataclass(frozen=True, slots=True)
class GateReading:
    """What the relevance gate sees of a memory for one turn.

    Attributes:
        cosine: of the memory to the turn.
        noise: what it has to exceed, the lower, the more the message asks and the more of its words the memory shares;
            None where no cosine decides: for small talk, and while nobody can tell what a cosine means.
        words: what of the message's words the memory has, normalised.
        share: how much of the message that is, 0..1; rare words count for more.
        name: an entity of the memory is named in the message.
        asks: False for small talk, which lets nothing pass.
        surplus: by how much the signals exceed what is needed; one is a spread of the cosines of unrelated texts.
    """

    cosine: float
    noise: float | None
    words: tuple[str, ...]
    share: float
    name: bool
    asks: bool
    surplus: float

    @property
    def passed(self) -> bool:
        """Whether the memory may be injected."""
        return self.surplus > 0


Fate = Literal[
    "returned",
    "not_there",
    "superseded",
    "hidden",
    "filtered",
    "not_a_candidate",
    "behind",
    "repeated",
    "below_the_gate",
    "over_budget",
    "failed",
]


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Where one memory fell out of a recall or a search, or that it didn't.

    Attributes:
        memory_id, query: what was asked about.
        fate: where it fell out; `not_there` is also what somebody else's memory is.
        detail: the same in a sentence, with what it rests on.
        hit: the memory with each term of the formula; None where it never came that far.
        place: where the formula puts it among the `visible` memories that could be returned, 1 being the first.
        limit: how many were asked for.
        arms: its place in what each arm of a large space looks for.
        ahead: the memories that were returned, and their scores.
        gate: what the relevance gate saw of it; only of a recall.
        superseded_by: what took its place, if this audience may see that.
        filters: the names of the filters that it doesn't fit.
    """

    memory_id: Id
    query: str
    fate: Fate
    detail: str
    hit: Hit | None = None
    place: int | None = None
    visible: int | None = None
    limit: int | None = None
    arms: Mapping[str, int] = field(default_factory=dict)
    ahead: tuple[tuple[Id, float], ...] = ()
    gate: GateReading | None = None
    superseded_by: Id | None = None
    filters: tuple[str, ...] = ()
