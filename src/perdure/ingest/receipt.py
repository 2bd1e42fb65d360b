"""What an erasure will remove, and what it has removed: counts and ids, none of the words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perdure.rules.fact_ids import FactId
from perdure.store.vacuum import Remains
from perdure.types import Id


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an erasure removed. None of the words are kept anywhere.

    Attributes:
        ids: the memories that went, all chunks and conclusions included.
        removed: rows that went, by table. rewritten: rows that stay, and were rid of words or pointers, by table.
        again: memories that bore out a conclusion that went with others; the next cognitive run looks at them again.
        facts: those that went with a person.
        remains: what may still be on disks, and until when.

    What the handle's audience may not see is erased where it has to be, and neither named nor counted.
    """

    ids: tuple[Id, ...]
    removed: Mapping[str, int] = field(default_factory=dict)
    rewritten: Mapping[str, int] = field(default_factory=dict)
    again: tuple[Id, ...] = ()
    facts: tuple[FactId, ...] = ()
    remains: Remains | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What an erasure would remove, read without changing anything.

    Attributes:
        ids: memories that would go. concluded: those of them that are conclusions from others.
        removed: rows that would go, by table. What quotes the forgotten words elsewhere is only found on the way.
        facts: those that would go.
        names: of a person, the names by which what they said is known. shared: names that others bear, too: what was
            said under them is left alone.
        named_in: of a person, memories in which others name them; they stay. At most 100.
        sources: where nothing would go, the sources there are.
    """

    ids: tuple[Id, ...] = ()
    concluded: tuple[Id, ...] = ()
    removed: Mapping[str, int] = field(default_factory=dict)
    facts: tuple[FactId, ...] = ()
    names: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    named_in: tuple[Id, ...] = ()
    sources: tuple[str, ...] = ()
