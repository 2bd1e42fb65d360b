"""What an erasure did to each table, counted where it is done."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Tally:
    """Rows per table: those that were removed, and those that stay and were rid of words or pointers."""

    removed: Counter[str] = field(default_factory=Counter)
    rewritten: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        self.removed.update(other.removed)
        self.rewritten.update(other.rewritten)

    @property
    def tables(self) -> frozenset[str]:
        """Tables in which something changed: their dead rows hold words until they are vacuumed."""
        return frozenset(name for counts in (self.removed, self.rewritten) for name, n in counts.items() if n)
