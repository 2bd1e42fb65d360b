"""Whatever happens in whatever order, facts count as the ten lines of `rules.dormancy.record_recall_day` say."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from perdure import Memory, SimulatedClock, ltm
from perdure.fact_types import FactId, FactKind, FactStage, Participant, Persona, TurnState
from perdure.rules.dormancy import Count, is_dormant, pick_winners, record_recall_day
from perdure.simulation.ltm_embedder import ScriptedEmbedder
from perdure.simulation.ltm_subjects import PERSONAL, SHARED, SMALL_TALK, Subject
from tests.integration.conftest import open_memory

if TYPE_CHECKING:
    from perdure.space import Space
    from perdure.store.embedded import ServerUrls
    from perdure.store.spaces import SpaceRow

T = TypeVar("T")
MOMO, SAGE = Persona(10_000, "Momo"), Persona(10_001, "Sage")
ADA, BEN = Participant("ada", "Ada"), Participant("ben", "Ben")
SUBJECTS = (*PERSONAL[:2], *SHARED[:2])
MESSAGES = (*(subject.asks for subject in SUBJECTS), SMALL_TALK[0], "ok")
PERSONAS = st.sampled_from([MOMO, SAGE])
WHO = st.sampled_from([(ADA,), (BEN,), (ADA, BEN)])


@dataclass
class Known:
    """What the model of the test knows of a fact: where it belongs, what it says, and whether it has a vector."""

    owner: str
    lineage: int
    content: str
    count: Count = field(default_factory=Count)
    vector: bool = False


@dataclass
class Begun:
    """A turn whose prompt was built: what has won, what was scored, and by content what had no vector."""

    built: ltm.TurnFacts
    winners: tuple[FactId, ...]
    scored: frozenset[FactId]
    missing: dict[FactId, str]


class Turns(RuleBasedStateMachine):
    """Facts are taught, changed, pinned and deleted while turns are under way; time passes, the model goes down."""

    runner: asyncio.Runner
    memory: Memory
    embedder: ScriptedEmbedder
    clock: SimulatedClock

    def __init__(self) -> None:
        super().__init__()
        self.space: Space = self.memory.space(f"space-{secrets.token_hex(6)}")
        self.facts: dict[FactId, Known] = {}
        self.begun: list[Begun] = []
        self.private: set[str] = set()
        self.embedder.down = False

    @initialize()
    def begin(self) -> None:
        """Two people and a server about whom something is known already, and has vectors."""
        self.row: SpaceRow = self.run(self.memory.ensure_space(self.space.name))
        for place, subject in enumerate(SUBJECTS):
            for who in (MOMO, None):
                self.teach(subject, 0, (ADA, BEN)[place % 2], who)
        self.begin_turn(SMALL_TALK[0], MOMO, (ADA, BEN))
        self.end_turn(0)

    @rule(
        subject=st.sampled_from(SUBJECTS),
        value=st.integers(0, 1),
        owner=st.sampled_from([ADA, BEN]),
        who=st.sampled_from([MOMO, SAGE, None]),
    )
    def teach(self, subject: Subject, value: int, owner: Participant, who: Persona | None) -> None:
        about = "server:harbour" if subject in SHARED else f"person:{owner.user_id}"
        content = subject.fact.replace("{value}", subject.values[value])
        if owner.user_id in self.private and subject not in SHARED:
            return
        outcome = self.run(self.space.remember(content, about=about, persona=who))
        assert outcome.id is not None
        lineage = who.lineage if who else 0
        self.facts.setdefault(outcome.id, Known(about.partition(":")[2], lineage, content))

    @precondition(lambda self: self.facts)
    @rule(which=st.integers(0), value=st.integers(0, 1), subject=st.sampled_from(SUBJECTS))
    def edit(self, which: int, value: int, subject: Subject) -> None:
        fact, known = self.one(which)
        content = subject.fact.replace("{value}", subject.values[value])
        same = [
            one
            for one in self.facts.values()
            if (one.owner, one.lineage, one.content) == (known.owner, known.lineage, content)
        ]
        if same or known.owner in self.private:
            return
        self.run(self.space.edit_fact(fact, content=content))
        self.facts[fact] = replace(known, content=content, vector=False, count=replace(known.count, decay_days=0))

    @precondition(lambda self: self.facts)
    @rule(which=st.integers(0), pinned=st.booleans())
    def pin(self, which: int, pinned: bool) -> None:
        fact, known = self.one(which)
        self.run(self.space.pin_fact(fact, pinned=pinned))
        known.count = replace(known.count, pinned=pinned)

    @precondition(lambda self: self.facts)
    @rule(which=st.integers(0))
    def forget(self, which: int) -> None:
        fact, _ = self.one(which)
        self.run(self.space.forget_fact(fact))
        del self.facts[fact]

    @rule(person=st.sampled_from([ADA, BEN]), private=st.booleans())
    def change_privacy(self, person: Participant, private: bool) -> None:
        self.run(self.space.set_person(person.user_id, privacy="full" if private else "minimal"))
        (self.private.add if private else self.private.discard)(person.user_id)

    @rule(hours=st.sampled_from([1, 9, 24]))
    def time_passes(self, hours: int) -> None:
        self.clock.advance(timedelta(hours=hours))

    @rule(down=st.booleans())
    def outage(self, down: bool) -> None:
        self.embedder.down = down

    @rule(message=st.sampled_from(MESSAGES), persona=PERSONAS, who=WHO)
    def begin_turn(self, message: str, persona: Persona, who: tuple[Participant, ...]) -> None:
        state = TurnState("harbour", None, persona, who[0], who)
        built = self.run(self.build(state, message))
        candidates = {fact: known for fact, known in self.facts.items() if self.in_scope(fact, known, persona, who)}
        dormant = {fact for fact, known in candidates.items() if self.dormant(known)}
        active = {fact.id for facts in (built.server, *built.people.values()) for fact in facts}
        assert active == set(candidates) - dormant
        scores = self.scores(message, candidates) if built.outcome == "scored" else {}
        winners = pick_winners(scores.items())
        assert tuple(built.winners) == winners
        assert [fact.id for fact in built.recalled] == [fact for fact in winners if fact in dormant]
        missing = {fact: known.content for fact, known in candidates.items() if not known.vector}
        assert (built.outcome == "scored") == bool(candidates and message != "ok" and not self.embedder.down)
        self.begun.append(Begun(built, winners, frozenset(scores), missing))

    @precondition(lambda self: self.begun)
    @rule(which=st.integers(0))
    def end_turn(self, which: int) -> None:
        turn = self.begun.pop(which % len(self.begun))
        self.run(ltm.after_reply(self.memory.resources, self.row, turn.built))
        if turn.built.outcome != "scored":
            return
        day = self.now().date()
        there = {fact: known for fact, known in self.facts.items() if self.still_allowed(fact, known)}
        losers = {fact for fact in turn.scored - set(turn.winners) if fact in there and there[fact].vector}
        counts = {fact: known.count for fact, known in there.items()}
        for fact, count in record_recall_day(counts, winners=set(turn.winners), losers=losers, day=day).items():
            self.facts[fact].count = count
        for fact, content in turn.missing.items():
            if not self.embedder.down and fact in self.facts and self.facts[fact].content == content:
                self.facts[fact].vector = True

    @precondition(lambda self: self.facts and not self.embedder.down)
    @rule(days=st.integers(1, 8), persona=PERSONAS, who=WHO)
    def nobody_needs_them(self, days: int, persona: Persona, who: tuple[Participant, ...]) -> None:
        """Days of small talk, each with one whole turn."""
        for _ in range(days):
            self.begin_turn(SMALL_TALK[0], persona, who)
            self.end_turn(-1)
            self.clock.advance(timedelta(days=1))

    @invariant()
    def every_fact_counts_as_the_rules_say(self) -> None:
        listed = self.run(self.space.facts())
        seen = {one.fact.id: Count(one.fact.decay_days, one.fact.last_counted_day, one.fact.pinned) for one in listed}
        assert seen == {fact: known.count for fact, known in self.facts.items()}
        asleep = {one.fact.id for one in listed if one.stage is FactStage.DORMANT}
        assert asleep == {fact for fact, known in self.facts.items() if self.dormant(known)}

    def teardown(self) -> None:
        self.embedder.down = False

    def in_scope(self, fact: FactId, known: Known, persona: Persona, who: tuple[Participant, ...]) -> bool:
        here = known.owner in {one.user_id for one in who} - self.private if fact.kind is FactKind.PERSONAL else True
        return here and known.lineage in {0, persona.lineage}

    def still_allowed(self, fact: FactId, known: Known) -> bool:
        return fact.kind is FactKind.SERVER or known.owner not in self.private

    def dormant(self, known: Known) -> bool:
        return is_dormant(known.count.decay_days, pinned=known.count.pinned, possible=True)

    def scores(self, message: str, candidates: dict[FactId, Known]) -> dict[FactId, float]:
        having = [fact for fact, known in candidates.items() if known.vector]
        texts = [message, *(candidates[fact].content for fact in having)]
        vectors = self.run(ScriptedEmbedder().embed(texts, "query"))
        return {fact: float(vectors[0] @ vector) for fact, vector in zip(having, vectors[1:], strict=True)}

    async def build(self, state: TurnState, message: str) -> ltm.TurnFacts:
        async def query() -> np.ndarray:
            vector: np.ndarray = (await self.memory.resources.embedder.embed([message], "query"))[0]
            return vector

        return await ltm.build(self.memory.resources, self.row, ltm.FactTurn(state, message, (message,)), query=query)

    def one(self, which: int) -> tuple[FactId, Known]:
        return list(self.facts.items())[which % len(self.facts)]

    def now(self) -> datetime:
        now = self.clock.now()
        assert now is not None
        return now

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)


def test_counts_are_those_of_the_ten_lines_whatever_happens_in_whatever_order(urls: ServerUrls) -> None:
    clock, embedder = SimulatedClock(datetime(2026, 5, 1, 8, tzinfo=UTC)), ScriptedEmbedder()
    with asyncio.Runner() as runner:
        memory = runner.run(open_memory(urls, embedder, clock=clock).__aenter__())

        class Opened(Turns):
            pass

        Opened.runner, Opened.memory, Opened.embedder, Opened.clock = runner, memory, embedder, clock
        try:
            # Without shrinking: each step is several journeys to the database, and the failing steps are shown anyway.
            run_state_machine_as_test(
                Opened,
                settings=settings(
                    max_examples=30,
                    stateful_step_count=30,
                    phases=[Phase.generate],
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            runner.run(memory.close())
