"""Living through a scripted life: each day is said, mailed, asked, drained, kept up and thought about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Final

from perdure.clock import SimulatedClock
from perdure.memory import Memory
from perdure.simulation.life import Day, Life, Probe, Sentence, last_questions
from perdure.simulation.model import ScriptedModels
from perdure.space import Space
from perdure.types import MemoryType, SourceItem, StoredMemory
from perdure.worker import Worker

SPACE: Final = "ada"
SAMPLED_EVERY: Final = 7
"""Days between two looks at all memories."""
PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class Sample:
    """All memories of one evening, counted.

    Attributes:
        day: the number of the day, from 0.
        live, superseded: how many rows there are of each.
        salience: the mean salience of live memories, by the kind of what was said.
        episodes, reflections: how many of them are live.
        overdue: superseded rows beyond their grace that nothing live rests on.
        stale: live memories of mails and noise that should have gone.
    """

    day: int
    live: int
    superseded: int
    salience: Mapping[str, float]
    episodes: int
    reflections: int
    overdue: int
    stale: int


@dataclass(slots=True)
class Year:
    """What was seen while the life was lived.

    Attributes:
        card: the single fields of the identity card on the evening of each day.
        truths: what was true on each of those evenings, by field.
        found: whether memory answered a question, by when and what was asked.
        rises: memories whose salience rose though nobody asked for them.
    """

    days: int
    samples: list[Sample] = field(default_factory=list)
    card: list[Mapping[str, str]] = field(default_factory=list)
    truths: list[Mapping[str, str]] = field(default_factory=list)
    found: dict[str, bool] = field(default_factory=dict)
    rises: int = 0
    conclusions: dict[str, int] = field(default_factory=dict)
    asked: Mapping[str, int] = field(default_factory=dict)


async def live_through(life: Life, data_dir: Path, *, progress: Callable[[int], None]) -> Year:
    """Lives through all days, in a database of its own under `data_dir`; tells the number of days done.

    Raises:
        ServerStartFailed, DatabaseUnavailable.
    """
    clock = SimulatedClock(datetime.combine(life.days[0].date, time(7), UTC))
    models = ScriptedModels(life)
    year = Year(len(life.days))
    async with Memory.open(
        data_dir=data_dir, clock=clock, models=models, worker=False, database_url=None, cognitive_ceiling="20h"
    ) as memory:
        living = _Living(memory, life, clock, year)
        async for number in living.days():
            progress(number + 1)
        year.asked = models.asked
        year.conclusions = await living.conclusions()
    return year


@dataclass(slots=True)
class _Living:
    memory: Memory
    life: Life
    clock: SimulatedClock
    year: Year
    known: dict[int, tuple[float, int]] = field(default_factory=dict)
    """Salience and retrievals of each memory at the last look."""
    worker: Worker = field(init=False)
    space: Space = field(init=False)

    def __post_init__(self) -> None:
        self.space = self.memory.space(SPACE)
        self.worker = Worker(self.memory.resources)

    async def days(self) -> AsyncIterator[int]:
        truths: dict[str, str] = {}
        for number, day in enumerate(self.life.days):
            self._move_to(day, time(8))
            await self._talk(number, day)
            truths |= {one.card: one.value for one in day.said if one.card in {"name", "location", "occupation"}}
            self._move_to(day, time(21))
            await self.worker.beat()
            self._move_to(day, time(23, 30))
            await self.worker.beat()
            card = (await self.space.identity()).profile
            self.year.card.append({name: line.value for name, line in card.single.items()})
            self.year.truths.append(dict(truths))
            if number % SAMPLED_EVERY == SAMPLED_EVERY - 1:
                self.year.samples.append(await self._look(number))
            if day.away and not self.life.days[min(number + 1, len(self.life.days) - 1)].away:
                await self._ask_all("after two months of absence")
            yield number
        await self._ask_all("on the last day")

    async def conclusions(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for run in await self.space.cognition_runs(limit=PAGE):
            if run.wrote_ids:
                counts[run.layer] = counts.get(run.layer, 0) + 1
        return counts

    def _move_to(self, day: Day, hour: time) -> None:
        now = self.clock.now()
        assert now is not None
        self.clock.advance(max(datetime.combine(day.date, hour, UTC) - now, timedelta(0)))

    async def _talk(self, number: int, day: Day) -> None:
        for place, sentence in enumerate(day.said):
            await self.space.capture(user=sentence.words, assistant="I see.", operation_id=f"{number}-{place}")
            self.clock.advance(timedelta(minutes=5))
        for place, probe in enumerate(day.asked):
            await self._ask(probe, f"{number}-asked-{place}")
        now = self.clock.now()
        assert now is not None
        items = [SourceItem("email", f"<{one.topic}@example.com>", one.words, now) for one in day.mailed]
        if items:
            await self.space.import_items(items, source="inbox")

    async def _ask(self, probe: Probe, operation_id: str) -> None:
        """A question of a conversation: what comes to mind is said in the reply, and so was of use."""
        recall = await self.space.recall(probe.words)
        told = [hit.memory.summary for hit in recall.memories if self._says(hit.memory, probe)]
        reply = " ".join(told) or "I don't know."
        await self.space.capture(user=probe.words, assistant=reply, recall=recall, operation_id=operation_id)

    async def _ask_all(self, when: str) -> None:
        """Looks for what was never asked about, as a model would, and leaves no trace of it."""
        for probe in last_questions(self.life):
            found = await self.space.search(probe.words, limit=10, plain=True)
            self.year.found[f"{probe.topic} {when}"] = any(self._says(hit.memory, probe) for hit in found.hits)

    def _says(self, memory: StoredMemory, probe: Probe) -> bool:
        sentence = self._sentence(memory)
        return sentence is not None and sentence.topic == probe.topic and sentence.value == probe.value

    def _sentence(self, memory: StoredMemory) -> Sentence | None:
        return next((one for one in self.life.sentences if one.words == memory.summary), None)

    async def _look(self, number: int) -> Sample:
        memories = await self._all()
        by_id = {memory.id: memory for memory in memories}
        now = self.clock.now()
        assert now is not None
        live = [memory for memory in memories if memory.superseded_at is None]
        needed = {each for memory in live for each in memory.related_ids}
        grace = timedelta(days=self.memory.settings.superseded_grace_days + 1)
        kinds = {sentence.words: sentence.kind for sentence in self.life.sentences}
        salience: dict[str, list[float]] = {}
        for memory in live:
            if memory.summary in kinds:
                salience.setdefault(kinds[memory.summary], []).append(memory.salience)
        self._watch(live)
        stale = timedelta(days=self.memory.settings.staleness_days + 1)
        return Sample(
            day=number,
            live=len(live),
            superseded=len(memories) - len(live),
            salience={kind: sum(values) / len(values) for kind, values in sorted(salience.items())},
            episodes=sum(memory.memory_type is MemoryType.EPISODE for memory in live),
            reflections=sum(memory.memory_type is MemoryType.REFLECTION for memory in live),
            overdue=sum(
                memory.superseded_at is not None
                and now - memory.superseded_at > grace
                and memory.id not in needed
                and memory.memory_type is not MemoryType.IDENTITY
                for memory in by_id.values()
            ),
            stale=sum(
                kinds.get(memory.summary) in {"mail", "noise"}
                and now - memory.created_at > stale
                and not memory.retrieval_count
                and memory.id not in needed
                for memory in live
            ),
        )

    def _watch(self, live: list[StoredMemory]) -> None:
        """Counts memories that weigh more than at the last look though nobody has asked for them since."""
        for memory in live:
            before = self.known.get(memory.id)
            if before is not None and memory.salience > before[0] + 1e-4 and memory.retrieval_count == before[1]:
                self.year.rises += 1
            self.known[memory.id] = (memory.salience, memory.retrieval_count)

    async def _all(self) -> list[StoredMemory]:
        found: list[StoredMemory] = []
        while True:
            page = await self.space.list(limit=PAGE, superseded=True, before=found[-1] if found else None)
            found += page
            if len(page) < PAGE:
                return found
