"""Consolidation: weighty memories change who the user is: the identity card, traits, and what says the same twice."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.cognition.conclusion import Conclusion, Thinking, Written, evidence_of, prepared, store
from perdure.cognition.identity import Identity, prepare_version, read_identity, write_version
from perdure.cognition.showing import numbered, shown
from perdure.ingest import MERGED, Draft, masked_labels
from perdure.llm import render
from perdure.llm.conclusions import Consolidated, Merge
from perdure.rules.identity import Profile, Update, Weight, card, updated
from perdure.rules.verdicts import TRUST_RANK
from perdure.store.changes import relate, supersede
from perdure.store.cognition import Layer, set_marks
from perdure.store.database import SpaceTransaction
from perdure.store.memories import MemoryRow, NewText, read_rows, siblings
from perdure.store.thoughts import mark_of, set_successor, to_consolidate
from perdure.store.traits import NewTrait, TraitRow, end_trait, list_traits, set_trait
from perdure.text import fold, has_letter_or_digit, mask
from perdure.types import MemoryType, StoredMemory, Trust

CONSOLIDATION: Final[Layer] = "consolidation"
WEIGHTY: Final = 8.0
"""Least salience of what is consolidated (mission: 8; by the tool and in a cognitive run)."""
WEIGHTY_AT_START: Final = 5.0
"""The same when a worker starts (mission: 5)."""
MOST: Final = 50
"""Memories of one question (spec: 50), less where their words are many …"""
MOST_AFTER_SHIFT: Final = 10
"""… and after an upheaval (spec: 10)."""
TOKENS: Final = 6000
"""Tokens of the memories of one question, by our own estimate."""
QUESTIONS: Final = 20
"""Questions of one run; what is left then waits for the next."""
LEAST_MERGED: Final = 2
_NUMBERS: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Material:
    """What one question is about: the card and traits as they are, and memories that are not in them yet."""

    identity: Identity
    traits: tuple[TraitRow, ...]
    memories: tuple[StoredMemory, ...]
    rests_on: Mapping[int, StoredMemory]
    """Memories that card and traits rest on so far, as far as they are left."""


async def consolidate(thinking: Thinking) -> AsyncIterator[Conclusion]:
    """One conclusion for each fifty memories that are not on the card at their present words."""
    for _ in range(1 if thinking.trigger == "shift" else QUESTIONS):
        material = await thinking.read(lambda tx: _read(tx, thinking))
        if not material.memories:
            return
        await thinking.before_asking(CONSOLIDATION)
        yield await _conclude(thinking, material)


async def _read(tx: SpaceTransaction, thinking: Thinking) -> Material:
    least = WEIGHTY_AT_START if thinking.trigger == "start" else WEIGHTY
    most = MOST_AFTER_SHIFT if thinking.trigger == "shift" else MOST
    identity, traits = await read_identity(tx, thinking.space), await list_traits(tx)
    held = sorted(identity.profile.evidence.union(*(trait.evidence_ids for trait in traits)))
    ids = await to_consolidate(tx, least=least, held=held, limit=most)
    rows = await read_rows(tx, thinking.space.name, [*ids, *held])
    memories = shown([rows[each].memory for each in ids if each in rows], TOKENS)
    rests_on = {each: rows[each].memory for each in held if each in rows}
    return Material(identity, tuple(traits), tuple(memories), rests_on)


async def _conclude(thinking: Thinking, material: Material) -> Conclusion:
    answer = await thinking.resources.models.ask(
        CONSOLIDATION,
        render(
            CONSOLIDATION,
            now=thinking.began_at.isoformat(),
            card=card(material.identity.profile),
            traits="\n".join(f"{row.category} / {row.key}: {row.value}" for row in material.traits),
            memories=numbered(material.memories),
        ),
        Consolidated,
        ledger=thinking.ledger,
    )
    before = material.identity
    known = {**material.rests_on, **{memory.id: memory for memory in material.memories}}
    profile = _profile(before.profile, answer.value, material, known)
    changed = profile != before.profile
    rests_on = [known[each] for each in sorted(profile.evidence) if each in known]
    version = None
    if changed:
        version = await prepare_version(
            thinking, profile, rests_on, made_by=answer.made_by, observed=_newest(material.memories)
        )
    merges = [await _merge(thinking, merge, material.memories, answer.made_by) for merge in answer.value.merges]
    traits = _traits(answer.value, material, known)

    async def write(tx: SpaceTransaction, run_id: int) -> Written:
        written = Written()
        if changed:
            written = await write_version(tx, thinking, before, version, [memory.id for memory in rests_on])
        for trait in traits:
            if isinstance(trait, NewTrait):
                await set_trait(tx, trait, run_id)
            else:
                await end_trait(tx, *trait, run_id)
        for merge in filter(None, merges):
            made = await merge.write(tx, thinking, run_id)
            written = Written((*written.ids, *made.ids), (*written.superseded, *made.superseded))
        return written

    told = f"{len(material.memories)} memories read; card {'changed' if changed else 'unchanged'}, {len(traits)} traits"
    marks = {memory.id: mark_of(memory.summary) for memory in material.memories}
    held = () if before.row is None else (before.row.memory,)
    return Conclusion(CONSOLIDATION, told, (*material.memories, *held), answer.made_by, marks, write)


def _profile(before: Profile, answer: Consolidated, material: Material, known: Mapping[int, StoredMemory]) -> Profile:
    updates = [
        Update(
            update.field,
            update.action,
            mask(update.value).text,
            fold(update.value),
            _cited(update.rests_on, material.memories),
            mask(update.relation).text,
        )
        for update in answer.profile_updates
        if has_letter_or_digit(update.value)
    ]
    keys = {line.value: fold(line.value) for line in before.lines} | {update.value: update.key for update in updates}
    return updated(before, updates, {each: _weight(memory) for each, memory in known.items()}, keys)


def _weight(memory: StoredMemory) -> Weight:
    """What a memory weighs against another: whose word it is, and of equal ones when it was observed."""
    return TRUST_RANK[memory.trust], memory.source_date


def _traits(
    answer: Consolidated, material: Material, known: Mapping[int, StoredMemory]
) -> list[NewTrait | tuple[str, str]]:
    """Traits to set, and (category, folded key) of those to end.

    What rests on no memory that was shown is none, and older or less trusted memories change no trait.
    """
    held = {(row.category, fold(row.key)): row for row in material.traits}
    found: list[NewTrait | tuple[str, str]] = []
    for update in answer.trait_updates:
        cited = _cited(update.rests_on, material.memories)
        key, value = mask(update.key).text, mask(update.value).text
        if not cited or not has_letter_or_digit(key):
            continue
        before = held.get((update.category, fold(key)))
        bases = [known[each] for each in (before.evidence_ids if before else ()) if each in known]
        if bases and max(map(_weight, bases)) > max(_weight(known[each]) for each in cited):
            continue
        if update.action == "remove":
            found.append((update.category, fold(key)))
        elif has_letter_or_digit(value):
            if before is not None and fold(before.value) == fold(value):
                cited |= set(before.evidence_ids)
            found.append(NewTrait(update.category, key, fold(key), value, tuple(sorted(cited))))
    return found


def _cited(numbers: Sequence[int], memories: Sequence[StoredMemory]) -> frozenset[int]:
    """The ids of memories by the numbers under which they were shown; others don't count."""
    return frozenset(memories[number - 1].id for number in numbers if number <= len(memories))


