"""Reflection: what many memories show together that none of them says; it never poses as anybody's words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from typing import Final

from perdure.cognition.conclusion import Conclusion, Thinking, Written, evidence_of, prepared, store
from perdure.cognition.showing import line, shown
from perdure.ingest import Draft
from perdure.llm import render
from perdure.llm.conclusions import MOST_SHOWN, Insight, Reflected
from perdure.rules.triggers import reflection_due
from perdure.store.changes import relate
from perdure.store.cognition import Layer, set_reflected
from perdure.store.database import SpaceTransaction
from perdure.store.memories import read_rows
from perdure.store.queue import Queue, enqueue
from perdure.store.thoughts import ToReflect, to_reflect
from perdure.text import mask
from perdure.types import MemoryType, StoredMemory, Trust

REFLECTION: Final[Layer] = "reflection"
SALIENCE: Final = 9.0
"""Of a reflection (mission: 9)."""
TOKENS: Final = 12_000
"""Tokens of the memories of one question, by our own estimate."""
SECTIONS: Final = (
    ("PATTERNS", "patterns"),
    ("EVOLVING INTERESTS", "evolving_interests"),
    ("CONNECTIONS", "connections"),
    ("PREDICTIONS", "predictions"),
)
"""The mission's headings, and the keys of the answer."""


async def reflect(thinking: Thinking) -> AsyncIterator[Conclusion]:
    """One conclusion, once fifty memories have come in since the last one."""
    news, memories = await thinking.read(lambda tx: _read(tx, thinking))
    if not reflection_due(new=news.in_all, in_all=len(memories)):
        return
    await thinking.before_asking(REFLECTION)
    yield await _conclude(thinking, memories, news.newest)


async def _read(tx: SpaceTransaction, thinking: Thinking) -> tuple[ToReflect, list[StoredMemory]]:
    news = await to_reflect(tx, thinking.state.reflected, MOST_SHOWN)
    rows = await read_rows(tx, thinking.space.name, news.ids)
    memories = shown([rows[each].memory for each in news.ids if each in rows], TOKENS)
    return news, sorted(memories, key=lambda memory: (*_group(memory), memory.source_date, memory.id))


async def _conclude(thinking: Thinking, memories: Sequence[StoredMemory], newest: int) -> Conclusion:
    prompt = render(REFLECTION, now=thinking.began_at.isoformat(), memories=_grouped(memories))
    answer = await thinking.resources.models.ask(REFLECTION, prompt, Reflected, ledger=thinking.ledger)
    sections: list[str] = []
    cited: dict[int, StoredMemory] = {}
    for heading, key in SECTIONS:
        bullets: list[str] = []
        for insight in getattr(answer.value, key):
            rests_on = _cited(insight, memories)
            if rests_on:
                cited |= rests_on
                named = ", ".join(f"#{memory_id}" for memory_id in rests_on)
                bullets.append(f"- {mask(insight.text).text} [{named}]")
        if bullets:
            sections.append("\n".join([heading, *bullets]))
    told = f"{len(memories)} memories read; {len(cited)} cited"

    async def seen(tx: SpaceTransaction, _: int) -> Written:
        await set_reflected(tx, newest)
        return Written(concluded=False)

    if not sections:
        return Conclusion(REFLECTION, told, (), answer.made_by, {}, seen)
    draft = Draft(
        text="\n\n".join(sections),
        source="reflection",
        trust=Trust.DERIVED,
        source_date=thinking.began_at,
        memory_type=MemoryType.REFLECTION,
        salience=SALIENCE,
        tags=("reflection",),
        evidence=evidence_of(list(cited.values())),
        made_by=answer.made_by,
    )
    text = await prepared(thinking, draft)

    async def write(tx: SpaceTransaction, _: int) -> Written:
        made = await store(tx, thinking.resources, thinking.space, text)
        await relate(tx, made, list(cited))
        await set_reflected(tx, newest)
        if thinking.resources.models.can("entities"):
            await enqueue(
                tx,
                Queue.FOLLOWUP,
                "entities",
                {"ids": list(made)},
                audience=None,
                speaker=None,
                occurred_at=draft.source_date,
            )
        return Written(made)

    return Conclusion(REFLECTION, told, tuple(cited.values()), answer.made_by, {}, write)


def _group(memory: StoredMemory) -> tuple[str, str]:
    return memory.source, str(memory.memory_type)


def _grouped(memories: Sequence[StoredMemory]) -> str:
    """Memories under the numbers by which an answer cites them, grouped by source and type."""
    lines: list[str] = []
    number = 0
    for (source, kind), members in groupby(memories, _group):
        lines.append(f"({source}, {kind})")
        for memory in members:
            number += 1
            lines.append(f"[{number}] {line(memory)}")
    return "\n".join(lines)


def _cited(insight: Insight, memories: Sequence[StoredMemory]) -> dict[int, StoredMemory]:
    """The memories that an insight names, by id; numbers that stand for none are dropped."""
    found = [memories[number - 1] for number in insight.rests_on if number <= len(memories)]
    return {memory.id: memory for memory in found}
