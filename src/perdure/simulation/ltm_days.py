"""Living through the life of two servers: facts are taught by tool calls, turns are built, counted and looked at."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from statistics import mean
from typing import Final

import numpy as np

from perdure import ltm
from perdure.clock import SimulatedClock
from perdure.context import fact_line
from perdure.fact_types import EVERY_LINEAGE, Fact, FactId, FactKind, FactStage, Participant, Persona, TurnState
from perdure.memory import Memory
from perdure.resources import Resources
from perdure.rules.dormancy import Count, record_recall_day
from perdure.rules.placeholders import SERVER_USER
from perdure.rules.tokens import estimated_tokens
from perdure.simulation.ltm_embedder import ScriptedEmbedder
from perdure.simulation.ltm_life import PINNED, Lesson, Probe, ServerLife, Turn
from perdure.simulation.ltm_subjects import Subject
from perdure.space import Space
from perdure.store.spaces import SpaceRow

SPACE: Final = "servers"
FIRST_HOUR: Final = time(8)
BETWEEN: Final = timedelta(minutes=45)
"""From turn to turn: the last of a day are after midnight where many are taught, and then the next day's."""
NUMBERS: Final = (
    "dormant_tokens", "recalled_tokens", "query_tokens", "fill_tokens", "reinforced_count", "recalled_count",
    "quick_return_count",
)  # fmt: skip
"""What is added up of the samples."""


