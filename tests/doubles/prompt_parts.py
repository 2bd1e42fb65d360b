"""Parts of a prompt for tests that need no database."""

from __future__ import annotations

from datetime import UTC, datetime

from perdure.context import Parts, Passage, PersonFacts, RecalledFact, Trait
from perdure.fact_types import Fact, FactId, FactKind, FactScope
from perdure.rules.identity import Line, Profile
from perdure.types import Hit, MemoryType, PendingItem, Recall, StoredMemory, Trust

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LINEAGE = 10_000


def fact(
    kind: FactKind,
    number: int,
    content: str,
    *,
    owner: str = "ada-id",
    pinned: bool = False,
    updated_at: datetime = NOON,
) -> Fact:
    scope = FactScope(kind, owner, LINEAGE)
    return Fact(FactId(kind, number), scope, content, (), (), None, pinned, NOON, updated_at, 1)


def server_fact(number: int, content: str, **other: object) -> Fact:
    return fact(FactKind.SERVER, number, content, **{"owner": "guild", **other})  # type: ignore[arg-type]


def personal_fact(number: int, content: str, **other: object) -> Fact:
    return fact(FactKind.PERSONAL, number, content, **other)  # type: ignore[arg-type]


def memory_hit(number: int, text: str, *, speaker: str | None = None) -> Hit:
    memory = StoredMemory(
        space="ada",
        id=number,
        summary=text,
        memory_type=MemoryType.GENERAL,
        salience=5,
        usefulness=0.5,
        confidence=1,
        retrieval_count=0,
        source="conversation",
        trust=Trust.USER,
        source_date=NOON,
        created_at=NOON,
        speaker=speaker,
    )
    return Hit(memory, -float(number), 0.5, {}, ("exact",))


def all_parts(text: str = "plain words") -> Parts:
    """One or two of everything, each saying `text`."""
    return Parts(
        instructions="Be kind.",
        identity=Profile({"name": Line(text, frozenset({1}))}),
        traits=[Trait("interest", text, text), Trait("goal", "run", text)],
        server=[server_fact(1, f"{{user}} {text}"), server_fact(2, "house rule", pinned=True)],
        people=[
            PersonFacts("ada-id", text or "Ada", (text, "Ady"), (personal_fact(3, f"{{user}} {text}"),)),
            PersonFacts("bob-id", "Bob"),
        ],
        recalled=[RecalledFact(personal_fact(4, text), text or "Ada"), RecalledFact(server_fact(5, text), None)],
        documents=[Passage(text, 1, text, 0.9, 2), Passage("b.pdf", 2, text, 0.6)],
        memories=[memory_hit(7, text, speaker=text or None), memory_hit(8, text)],
        pending=[PendingItem(9, text or None, text, NOON)],
        now=NOON,
        time_zone="Europe/Lisbon",
        bot="Momo",
    )


def recall_of(parts: Parts) -> Recall:
    return Recall("hello", tuple(parts.memories), tuple(parts.pending), "", "", (), {})
