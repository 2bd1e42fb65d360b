"""How a retrieved memory is shown to a person, and why it was chosen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from perdure.cli.printing import local
from perdure.text import terms

if TYPE_CHECKING:
    from perdure.cli.printing import Screen
    from perdure.types import Hit, StoredMemory


ARMS: Final = {
    "exact": "a look at every memory",
    "dense": "meaning",
    "text": "words",
    "entity": "names",
    "prior": "weight and age",
    "turns": "what was said beside it",
    "hop": "a name that another hit has, too",
    "history": "its history",
}
"""What brought a memory in front of the formula, in words."""
_WORD: Final = re.compile(r"[^\W_]+(?:['’+#.-]*[^\W_]+|[+#]+)*")
DATE_MARK: Final = "@"
"""Terms of dates begin with it; the word of the date stands beside them."""
_WORD_TERMS: Final = 2
"""Terms of one word at most. A run of a script without spaces has more: it isn't one word."""


def why(hit: Hit, query: str = "") -> str:
    """One short phrase: similarity, matched words as the query has them, and whether a name of it is in the memory."""
    reasons = []
    if hit.similarity > 0:
        reasons.append(f"meaning {hit.similarity:.2f}")
    if hit.matched:
        reasons.append(f"words {', '.join(_spelled(hit.matched, query))}")
    if hit.entity_match:
        reasons.append("a name")
    if hit.led_by is not None:
        reasons.append(f"{', '.join(hit.shared)} as in #{hit.led_by}")
    return " · ".join(reasons) or "weight and age alone"


def _spelled(matched: Sequence[str], query: str) -> list[str]:
    """The words of the query that have a matched term, then terms that no word of it stands for."""
    left = dict.fromkeys(matched)
    words: dict[str, None] = {}
    for word in _WORD.findall(query):
        found = terms(word)
        if len(found) <= _WORD_TERMS and not left.keys().isdisjoint(found):
            words[word] = None
    covered = {term for word in words for term in terms(word)}
    rest = [term for term in left if term not in covered and not term.startswith(DATE_MARK)]
    # A character of Chinese inside a matched pair says nothing new.
    return [*words, *(term for term in rest if not any(other != term and term in other for other in rest))]


def head(memory: StoredMemory) -> str:
    """Date, speaker and what kind of memory it is."""
    kind = "" if memory.memory_type == "general" else str(memory.memory_type)
    return "  ".join(filter(None, (local(memory.source_date), memory.speaker, kind, *(f"+{t}" for t in memory.tags))))


def show_hit(screen: Screen, hit: Hit, query: str, *, explain: bool) -> None:
    """Three lines: what it is, what it says, why it was chosen; with `explain` each term of the formula."""
    screen.line((f"#{hit.memory.id}", "bold cyan"), "  ", (head(hit.memory), "cyan"))
    for line in hit.memory.summary.split("\n"):
        screen.line(line, indent=3)
    screen.line((f"{why(hit, query)} · score {hit.score:.3f}", "dim"), indent=3)
    if explain:
        screen.line((f"found by {', '.join(ARMS.get(arm, arm) for arm in hit.arms)}", "dim"), indent=3)
        for name, value in hit.terms.items():
            screen.line((f"{name:<14}{value:+.4f}", "dim"), indent=5)
        screen.line(
            ("The score is their sum with its sign turned: the higher, the better, also below 0.", "dim"), indent=3
        )
