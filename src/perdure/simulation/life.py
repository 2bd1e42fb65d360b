"""The life that is lived: what Ada says, is mailed, forgets and asks, day by day; the same every time.

Each sentence carries what an able judge would make of it, so that the scripted model can answer from it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final, Literal

Kind = Literal["important", "changing", "trip", "everyday", "noise", "mail"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """Something that is said or mailed.

    Attributes:
        words: as they are said; no two sentences share theirs.
        salience: what a judge gives it, 1..10; below 5 it isn't kept.
        topic: what it is about; a later sentence of the same topic and another value replaces it.
        value: what it says of that; "" where nothing could contradict it.
        card: the field of the identity card that it belongs to; "" for none.
    """

    words: str
    kind: Kind
    salience: int
    topic: str
    value: str = ""
    card: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Probe:
    """A question that memory should answer: with a sentence of `topic` that says `value`."""

    words: str
    topic: str
    value: str


@dataclass(frozen=True, slots=True)
class Day:
    """One day: what is said, what is mailed, what is asked. On a day away nobody speaks."""

    date: date
    said: tuple[Sentence, ...] = ()
    mailed: tuple[Sentence, ...] = ()
    asked: tuple[Probe, ...] = ()
    away: bool = False


@dataclass(frozen=True, slots=True)
class Life:
    """A scripted life; `truths` are what is true at its end, by topic."""

    days: tuple[Day, ...]
    truths: dict[str, str] = field(default_factory=dict)

    @property
    def sentences(self) -> Iterator[Sentence]:
        for day in self.days:
            yield from day.said
            yield from day.mailed


BEGIN: Final = date(2025, 1, 6)
AWAY: Final = ((150, 210),)
"""Days of the year on which nobody speaks: two months of absence."""

IMPORTANT: Final = (
    (2, Sentence("I'm allergic to peanuts, even traces make me ill.", "important", 9, "allergy", "peanuts", "trait")),
    (4, Sentence("My name is Ada Berglund.", "important", 9, "name", "Ada Berglund", "name")),
    (6, Sentence("My brother Tom is the person I call in an emergency.", "important", 9, "brother", "Tom", "person")),
    (9, Sentence("My blood group is AB negative.", "important", 9, "blood group", "AB negative", "trait")),
)
CHANGING: Final = (
    (3, Sentence("I live in Boston, near the river.", "changing", 8, "home", "Boston", "location")),
    (
        100,
        Sentence("I have moved to Denver, my new home is near the park.", "changing", 8, "home", "Denver", "location"),
    ),
    (
        260,
        Sentence(
            "I have moved back to Boston, home again near the harbour.", "changing", 8, "home", "Boston", "location"
        ),
    ),
    (5, Sentence("I work as a nurse at the city hospital.", "changing", 8, "job", "nurse", "occupation")),
    (130, Sentence("I changed my job: I work as a teacher now.", "changing", 8, "job", "teacher", "occupation")),
)
TRIPS: Final = ((40, "Oslo", "fjord"), (120, "Lisbon", "tram"), (230, "Kyoto", "temple"), (320, "Rome", "fountain"))
DISHES: Final = ("lentil soup", "mushroom risotto", "green curry", "tomato salad", "potato gratin", "miso noodles")
MATTERS: Final = (
    "the bicycle",
    "the tax form",
    "the dentist",
    "the library card",
    "the balcony plants",
    "the old laptop",
)
DOING: Final = (
    "wants to have repaired",
    "has put off",
    "has finally dealt with",
    "complains about",
    "has lost and found",
)
SMALL: Final = ("Good morning!", "Thanks, that helps.", "Haha, nice.", "OK.", "What's the weather like?", "Good night.")
ASKED_EVERY: Final = 5
MAILED_EVERY: Final = 4
PROBES: Final = (
    Probe("What am I allergic to?", "allergy", "peanuts"),
    Probe("Whom do I call in an emergency?", "brother", "Tom"),
    Probe("Which blood group do I have?", "blood group", "AB negative"),
)


def scripted_life(days: int, seed: int = 1) -> Life:
    """The first `days` days of the life (1..3650): after a year it goes on with everyday things alone."""
    rng = random.Random(seed)
    lived = tuple(_day(number, rng) for number in range(days))
    truths: dict[str, str] = {}
    for day in lived:
        truths.update((one.topic, one.value) for one in day.said if one.value and one.kind in {"important", "changing"})
    return Life(lived, truths)


def _day(number: int, rng: random.Random) -> Day:
    when = BEGIN + timedelta(days=number)
    if any(first <= number < last for first, last in AWAY):
        return Day(when, mailed=_mailed(number, when, rng), away=True)
    said = [one for day, one in (*IMPORTANT, *CHANGING) if day == number]
    said += _trip(number)
    said += _everyday(number, when, rng)
    said += [Sentence(f"{rng.choice(SMALL)} ({number}.{n})", "noise", 1, f"noise {number}.{n}") for n in range(2)]
    return Day(when, tuple(said), _mailed(number, when, rng), _asked(number))


def _trip(number: int) -> list[Sentence]:
    """Three days of a journey are told in several sentences, which belong together."""
    for first, city, sight in TRIPS:
        if first <= number < first + 3:
            part = number - first + 1
            return [
                Sentence(
                    f"On day {part} in {city} we {verb} the {sight} of {city}.",
                    "trip",
                    6,
                    f"{city} {part} {verb}",
                    names=(city,),
                )
                for verb in ("walked to", "photographed", "went back to")
            ]
    return []


def _everyday(number: int, when: date, rng: random.Random) -> list[Sentence]:
    dish, matter, doing = rng.choice(DISHES), rng.choice(MATTERS), rng.choice(DOING)
    found = [Sentence(f"On {when:%d %B %Y} I cooked {dish}.", "everyday", 5, f"dish {number}")]
    if number % 3 == 0:
        found.append(
            Sentence(
                f"On {when:%d %B %Y} I mentioned that {matter} is what Ada {doing}.", "everyday", 5, f"matter {number}"
            )
        )
    return found


def _mailed(number: int, when: date, rng: random.Random) -> tuple[Sentence, ...]:
    if number % MAILED_EVERY:
        return ()
    price = rng.randint(10, 99)
    words = f"Newsletter of {when:%d %B %Y}: {rng.choice(MATTERS)} at half the price, {price} euros only."
    return (Sentence(words, "mail", 2, f"mail {number}"),)


def _asked(number: int) -> tuple[Probe, ...]:
    """Everyday things are asked about now and then; what is important is left alone until the last day."""
    if number % ASKED_EVERY == 0:
        return (Probe("What did I cook lately?", f"dish {number - 1}", ""),)
    return ()


def last_questions(life: Life) -> Sequence[Probe]:
    """What memory is asked on the last day: what nobody has asked about since it was said."""
    return [probe for probe in PROBES if life.truths.get(probe.topic) == probe.value]