@dataclass(frozen=True, slots=True)
class Evening:
    """One day: what the facts of its prompts cost, on average of its turns.

    Attributes:
        day: its number, from 0.
        turns: how many messages were answered.
        shown: tokens of the facts in the prompt, active and recalled; None on a day without turns.
        everything: tokens of all facts that could have been in it, were none dormant.
        active, dormant: how many facts there are of each.
        down: there was no embedding model.
    """

    day: int
    down: bool
    turns: int
    shown: float | None
    everything: float | None
    active: int
    dormant: int


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of one day: how many needed a fact that was known, had it in their prompt, had it active in it."""

    day: int
    questions: int
    answered: int
    active: int


@dataclass(slots=True)
class Lived:
    """What was seen while the life was lived.

    Attributes:
        twice: facts that aged by more than one day within a day.
        unscored: facts whose count changed in a turn of an outage, or without any turn.
        sleeping: facts that had won and weren't active in the next prompt.
        differing: facts whose count isn't that of the reference model.
        traces: counts that changed by a look.
        samples: how many turns were told to telemetry.
        numbers: the figures of all samples, added up.
    """

    days: int
    evenings: list[Evening] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    turns: int = 0
    twice: int = 0
    unscored: int = 0
    sleeping: int = 0
    differing: int = 0
    traces: int = 0
    samples: int = 0
    taught: int = 0
    refused: list[str] = field(default_factory=list)
    numbers: dict[str, float] = field(default_factory=lambda: dict.fromkeys(NUMBERS, 0.0))


async def live_in_servers(life: ServerLife, data_dir: Path, *, progress: Callable[[int], None]) -> Lived:
    """Lives through all days, in a database of its own under `data_dir`; tells the number of days done.

    Raises:
        ServerStartFailed, DatabaseUnavailable.
    """
    clock = SimulatedClock(datetime.combine(life.days[0].date, FIRST_HOUR, UTC))
    embedder = ScriptedEmbedder()
    lived = Lived(len(life.days))
    async with Memory.open(
        data_dir=data_dir, database_url=None, clock=clock, embedder=embedder, worker=False
    ) as memory:
        place = await memory.ensure_space(SPACE)
        living = _Living(memory.resources, place, memory.space(SPACE), clock, embedder, lived)
        async for number in living.through(life):
            progress(number + 1)
    return lived


@dataclass(slots=True)
class _Living:
    resources: Resources
    row: SpaceRow
    space: Space
    clock: SimulatedClock
    embedder: ScriptedEmbedder
    lived: Lived
    ids: dict[tuple[str, str, int], FactId] = field(default_factory=dict)
    """Of what was taught, by its owner, subject and lineage."""
    model: dict[FactId, Count] = field(default_factory=dict)
    """What the reference model has counted."""
    aged: Counter[tuple[FactId, date]] = field(default_factory=Counter)
    """By how many days a fact aged on one day."""

    async def through(self, life: ServerLife) -> AsyncIterator[int]:
        for number, day in enumerate(life.days):
            self._move_to(day.date)
            self.embedder.down = day.down
            self.lived.unscored += _different(await self._counts(), self.model)
            costs = [await self._live(turn) for turn in day.turns]
            if day.probed and not day.down:
                self.lived.asked.append(await self._ask_all(number, life.probes))
            self.lived.evenings.append(await self._evening(number, costs))
            yield number

    async def _live(self, turn: Turn) -> tuple[int, int]:
        """One message, answered by one persona or two at once; tokens of the first one's facts: shown, and all."""
        self.clock.advance(BETWEEN)
        states = [_state(turn.server, persona, turn.speaker, turn.others) for persona in turn.personas]
        built = await asyncio.gather(*(self._build(state, turn.message) for state in states))
        cost = self._cost(built[0], states[0], await self._facts())
        if turn.lesson is not None:
            await self._teach(states[0], turn.lesson)
        before = await self._counts()
        for sample in await asyncio.gather(*(ltm.after_reply(self.resources, self.row, one) for one in built)):
            self.lived.samples += 1
            for name in NUMBERS:
                self.lived.numbers[name] += getattr(sample, name)
        self.lived.turns += len(built)
        self._compare(before, await self._counts(), built)
        for state, one in zip(states, built, strict=True):
            awake = _active(await self._build(state, turn.message))
            self.lived.sleeping += len(set(one.winners) - awake)
        return cost

    async def _teach(self, state: TurnState, lesson: Lesson) -> None:
        """The tool call of a model, or what a person writes: a new fact, or new words for one that is there."""
        known = _known(lesson.owner, state.server_id, lesson.subject, lesson.persona)
        there = self.ids.get(known)
        fact = await (self._tool(state, lesson, there) if lesson.persona else self._by_hand(lesson, there))
        if fact is None:
            return
        self.lived.taught += 1
        self.ids[known] = fact
        self.model[fact] = (await self._counts())[fact]

    async def _tool(self, state: TurnState, lesson: Lesson, there: FactId | None) -> FactId | None:
        arguments: dict[str, object] = {"memory_content": lesson.content}
        if lesson.owner is not None:
            arguments["target_user"] = lesson.owner.name
        if there is not None:
            outcome = await self.space.update_long_term_memory(state, {**arguments, "memory_id": f"ID:{there}"})
        else:
            arguments["memory_scope"] = "target_user" if lesson.owner else "server_wide"
            outcome = await self.space.create_long_term_memory(state, arguments)
        if not outcome.ok:
            self.lived.refused.append(f"{outcome.status}: {outcome.message}")
        return outcome.id if outcome.ok else None

    async def _by_hand(self, lesson: Lesson, there: FactId | None) -> FactId | None:
        assert lesson.owner is not None
        if there is not None:
            return (await self.space.edit_fact(there, content=lesson.content)).id
        pinned = lesson.subject.word in PINNED
        return (await self.space.remember(lesson.content, about=f"person:{lesson.owner.user_id}", pinned=pinned)).id

    def _compare(
        self, before: Mapping[FactId, Count], after: Mapping[FactId, Count], built: Sequence[ltm.TurnFacts]
    ) -> None:
        """What accounting did to the facts, beside what the reference model says, and what must never happen."""
        day = self._now().date()
        for one in built:
            if one.outcome == "scored":
                losers = one.scored - frozenset(one.winners)
                self.model = record_recall_day(self.model, winners=frozenset(one.winners), losers=losers, day=day)
        self.lived.differing += _different(after, self.model)
        if self.embedder.down:
            self.lived.unscored += _different(before, after)
        for fact, count in after.items():
            self.aged[fact, day] += max(0, count.decay_days - before[fact].decay_days)
            self.lived.twice += self.aged[fact, day] > 1

    async def _ask_all(self, number: int, probes: Sequence[Probe]) -> Asked:
        """Looks what prompts would hold, without a reply, and so without leaving a trace."""
        before = await self._counts()
        questions = answered = active = 0
        for probe in probes:
            needed = self.ids.get(_known(probe.owner, probe.server, probe.subject, probe.taught))
            if needed is None:
                continue
            state = _state(probe.server, probe.persona, probe.speaker, probe.others)
            built = await self._build(state, probe.subject.asks)
            awake = _active(built)
            questions += 1
            active += needed in awake
            answered += needed in awake or needed in {fact.id for fact in built.recalled}
        self.lived.traces += _different(before, await self._counts())
        return Asked(number, questions, answered, active)

    async def _evening(self, number: int, costs: Sequence[tuple[int, int]]) -> Evening:
        stages = [one.stage for one in await self.space.facts()]
        dormant = stages.count(FactStage.DORMANT)
        shown, everything = (mean(each) for each in zip(*costs, strict=True)) if costs else (None, None)
        return Evening(number, self.embedder.down, len(costs), shown, everything, len(stages) - dormant, dormant)

    def _cost(self, built: ltm.TurnFacts, state: TurnState, facts: Iterable[Fact]) -> tuple[int, int]:
        """Tokens of the facts that the prompt shows, and of all that are in scope."""
        shown = _active(built) | {fact.id for fact in built.recalled}
        lines = {fact.id: estimated_tokens(_line(fact, state)) for fact in facts if _in_scope(fact, state)}
        return sum(tokens for fact, tokens in lines.items() if fact in shown), sum(lines.values())

    async def _build(self, state: TurnState, message: str) -> ltm.TurnFacts:
        async def query() -> np.ndarray:
            vector: np.ndarray = (await self.resources.embedder.embed([message], "query"))[0]
            return vector

        turn = ltm.FactTurn(state, message, (message,))
        return await ltm.build(self.resources, self.row, turn, query=query)

    async def _counts(self) -> dict[FactId, Count]:
        return {fact.id: Count(fact.decay_days, fact.last_counted_day, fact.pinned) for fact in await self._facts()}

    async def _facts(self) -> list[Fact]:
        return [one.fact for one in await self.space.facts()]

    def _move_to(self, day: date) -> None:
        begins = datetime.combine(day, FIRST_HOUR, UTC)
        self.clock.advance(max(begins - self._now(), timedelta(0)))

    def _now(self) -> datetime:
        now = self.clock.now()
        assert now is not None
        return now


