"""The identity card: who the user is, line by line, each with the memories that it rests on.

A line changes when newer evidence, no less trusted, says otherwise, and never without any. The card is small on
purpose: it stands in every prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal

SINGLE: Final = ("name", "pronouns", "location", "occupation")
"""Fields that hold one value, in the order of the card."""
MOST_PEOPLE: Final = 15
"""People on the card; of more, those with least evidence leave (spec: 15)."""
MOST_TOPICS: Final = 15

Weight = tuple[int, datetime]
"""What a memory weighs against another: how far it is trusted, and of equal ones when it was observed."""

Field = Literal["name", "pronouns", "location", "occupation", "important_people", "recurring_topics"]


@dataclass(frozen=True, slots=True)
class Line:
    """One statement of the card. `detail` is what a person is to the user; "" elsewhere."""

    value: str
    evidence: frozenset[int]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Profile:
    """The card. Single fields hold one line or none, `people` and `topics` several, those with most evidence first."""

    single: Mapping[str, Line] = field(default_factory=dict)
    people: tuple[Line, ...] = ()
    topics: tuple[Line, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        return (*self.single.values(), *self.people, *self.topics)

    @property
    def evidence(self) -> frozenset[int]:
        """All memories that the card rests on."""
        return frozenset[int]().union(*(line.evidence for line in self.lines))


@dataclass(frozen=True, slots=True)
class Update:
    """A change that somebody proposes; `key` is the value spelled so that the same is equal, for people and topics."""

    field: Field
    action: Literal["set", "remove"]
    value: str
    key: str
    evidence: frozenset[int]
    detail: str = ""


def as_data(profile: Profile) -> dict[str, object]:
    """The card as JSON, as it is stored beside its text."""
    return {
        "single": {name: _line_data(line) for name, line in profile.single.items()},
        "people": [_line_data(line) for line in profile.people],
        "topics": [_line_data(line) for line in profile.topics],
    }


def from_data(data: Mapping[str, Any]) -> Profile:
    """The card that `as_data` made JSON of."""
    return Profile(
        {name: _line(line) for name, line in data["single"].items()},
        tuple(map(_line, data["people"])),
        tuple(map(_line, data["topics"])),
    )


def fields(profile: Profile) -> list[tuple[str, str]]:
    """The fields of the card that say something, in its order, each with its value; several are joined."""
    found = [(name, line.value) for name, line in profile.single.items()]
    if profile.people:
        told = (f"{one.value} ({one.detail})" if one.detail else one.value for one in profile.people)
        found.append(("important_people", "; ".join(told)))
    if profile.topics:
        found.append(("recurring_topics", "; ".join(one.value for one in profile.topics)))
    return found


def card(profile: Profile) -> str:
    """The card as text, a field per line; empty for an empty one."""
    return "\n".join(f"{name}: {value}" for name, value in fields(profile))


def fitting(profile: Profile, most_bytes: int) -> Profile:
    """The card without the topics and people with least evidence, as far as its text has to be shorter."""
    while len(card(profile).encode()) > most_bytes and (profile.topics or profile.people):
        if profile.topics:
            profile = replace(profile, topics=profile.topics[:-1])
        else:
            profile = replace(profile, people=profile.people[:-1])
    return profile


def updated(
    profile: Profile, updates: Sequence[Update], weights: Mapping[int, Weight], keys: Mapping[str, str]
) -> Profile:
    """The card after these changes, in their order; what weighs less than a line rests on doesn't change it.

    Args:
        weights: of each memory that may be cited. Whatever else a change cites doesn't count, and a change that then
            cites nothing is none.
        keys: how values of the card are spelled so that the same is equal.
    """
    for update in updates:
        cited = update.evidence & weights.keys()
        if cited:
            profile = _changed(profile, replace(update, evidence=frozenset(cited)), weights, keys)
    return replace(profile, people=_most(profile.people, MOST_PEOPLE), topics=_most(profile.topics, MOST_TOPICS))


def without(profile: Profile, gone: frozenset[int]) -> Profile:
    """The card without the lines that rest on one of these memories: what such a line says may be their words."""

    def left(lines: Sequence[Line]) -> tuple[Line, ...]:
        return tuple(line for line in lines if not line.evidence & gone)

    single = {name: line for name, line in profile.single.items() if not line.evidence & gone}
    return Profile(single, left(profile.people), left(profile.topics))


def _changed(profile: Profile, update: Update, weights: Mapping[int, Weight], keys: Mapping[str, str]) -> Profile:
    line = Line(update.value, update.evidence, update.detail)
    if update.field in SINGLE:
        held = profile.single.get(update.field)
        if held is not None and _heaviest(held, weights) > _heaviest(line, weights):
            return profile
        single = {name: one for name, one in profile.single.items() if name != update.field}
        if update.action == "set":
            same = held is not None and keys.get(held.value, held.value) == update.key
            single[update.field] = replace(line, evidence=line.evidence | held.evidence) if same and held else line
        return replace(profile, single={name: single[name] for name in SINGLE if name in single})
    people = update.field == "important_people"
    several = _several(profile.people if people else profile.topics, update, line, weights, keys)
    return replace(profile, people=several) if people else replace(profile, topics=several)


def _several(
    lines: tuple[Line, ...],
    update: Update,
    line: Line,
    weights: Mapping[int, Weight],
    keys: Mapping[str, str],
) -> tuple[Line, ...]:
    held = next((one for one in lines if keys.get(one.value, one.value) == update.key), None)
    others = tuple(one for one in lines if one is not held)
    if held is None:
        return (*others, line) if update.action == "set" else others
    newer = _heaviest(line, weights) >= _heaviest(held, weights)
    if update.action == "remove":
        return others if newer else lines
    detail = line.detail if newer and line.detail else held.detail or line.detail
    return (*others, Line(line.value if newer else held.value, held.evidence | line.evidence, detail))


def _heaviest(line: Line, weights: Mapping[int, Weight]) -> Weight:
    """The weight of the heaviest memory that a line rests on; what is pruned by now weighs less than anything."""
    known = [weights[each] for each in line.evidence if each in weights]
    return max(known, default=(-1, datetime.min.replace(tzinfo=UTC)))


def _most(lines: tuple[Line, ...], most: int) -> tuple[Line, ...]:
    """The lines with most evidence; of equal ones those that rest on the newest."""
    ordered = sorted(lines, key=lambda line: (-len(line.evidence), -max(line.evidence), line.value))
    return tuple(ordered[:most])


def _line_data(line: Line) -> dict[str, object]:
    return {"value": line.value, "detail": line.detail, "evidence": sorted(line.evidence)}


def _line(data: Mapping[str, Any]) -> Line:
    return Line(data["value"], frozenset(data["evidence"]), data["detail"])
