"""Outcomes as plain data and back: how they are stored with an operation id and printed as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from perdure.types import Failed, Merged, Nothing, Outcome, Pending, Stored, Superseded

KINDS: Mapping[str, type[Outcome]] = {
    "stored": Stored,
    "merged": Merged,
    "superseded": Superseded,
    "nothing": Nothing,
    "pending": Pending,
    "failed": Failed,
}


def outcome_to_data(outcome: Outcome) -> dict[str, object]:
    """A JSON-ready dictionary with `status` and the outcome's own fields."""
    return asdict(outcome)


def ids_of(outcomes: Iterable[Outcome]) -> list[int]:
    """The memories that were made or changed, each once."""
    found: dict[int, None] = {}
    for outcome in outcomes:
        match outcome:
            case Stored(ids=ids):
                found.update(dict.fromkeys(ids))
            case Merged(id=one) | Superseded(new=one):
                found[one] = None
            case _:
                pass
    return list(found)


def outcome_from_data(data: Mapping[str, Any]) -> Outcome:
    """The inverse of `outcome_to_data`; a KeyError means that the data was not written by it."""
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    del fields["status"]
    return KINDS[str(data["status"])](**fields)
