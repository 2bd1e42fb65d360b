"""The life of two servers: ten people talk to three personas, which learn of them; the same every time.

Some facts are needed every few days, some now and then, some hardly ever. There are days on which nobody speaks, and
days on which the embedding model is down.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final, TypeVar

from perdure.fact_types import Participant, Persona
from perdure.simulation.ltm_subjects import PERSONAL, SHARED, SMALL_TALK, TOO_SHORT, Subject

T = TypeVar("T")

BEGIN: Final = date(2025, 1, 6)
PEOPLE: Final = tuple(
    Participant(f"user-{number}", name)
    for number, name in enumerate(("Ada", "Ben", "Cleo", "Dana", "Eli", "Fay", "Hugo", "Iris", "Jon", "Kim"))
)
MOMO, SAGE, BRICK = Persona(10_000, "Momo"), Persona(10_001, "Sage"), Persona(10_002, "Brick")
MEMBERS: Final = {"harbour": PEOPLE[:6], "observatory": PEOPLE[4:]}
"""Two people are in both servers."""
PERSONAS: Final = {"harbour": (MOMO, SAGE), "observatory": (MOMO, BRICK)}
"""One persona is in both servers: what it knows of people follows them, what it knows of a server doesn't."""

SILENT: Final = ((0.30, 0.35, "harbour"), (0.30, 0.35, "observatory"), (0.65, 0.75, "observatory"))
"""Parts of all days on which nobody speaks in a server."""
DOWN: Final = ((0.20, 0.24), (0.80, 0.82))
"""Parts of all days on which the embedding model is down."""
LEARNING: Final = 0.3
"""The part of all days in which all is taught for the first time."""
TURNS_A_DAY: Final = 3
KNOWN_OF_EACH: Final = 9
OFTEN, NOW_AND_THEN = 2, 3
"""Of what is known of somebody, how many subjects come up often, and how many now and then; the rest hardly ever."""
PINNED: Final = frozenset({"insulin"})
"""Subjects of which facts are pinned, so that they never sleep."""
CHANGED_EVERY: Final = 11
PROBED_TIMES: Final = 20


@dataclass(frozen=True, slots=True)
class Lesson:
    """A fact that is taught, or taught anew.

    Attributes:
        owner: whom it is about; None is the server.
        persona: who is taught; None is every persona, and then a person writes it by hand.
    """

    owner: Participant | None
    persona: Persona | None
    subject: Subject
    value: str

    @property
    def content(self) -> str:
        return self.subject.fact.replace("{value}", self.value)


@dataclass(frozen=True, slots=True)
class Turn:
    """One message, who reads it, and what is taught in the reply. Two personas: both answer it at once."""

    server: str
    personas: tuple[Persona, ...]
    speaker: Participant
    others: tuple[Participant, ...]
    message: str
    lesson: Lesson | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """A question that needs one fact, for a look at what the prompt would hold. `taught`: who knows it, or all."""

    server: str
    persona: Persona
    speaker: Participant
    others: tuple[Participant, ...]
    owner: Participant | None
    subject: Subject
    taught: Persona | None


@dataclass(frozen=True, slots=True)
class Day:
    """One day in both servers; `down`: without an embedding model."""

    date: date
    turns: tuple[Turn, ...]
    down: bool
    probed: bool


@dataclass(frozen=True, slots=True)
class ServerLife:
    """All days, and the questions that are asked of them again and again."""

    days: tuple[Day, ...]
    probes: tuple[Probe, ...] = field(default=())


def scripted_servers(days: int = 200, turns_a_day: int = TURNS_A_DAY, known: int = KNOWN_OF_EACH) -> ServerLife:
    """The life of both servers for so many days; `turns_a_day` in each of them, `known` facts of each person, 6..16."""
    script = _Script(days, turns_a_day, known, random.Random(6))
    return ServerLife(tuple(script.day(number) for number in range(days)), tuple(script.probes()))