def _state(server: str, persona: Persona, speaker: Participant, others: tuple[Participant, ...]) -> TurnState:
    return TurnState(server, "talk", persona, speaker, (speaker, *others))


def _known(
    owner: Participant | None, server: str | None, subject: Subject, taught: Persona | None
) -> tuple[str, str, int]:
    """What tells a fact of the life from all others: whose it is, what it is about, and who knows it."""
    lineage = taught.lineage if taught else EVERY_LINEAGE
    return (owner.user_id if owner else server or ""), subject.word, lineage


def _active(built: ltm.TurnFacts) -> set[FactId]:
    return {fact.id for facts in (built.server, *built.people.values()) for fact in facts}


def _in_scope(fact: Fact, state: TurnState) -> bool:
    assert state.persona is not None
    owners = {one.user_id for one in state.participants} if fact.id.kind is FactKind.PERSONAL else {state.server_id}
    return fact.scope.lineage in {EVERY_LINEAGE, state.persona.lineage} and fact.scope.owner in owners


def _line(fact: Fact, state: TurnState) -> str:
    assert state.persona is not None
    names = {one.user_id: one.name for one in state.participants}
    return fact_line(fact, user=names.get(fact.scope.owner, SERVER_USER), bot=state.persona.name)


def _different(one: Mapping[FactId, Count], other: Mapping[FactId, Count]) -> int:
    return sum(one.get(fact) != other.get(fact) for fact in {*one, *other})
