"""A life of feedback: a thousand turns, in which memories that help rise and those that don't sink (docs/feedback.md).

Everything is made up but the machinery: recall, feedback and upkeep are the real ones, on a real database, at the time
of a clock that is moved. In each of eight topics there are

- two *useful* memories, which answer what is asked about their part of the topic;
- a *stale* one, which did until the middle of the story, and its *newcomer*, which comes in then and answers instead;
- four *useless* ones: talk about the topic in the same words, as near to what is asked and good for nothing.

A judge that knows all this tells after each turn which of the injected memories helped.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Final

from benchmarks.server import bench_dir, open_server
from perdure import Memory, SimulatedClock, Space, Stored
from perdure.store.embedded import ServerUrls
from tests.doubles.embedder import HashedEmbedder

START: Final = datetime(2026, 1, 1, 8, tzinfo=UTC)
TURNS_PER_DAY: Final = 10
USELESS: Final = 4
SEED: Final = 20260101
WINDOW: Final = 100
"""Turns over which a share is told."""

TOPICS: Final = {
    "kitchen": "dinner recipe oven spice sauce guests pan soup",
    "garden": "roses hedge compost seeds shed lawn beans frost",
    "travel": "train luggage hotel ticket island harbour passport ferry",
    "health": "doctor allergy knee pharmacy sleep dentist running injection",
    "music": "choir violin concert rehearsal piano score stage tuning",
    "house": "roof boiler lease neighbour window cellar paint door",
    "work": "meeting deadline office report client budget team printer",
    "family": "sister birthday school wedding nephew present letter visit",
}
GROUPS: Final = ("useful", "useless", "stale", "newcomer")


@dataclass(slots=True)
class Actor:
    """A memory of the story; `at` is the turn before which it comes in."""

    topic: str
    group: str
    words: tuple[str, ...]
    text: str
    at: int = 0
    id: int = 0

    def helps(self, turn: int, middle: int) -> bool:
        """Whether it answers what is asked about its topic by then."""
        return self.group in {"useful", "newcomer"} or (self.group == "stale" and turn < middle)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the memories of one group are worth after so many turns: salience 1..10 and usefulness 0..1, on average."""

    turn: int
    group: str
    salience: float
    usefulness: float


@dataclass(frozen=True, slots=True)
class Injected:
    """A memory that was put into the prompt of one turn."""

    turn: int
    group: str
    helped: bool


@dataclass(slots=True)
class Story:
    """What came of it: what was injected, and what the memories were worth at the end of each day.

    `ahead`: the part of the topics in which the newcomer stands before the memory that it replaces, in the end. Both
    have the same words, so that nothing but what they are worth tells them apart.
    """

    turns: int
    injected: list[Injected] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    ahead: float = 0.0

    @property
    def middle(self) -> int:
        return self.turns // 2

    def helped(self, first: int, last: int) -> float:
        """The part of what was injected in these turns that helped."""
        return fmean(each.helped for each in self.injected if first <= each.turn < last)

    def retrieved(self, group: str, first: int, last: int) -> float:
        """How often a memory of the group was injected in these turns, on average."""
        members = {"useful": 2, "useless": USELESS}.get(group, 1) * len(TOPICS)
        return sum(each.group == group for each in self.injected if first <= each.turn < last) / members

    def last(self, group: str) -> Seen:
        return [seen for seen in self.seen if seen.group == group][-1]


