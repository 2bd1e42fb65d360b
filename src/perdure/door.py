"""The door for everything that is not text: each value is accepted as it will be stored, or refused by name and limit.

Library, command line and servers come in here, so that a bad value is the same error everywhere and nothing is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import TypedDict, TypeVar, Unpack
from zoneinfo import ZoneInfo

from perdure.errors import InvalidInput
from perdure.rules.salience import ACCEPTED, read_salience
from perdure.text import clean, fold, require_text
from perdure.types import Filters, MemoryType

MAX_NAME_BYTES = 200
MAX_TAGS = 32
MAX_TAG_BYTES = 100
MAX_METADATA_BYTES = 16 * 1024
MAX_ID = 2**63 - 1
FIRST_YEAR = 1900
LAST_YEAR = 2200

Choice = TypeVar("Choice", bound=StrEnum)


def require_name(value: object, field: str) -> str:
    """A name such as a space, speaker, audience or conversation: 1..200 bytes on one line, spaces trimmed."""
    if not isinstance(value, str):
        raise InvalidInput(field, value, f"it has to be text, not {type(value).__name__}")
    name = clean(value, field).strip()
    size = len(name.encode())
    if not 1 <= size <= MAX_NAME_BYTES:
        raise InvalidInput(field, value, f"it has {size} bytes of UTF-8, between 1 and {MAX_NAME_BYTES} are taken")
    if "\n" in name or "\t" in name:
        raise InvalidInput(field, value, "it has to stand on one line")
    return name


def optional_name(value: object, field: str) -> str | None:
    return None if value is None else require_name(value, field)


def require_choice(value: object, field: str, choices: type[Choice]) -> Choice:
    """One of the words of an enumeration."""
    try:
        return choices(str(value))
    except ValueError:
        raise InvalidInput(field, value, f"it has to be one of {', '.join(choices)}") from None


def require_salience(value: object, field: str = "salience") -> float:
    """1..10; 11..100 is read as a percentage."""
    read = read_salience(value)
    if read is None:
        raise InvalidInput(field, value, ACCEPTED)
    return read


def require_labels(value: object, field: str) -> tuple[str, ...]:
    """Tags or entities: a list or a bare string, each 1..100 bytes, at most 32; duplicates by folding are dropped."""
    if value is None:
        return ()
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, Iterable):
        raise InvalidInput(field, value, "it has to be a list of texts")
    labels: dict[str, str] = {}
    for item in items:
        label = require_text(item, field, MAX_TAG_BYTES).strip()
        labels.setdefault(fold(label), label)
    if len(labels) > MAX_TAGS:
        raise InvalidInput(field, value, f"it has {len(labels)} entries, at most {MAX_TAGS} are taken")
    return tuple(labels.values())


def require_metadata(value: object) -> dict[str, object]:
    """A JSON object of at most 16 KiB, with names as text."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInput("metadata", value, "it has to be an object with names as text")
    try:
        encoded = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise InvalidInput("metadata", value, "it has to be JSON without NaN or Infinity") from None
    if len(encoded.encode("utf-8", "surrogatepass")) > MAX_METADATA_BYTES:
        raise InvalidInput("metadata", value, f"it has to be at most {MAX_METADATA_BYTES:,} bytes of JSON")
    return {clean(key): _clean_json(item) for key, item in value.items()}


def require_time(value: object, field: str, zone: str = "UTC") -> datetime:
    """A moment between the years 1900 and 2200, in UTC; a time without a zone is read in `zone`."""
    moment = _parse(value, field)
    found = moment if isinstance(moment, datetime) else datetime.combine(moment, time())
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise InvalidInput(field, value, f"its year has to lie between {FIRST_YEAR} and {LAST_YEAR}")
    return (found if found.tzinfo else found.replace(tzinfo=ZoneInfo(zone))).astimezone(UTC)


def optional_time(value: object, field: str, zone: str = "UTC") -> datetime | None:
    return None if value is None else require_time(value, field, zone)


def require_number(value: object, field: str, least: int, most: int) -> int:
    """A whole number within limits."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(field, value, f"it has to be a whole number from {least} to {most}")
    return value


def require_id(value: object, field: str = "id") -> int:
    """A memory id as `save` returned it; a text of digits is read too, as JSON carries ids."""
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MAX_ID:
        raise InvalidInput(field, value, "it has to be a memory id, a positive whole number")
    return number


class FilterArguments(TypedDict, total=False):
    """What `search` and `list` can be narrowed to; a memory has to fit all that is given.

    tags: all of them, a bare text is one. memory_type: also reaches identity and reflections. source, speaker,
    conversation_id, metadata: equality. since, until: half-open range of source_date; a bare date in `until` includes
    that day.
    """

    tags: Iterable[str] | str | None
    memory_type: MemoryType | str | None
    source: str | None
    speaker: str | None
    conversation_id: str | None
    metadata: Mapping[str, object] | None
    since: datetime | str | None
    until: datetime | str | None


def require_filters(zone: str = "UTC", **given: Unpack[FilterArguments]) -> Filters:
    """Filters of a retrieval; texts are folded as stored ones are, times without a zone are read in `zone`."""
    name = optional_name(given.get("speaker"), "speaker")
    kind, until = given.get("memory_type"), given.get("until")
    wanted = require_metadata(given.get("metadata"))
    for key, item in wanted.items():
        if isinstance(item, Mapping | list):
            raise InvalidInput(f"metadata.{key}", item, "a filter compares texts, numbers, true, false and null only")
    return Filters(
        tags=tuple(fold(tag) for tag in require_labels(given.get("tags"), "tags")),
        memory_type=None if kind is None else require_choice(kind, "memory_type", MemoryType),
        source=optional_name(given.get("source"), "source"),
        speaker=fold(name) if name else None,
        conversation_id=optional_name(given.get("conversation_id"), "conversation_id"),
        metadata=wanted,
        since=optional_time(given.get("since"), "since", zone),
        until=None if until is None else require_time(_day_after(until), "until", zone),
    )


def _day_after(value: object) -> object:
    moment = _parse(value, "until")
    within = FIRST_YEAR <= moment.year <= LAST_YEAR
    return moment if isinstance(moment, datetime) or not within else moment + timedelta(days=1)


def _parse(value: object, field: str) -> datetime | date:
    if isinstance(value, date):
        return value
    if not isinstance(value, str):
        raise InvalidInput(field, value, "it has to be a date or time")
    text = value.strip()
    try:
        return date.fromisoformat(text) if len(text) == len("2026-01-31") else datetime.fromisoformat(text)
    except ValueError:
        limit = "it has to be an ISO 8601 date or time such as 2026-01-31 or 2026-01-31T09:30+01:00"
        raise InvalidInput(field, value, limit) from None


def _clean_json(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): _clean_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_json(item) for item in value]
    return value
