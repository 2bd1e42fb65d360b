"""How a retrieved memory is shown to a person, and why it was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perdure.cli.printing import local

if TYPE_CHECKING:
    from perdure.cli.printing import Screen
    from perdure.types import Hit, StoredMemory


def why(hit: Hit) -> str:
    """One short phrase: similarity, matched words, and whether a name of the question is in the memory."""
    reasons = []
    if hit.similarity > 0:
        reasons.append(f"meaning {hit.similarity:.2f}")
    if hit.matched:
        reasons.append(f"words {', '.join(_spelled(hit.matched))}")
    if hit.entity_match:
        reasons.append("a name")
    return " · ".join(reasons) or "its standing alone"


def _spelled(terms: Sequence[str]) -> list[str]:
    """Words are matched as written and by their stem; where both stand there, the stem says nothing new."""
    return [term for term in terms if not any(other != term and other.startswith(term) for other in terms)]


def head(memory: StoredMemory) -> str:
    """Date, speaker and what kind of memory it is."""
    kind = "" if memory.memory_type == "general" else str(memory.memory_type)
    return "  ".join(filter(None, (local(memory.source_date), memory.speaker, kind, *(f"+{t}" for t in memory.tags))))


def show_hit(screen: Screen, hit: Hit, *, explain: bool) -> None:
    """Three lines: what it is, what it says, why it was chosen; with `explain` each term of the formula."""
    screen.line((f"#{hit.memory.id}", "bold cyan"), "  ", (head(hit.memory), "cyan"))
    for line in hit.memory.summary.split("\n"):
        screen.line(line, indent=3)
    screen.line((f"{why(hit)} · score {hit.score:.3f}", "dim"), indent=3)
    if explain:
        screen.line((f"found by {', '.join(hit.arms)}", "dim"), indent=3)
        for name, value in hit.terms.items():
            screen.line((f"{name:<14}{value:+.4f}", "dim"), indent=5)
