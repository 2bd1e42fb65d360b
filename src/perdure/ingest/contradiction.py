"""Contradiction: what is near a text, one verdict for each, and what the verdicts do.

Candidates are read and judged before the transaction that writes, and read again inside it: whatever came in meanwhile
stands there unjudged, and then nothing is written until it is judged too. So of two workers that write contradicting
facts at once, one sees the other's.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from perdure.embedding import Calibration
from perdure.ingest.work import Unjudged, together
from perdure.llm import Ledger, render
from perdure.llm.schemas import ContradictionVerdict
from perdure.resources import Resources, calibration_of
from perdure.rules.verdicts import DUPLICATE, TRUST_RANK, Side
from perdure.store.database import SpaceTransaction
from perdure.store.memories import MemoryRow
from perdure.store.related import nearest_live, sharing_entities
from perdure.store.spaces import SpaceRow, SpaceState, lock_space, read_state
from perdure.store.texts import read_live_texts
from perdure.text import fold, is_role, mask, name_keys, phrase_in
from perdure.types import Trust

log = logging.getLogger("perdure.ingest")

SHARING: Final = 3
"""Candidates that share an entity, besides."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The text that others are compared with, and what a verdict needs to know of it.

    `key` is what makes two texts the same (see `NewText.key`); None for what may not be merged. `vectors` are those of
    its chunks.
    """

    text: str
    trust: Trust
    speaker: str | None
    audience: str | None
    observed: datetime
    vectors: tuple[npt.NDArray[np.float32], ...]
    entity_keys: tuple[str, ...] = ()
    key: tuple[str | None, bytes] | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A live memory near the subject: all chunks of its text, and its side of a verdict.

    `exact`: it holds exactly the subject's text.
    """

    rows: tuple[MemoryRow, ...]
    side: Side
    exact: bool

    @property
    def id(self) -> int:
        return self.side.id

    @property
    def text(self) -> str:
        return "\n".join(row.memory.summary for row in self.rows)

    def naming(self, people: AbstractSet[str]) -> Candidate:
        """The same, knowing whom of these people its text names."""
        return replace(self, side=replace(self.side, names=named_in(self.text, people)))


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate with what was said about it: one of the four verdicts, why, and by which prompt and model."""

    candidate: Candidate
    verdict: str
    reason: str
    made_by: str | None = None


@dataclass(slots=True)
class Judge:
    """Asks about each candidate once, and keeps the verdicts for as long as the work on the subject lasts.

    `excluding` are memories that the subject has nothing to do with, as it is one of them or takes their place anyway.
    """

    resources: Resources
    space: SpaceRow
    ledger: Ledger
    subject: Subject
    excluding: tuple[int, ...] = ()
    _verdicts: dict[tuple[int, str], tuple[str, str, str | None]] = field(default_factory=dict)
    _looked: tuple[int, frozenset[int]] | None = None
    """What was near when so much had arrived in the space (`SpaceState.arrivals`)."""
    nearest: tuple[int, ...] | None = None
    """Of that, what is near by its vector, nearest first; None where nobody could tell."""

    async def judge(self, ids: Sequence[int] | None = None) -> None:
        """Asks about the candidates there are now, or about these memories. Outside of any transaction.

        Raises:
            ModelUnavailable, ModelFailed: a verdict is missing.
        """

        async def read(tx: SpaceTransaction) -> list[Candidate]:
            if ids is not None:
                return await self._candidates(tx, set(ids))
            state = await read_state(tx)
            self.nearest, near = await self._near(tx, state)
            self._looked = (state.arrivals if state else 0), near
            return await self._candidates(tx, near)

        found = await self.resources.database.in_space(self.space.id, read)
        new = [candidate for candidate in found if self._verdict(candidate) is None]
        await together(*(self._ask(candidate) for candidate in new))

    async def judged(self, tx: SpaceTransaction) -> list[Judged]:
        """Every live candidate with its verdict, those included that were asked about and are no candidates any more.

        Raises:
            Unjudged: some have none yet.
        """
        near, found = await self._locked_candidates(tx)
        judged: list[Judged] = []
        missing: list[int] = []
        for candidate in found:
            verdict = self._verdict(candidate)
            if verdict is not None:
                judged.append(Judged(candidate, *verdict))
            elif not near.isdisjoint(row.memory.id for row in candidate.rows):
                missing.append(candidate.id)
        if missing:
            raise Unjudged(missing)
        people = speakers([one.candidate.side for one in judged]) | {who(self.subject.speaker) or ""}
        return [replace(one, candidate=one.candidate.naming(people)) for one in judged]

    async def _locked_candidates(self, tx: SpaceTransaction) -> tuple[AbstractSet[int], list[Candidate]]:
        """What is near, and every candidate there is now. It is looked for again only if that could find another one.

        Where nothing has arrived since, only what is near already and has ceased to count makes room for another.
        """
        state = await lock_space(tx)
        asked = {memory_id for memory_id, _ in self._verdicts}
        if self._looked is not None and self._looked[0] == state.arrivals:
            near: AbstractSet[int] = self._looked[1]
            found = await self._candidates(tx, near | asked)
            if near <= {row.memory.id for candidate in found for row in candidate.rows}:
                return near, found
        _, near = await self._near(tx, state)
        return near, await self._candidates(tx, near | asked)

    def _verdict(self, candidate: Candidate) -> tuple[str, str, str | None] | None:
        if candidate.exact:
            return DUPLICATE, "the same words", None
        return self._verdicts.get((candidate.id, candidate.text))

    async def _ask(self, candidate: Candidate) -> None:
        first, subject = candidate.rows[0].memory, self.subject
        prompt = render(
            "contradiction",
            new=subject.text,
            new_when=subject.observed.isoformat(),
            new_by=said_by(subject.speaker, subject.trust),
            old=candidate.text,
            old_when=candidate.side.observed.isoformat(),
            old_by=said_by(first.speaker, first.trust),
        )
        answer = await self.resources.models.ask("contradiction", prompt, ContradictionVerdict, ledger=self.ledger)
        reason = mask(answer.value.reason).text
        self._verdicts[candidate.id, candidate.text] = answer.value.verdict, reason, answer.made_by

    async def _near(
        self, tx: SpaceTransaction, state: SpaceState | None
    ) -> tuple[tuple[int, ...] | None, frozenset[int]]:
        """The nearest live memories, and these with those that share an entity; none without a model to judge them.

        In a family that nobody has calibrated yet "near" means nothing: there, only shared entities are asked about.
        """
        if not self.resources.models.can("contradiction"):
            return None, frozenset()
        subject = self.subject
        below = contradiction_distance(await calibration_of(tx, self.resources, self.space))
        if below is None:
            log.info(
                "what is near isn't known in this space yet: a new memory is compared with those that share a name"
            )
            nearest = None
        else:
            nearest = await self._nearest(tx, below, state.memories if state else 0)
        excluding = [*self.excluding, *(nearest or ())]
        sharing = await sharing_entities(
            tx, subject.entity_keys, audience=subject.audience, limit=SHARING, excluding=excluding
        )
        return nearest, frozenset([*(nearest or ()), *sharing])

    async def _nearest(self, tx: SpaceTransaction, below: float, memories: int) -> tuple[int, ...]:
        """The few live memories that are nearest to any chunk of the subject, nearest first."""
        most = self.resources.settings.contradiction_candidates
        nearest: dict[int, float] = {}
        for vector in self.subject.vectors:
            for near in await nearest_live(
                tx,
                self.resources.family,
                vector,
                audience=self.subject.audience,
                below=below,
                limit=most,
                excluding=self.excluding,
                memories=memories,
            ):
                nearest[near.memory_id] = min(near.distance, nearest.get(near.memory_id, near.distance))
        return tuple(sorted(nearest, key=nearest.__getitem__)[:most])

    async def _candidates(self, tx: SpaceTransaction, ids: AbstractSet[int]) -> list[Candidate]:
        """The live texts that these memories belong to, and the one that says exactly the same as the subject."""
        key = self.subject.key
        if key is None and not ids:
            return []
        texts = await read_live_texts(tx, self.space.name, sorted(ids), content_hash=key[1] if key else None)
        found: list[Candidate] = []
        for text in texts:
            exact = text.exact and text.root not in self.excluding
            if exact or not ids.isdisjoint(row.memory.id for row in text.rows):
                side = self._side(text.root, text.rows[0], text.heard, exact=exact)
                found.append(Candidate(text.rows, side, exact))
        return found

    def _side(self, root: int, row: MemoryRow, heard: datetime | None, *, exact: bool) -> Side:
        side = side_of(root, row, heard)
        # Exactly the same words are one memory, whoever said them first: the database keeps one live row of them.
        if exact and TRUST_RANK[self.subject.trust] > TRUST_RANK[side.trust]:
            return replace(side, trust=self.subject.trust)
        return side


def contradiction_distance(calibration: Calibration | None) -> float | None:
    """Cosine distance below which memories may contradict (0.3 in the mission's family), by a family's calibration.

    None without one: a space of few memories, embedded by a model that nobody knows.
    """
    return None if calibration is None else calibration.contradiction_distance


def side_of(root: int, row: MemoryRow, heard: datetime | None) -> Side:
    """A stored text's side of a verdict.

    It was last known to be so when it was last said; an event to come was known when it came in.
    """
    memory = row.memory
    first = min(memory.source_date, memory.created_at)
    observed = first if heard is None else max(first, heard)
    return Side(root, memory.trust, observed, memory.audience, speaker=who(memory.speaker))


def who(speaker: str | None) -> str | None:
    """Who a speaker is, folded; None for nobody in particular."""
    return None if speaker is None or is_role(speaker) else fold(speaker)


def speakers(sides: Sequence[Side]) -> frozenset[str]:
    """Who said these, as far as that is known; folded."""
    return frozenset(side.speaker for side in sides if side.speaker)


def named_in(text: str, people: AbstractSet[str]) -> frozenset[str]:
    """Which of these people a text names, by any of their names."""
    return frozenset(name for name in people if any(phrase_in(key, text) for key in name_keys(name)))


def said_by(speaker: str | None, trust: Trust) -> str:
    """Who said something, for a prompt: the name, or the part they have."""
    return speaker or trust