def cast(turns: int) -> list[Actor]:
    """All memories of the story."""
    actors: list[Actor] = []
    for topic, said in TOPICS.items():
        words = said.split()
        for group, first, at in (("useful", 0, 0), ("useful", 2, 0), ("stale", 4, 0), ("newcomer", 4, turns // 2)):
            part = words[first : first + 4]
            actors.append(Actor(topic, group, tuple(part), _text("Ada decided on", topic, len(actors), part), at))
        for number in range(USELESS):
            part = [words[(2 * number + step) % len(words)] for step in range(4)]
            actors.append(Actor(topic, "useless", tuple(part), _text("Bob chatted of", topic, len(actors), part)))
    return actors


def _text(verb: str, topic: str, number: int, words: Sequence[str]) -> str:
    return f"{verb} {topic}{number}: {words[0]}, {words[1]}, {words[2]}, {words[3]}"


async def tell(urls: ServerUrls, turns: int, *, boost: str = "daily") -> Story:
    """Lives through the story; it is the same for the same number of turns.

    With `boost` "every" it is the mission to the letter, and without a judge: what is injected is boosted each time.
    """
    clock = SimulatedClock(START)
    async with Memory.open(
        database_url=urls.app,
        database_worker_url=urls.worker,
        database_owner_url=urls.owner,
        embedder=HashedEmbedder(),
        clock=clock,
        worker=False,
        boost=boost,
    ) as memory:
        return await _live(memory.space(f"story-{turns}-{boost}"), clock, turns, judged=boost == "daily")


async def _live(space: Space, clock: SimulatedClock, turns: int, *, judged: bool) -> Story:
    chance = random.Random(SEED)
    actors = cast(turns)
    story = Story(turns)
    by_id: dict[int, Actor] = {}
    for turn in range(turns):
        for actor in actors:
            if actor.at == turn:
                outcome = await space.save(actor.text, source_date=clock.now())
                assert isinstance(outcome, Stored)
                actor.id = outcome.ids[0]
                by_id[actor.id] = actor
        topic = chance.choice(list(TOPICS))
        asked = chance.sample(TOPICS[topic].split(), 3)
        found = await space.recall(f"What of the {asked[0]}, the {asked[1]} and the {asked[2]}?")
        helped = {each: by_id[each].topic == topic and by_id[each].helps(turn, story.middle) for each in found.ids}
        await space.feedback(found, useful=helped if judged else None)
        story.injected += [Injected(turn, by_id[each].group, useful) for each, useful in helped.items()]
        clock.advance(timedelta(days=1) / TURNS_PER_DAY)
        if turn % TURNS_PER_DAY == TURNS_PER_DAY - 1:
            await space.upkeep()
            story.seen += await _look(space, by_id, turn + 1)
    story.ahead = await _ahead(space, actors)
    return story


async def _look(space: Space, by_id: Mapping[int, Actor], turn: int) -> list[Seen]:
    worth: dict[str, list[tuple[float, float]]] = {}
    for memory in await space.list(limit=1000):
        worth.setdefault(by_id[memory.id].group, []).append((memory.salience, memory.usefulness))
    return [
        Seen(turn, group, fmean(salience for salience, _ in known), fmean(usefulness for _, usefulness in known))
        for group, known in worth.items()
    ]


async def _ahead(space: Space, actors: Sequence[Actor]) -> float:
    before = []
    for newcomer in (actor for actor in actors if actor.group == "newcomer"):
        stale = next(each for each in actors if (each.topic, each.group) == (newcomer.topic, "stale"))
        hits = (await space.search(" ".join(newcomer.words), limit=100, plain=True)).hits
        places = {hit.memory.id: place for place, hit in enumerate(hits)}
        before.append(places.get(newcomer.id, len(hits)) < places.get(stale.id, len(hits)))
    return fmean(before)


def figures(story: Story) -> dict[str, float]:
    """What the page in the docs says of a story."""
    tenth = story.turns // 10
    return {
        "helped, first tenth": story.helped(0, tenth),
        "helped, last tenth": story.helped(story.turns - tenth, story.turns),
        "newcomer before stale": story.ahead,
        **{f"usefulness, {group}": story.last(group).usefulness for group in GROUPS},
        **{f"salience, {group}": story.last(group).salience for group in GROUPS},
        **{
            f"retrieved in the second half, {group}": story.retrieved(group, story.middle, story.turns)
            for group in GROUPS
        },
    }


def plot(story: Story, literal: Story, path: Path) -> None:
    """Usefulness and salience of each group over the turns, and how much of what was injected helped."""
    import matplotlib as mpl  # noqa: PLC0415  # an extra

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, (useful, salient, helped) = plt.subplots(1, 3, figsize=(13, 4), dpi=100)
    for group, colour in zip(GROUPS, ("#2f6f9f", "#b5473c", "#9a9a9a", "#4c9a5a"), strict=True):
        own = [seen for seen in story.seen if seen.group == group]
        turns = [seen.turn for seen in own]
        useful.plot(turns, [seen.usefulness for seen in own], color=colour, label=group)
        salient.plot(turns, [seen.salience for seen in own], color=colour, label=group)
    useful.set(title="usefulness", ylim=(0, 1))
    salient.set(title="salience", ylim=(1, 6))
    ends = range(WINDOW, story.turns + 1, WINDOW // 10)
    for told, colour, label in (
        (story, "#2f6f9f", "verdicts, boost once a day"),
        (literal, "#b5473c", "no verdicts, boost=every"),
    ):
        helped.plot(ends, [told.helped(end - WINDOW, end) for end in ends], color=colour, label=label)
    helped.set(title=f"share that helped, of {WINDOW} turns", ylim=(0, 1))
    for axes in (useful, salient, helped):
        axes.axvline(story.middle, color="black", linewidth=0.6, linestyle=":")
        axes.set_xlabel("turns, ten a day")
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.feedback", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--plot", type=Path, help="where to draw it, such as docs/feedback.png")
    parser.add_argument("--dir", type=Path, default=bench_dir())
    arguments = parser.parse_args()
    arguments.dir.mkdir(parents=True, exist_ok=True)
    with open_server(arguments.dir) as server:
        stories = []
        for boost in ("daily", "every"):
            with server.passing(f"feedback_{boost}") as urls:
                stories.append(asyncio.run(tell(urls, arguments.turns, boost=boost)))
    told, literal = map(figures, stories)
    for name, value in told.items():
        print(f"{name:40} {value:8.3f} {literal[name]:8.3f}")
    if arguments.plot:
        plot(stories[0], stories[1], arguments.plot)


if __name__ == "__main__":
    main()