def _newest(memories: Sequence[StoredMemory]) -> datetime:
    return max(memory.source_date for memory in memories)


@dataclass(frozen=True, slots=True)
class _Merged:
    """One memory in the place of several that said the same."""

    text: NewText
    of: tuple[StoredMemory, ...]

    async def write(self, tx: SpaceTransaction, thinking: Thinking, run_id: int) -> Written:
        ids = [memory.id for memory in self.of]
        # Of a long text one piece alone can't go.
        if await siblings(tx, ids) != sorted(ids):
            return Written()
        rows: list[MemoryRow] = list((await read_rows(tx, thinking.space.name, ids)).values())
        await supersede(tx, rows, None, reason=MERGED, changed_by=CONSOLIDATION, at=tx.now)
        made = await store(tx, thinking.resources, thinking.space, self.text)
        await set_successor(tx, ids, made[0])
        await relate(tx, made, ids)
        # It says nothing that was not read already.
        chunks = await read_rows(tx, thinking.space.name, made)
        marks = {each: mark_of(row.memory.summary) for each, row in chunks.items()}
        await set_marks(tx, CONSOLIDATION, marks, run_id)
        return Written(made, tuple(ids))


async def _merge(thinking: Thinking, merge: Merge, memories: Sequence[StoredMemory], made_by: str) -> _Merged | None:
    """A merge that may be made: of two memories or more of one speaker, of which no name, number or label gets lost.

    What is pinned stays as it is.
    """
    cited = _cited(merge.rests_on, memories)
    of = tuple(memory for memory in memories if memory.id in cited)
    summary = mask(merge.summary).text
    if len(of) < LEAST_MERGED or _loses(summary, of) or any(memory.pinned for memory in of):
        return None
    if any((each.speaker, each.trust, each.metadata) != (of[0].speaker, of[0].trust, of[0].metadata) for each in of):
        return None
    kinds = {memory.memory_type for memory in of}
    newest = max(of, key=lambda memory: memory.source_date)
    draft = Draft(
        text=summary,
        source=CONSOLIDATION,
        trust=Trust(newest.trust),
        source_date=newest.source_date,
        memory_type=kinds.pop() if len(kinds) == 1 else MemoryType.FACT,
        salience=max(memory.salience for memory in of),
        tags=masked_labels([tag for memory in of for tag in memory.tags]),
        entities=tuple(dict.fromkeys(entity for memory in of for entity in memory.entities)),
        speaker=newest.speaker,
        language=newest.language,
        metadata=newest.metadata,
        evidence=evidence_of(of),
        made_by=made_by,
    )
    return _Merged(await prepared(thinking, draft), of)


def _loses(summary: str, memories: Sequence[StoredMemory]) -> bool:
    """Whether a number or an entity of the memories doesn't stand in the summary."""
    said = fold(summary)
    numbers = set(_NUMBERS.findall(said))
    return any(
        not set(_NUMBERS.findall(fold(memory.summary))) <= numbers
        or any(fold(entity) not in said for entity in memory.entities)
        for memory in memories
    )