class _Script:
    def __init__(self, days: int, turns_a_day: int, known: int, chance: random.Random) -> None:
        self._days = days
        self._turns_a_day = turns_a_day
        self._chance = chance
        self._known = {one.user_id: _rotated(PERSONAL, place * 5)[:known] for place, one in enumerate(PEOPLE)}
        self._shared = {server: _rotated(SHARED, place * 4) for place, server in enumerate(MEMBERS)}
        self._to_teach = list(self._lessons())

    def day(self, number: int) -> Day:
        every = max(1, self._days // PROBED_TIMES)
        return Day(
            BEGIN + timedelta(days=number),
            tuple(turn for server in MEMBERS for turn in self._turns(server, number)),
            down=any(self._within(number, first, last) for first, last in DOWN),
            probed=number % every == every - 1 or number == self._days - 1,
        )

    def probes(self) -> Iterator[Probe]:
        """One of each kind for everybody: what comes up often, now and then, hardly ever; and some of each server."""
        for place, owner in enumerate(PEOPLE):
            server = _home(owner)
            for subject in (self._known[owner.user_id][rank] for rank in (0, OFTEN, -1)):
                others = _rotated([one for one in MEMBERS[server] if one != owner], place)[:2]
                taught = _taught(server, subject)
                yield Probe(server, taught or MOMO, owner, tuple(others), owner, subject, taught)
        for server, subjects in self._shared.items():
            for subject in (subjects[0], subjects[OFTEN], subjects[-1], subjects[-2]):
                speaker, *others = MEMBERS[server][:3]
                taught = _taught(server, subject)
                yield Probe(server, taught or MOMO, speaker, tuple(others), None, subject, taught)

    def _lessons(self) -> Iterator[tuple[int, str, Lesson]]:
        """What is taught on which day in which server, as long as somebody speaks there."""
        firsts: list[tuple[str, Lesson]] = [
            (server, _lesson(server, None, subject, place))
            for place, (server, subjects) in enumerate(self._shared.items())
            for subject in subjects
        ]
        for place, owner in enumerate(PEOPLE):
            known = self._known[owner.user_id]
            firsts += [(_home(owner), _lesson(_home(owner), owner, subject, place)) for subject in known]
        self._chance.shuffle(firsts)
        for place, (server, lesson) in enumerate(firsts):
            yield int(place / len(firsts) * self._days * LEARNING), server, lesson
        for number in range(int(self._days * LEARNING), self._days, CHANGED_EVERY):
            server, lesson = self._chance.choice(firsts)
            yield number, server, _lesson(server, lesson.owner, lesson.subject, number + 1)

    def _turns(self, server: str, number: int) -> Iterator[Turn]:
        if any(self._within(number, first, last) and server == where for first, last, where in SILENT):
            return
        due = [one for one in self._to_teach if one[0] <= number and one[1] == server]
        for one in due:
            self._to_teach.remove(one)
            yield self._turn(server, one[2])
        for _ in range(self._turns_a_day):
            yield self._turn(server, None)

    def _turn(self, server: str, lesson: Lesson | None) -> Turn:
        speaker = lesson.owner if lesson and lesson.owner else self._chance.choice(MEMBERS[server])
        others = self._chance.sample([one for one in MEMBERS[server] if one != speaker], self._chance.randint(1, 3))
        if lesson is not None:
            persona = lesson.persona or MOMO
            return Turn(server, (persona,), speaker, tuple(others), f"Remember this: {lesson.content}", lesson)
        message = self._message(server, speaker)
        both = self._chance.random() < 0.1  # noqa: PLR2004 - now and then
        personas = PERSONAS[server] if both else (self._chance.choice(PERSONAS[server]),)
        return Turn(server, personas, speaker, tuple(others), message)

    def _message(self, server: str, speaker: Participant) -> str:
        draw = self._chance.random()
        known = self._known[speaker.user_id] if draw < 0.6 else self._shared[server]  # noqa: PLR2004 - by and large
        if draw > 0.8:  # noqa: PLR2004
            return self._chance.choice((*SMALL_TALK, TOO_SHORT))
        rank = self._chance.choices((0, 1, 2), (0.6, 0.35, 0.05))[0]
        subjects = (known[:OFTEN], known[OFTEN : OFTEN + NOW_AND_THEN], known[OFTEN + NOW_AND_THEN :])[rank]
        return self._chance.choice(subjects).asks

    def _within(self, number: int, first: float, last: float) -> bool:
        begins = int(first * self._days)
        return begins <= number < max(begins + 1, int(last * self._days))


def _rotated(values: Sequence[T], by: int) -> list[T]:
    by %= len(values)
    return [*values[by:], *values[:by]]


def _home(owner: Participant) -> str:
    return next(server for server, members in MEMBERS.items() if owner in members)


def _lesson(server: str, owner: Participant | None, subject: Subject, place: int) -> Lesson:
    return Lesson(owner, _taught(server, subject), subject, subject.values[place % len(subject.values)])


def _taught(server: str, subject: Subject) -> Persona | None:
    """Who is taught of a subject: all by hand what concerns health, the server's own persona every fifth, else Momo."""
    if subject.theme == "health":
        return None
    return PERSONAS[server][sum(map(ord, subject.word)) % 5 == 0]
