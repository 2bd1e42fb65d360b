"""The door for everything that is not text: each value is accepted as it will be stored, or refused by name and limit.

Library, command line and servers come in here, so that a bad value is the same error everywhere and nothing is written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import Any, Final, TypedDict, TypeVar, Unpack
from zoneinfo import ZoneInfo

import regex

from perdure.errors import InvalidInput
from perdure.rules.salience import ACCEPTED, read_salience
from perdure.text import clean, fold, mask, require_text
from perdure.types import Filters, MemoryType

MAX_NAME_BYTES: Final = 200
"""The longest name of a space, an audience, a speaker, a conversation, an import or an operation, in bytes of UTF-8."""

MAX_EXTERNAL_ID_BYTES: Final = 1024
"""The longest id that a source gives a message; a mail's Message-ID fits, which may fill a line of 998 characters."""

MAX_SOURCE_BYTES: Final = MAX_NAME_BYTES + len("import:")
"""The longest source of a memory, and the longest conversation: a file without conversations is one of its own."""

DIGEST_BYTES: Final = 6
"""Of the digest that tells apart the names of one space that held secrets."""

MAX_TAGS: Final = 32
MAX_TAG_BYTES: Final = 100
MAX_METADATA_BYTES: Final = 16 * 1024
MAX_METADATA_KEY_BYTES: Final = 200
MAX_METADATA_DEPTH: Final = 16
MAX_JSON_DEPTH: Final = 64
_WELL_WRITTEN: Final = regex.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
MAX_ID: Final = 2**63 - 1
MAX_ID_DIGITS: Final = len(str(MAX_ID))
FIRST_YEAR: Final = 1900
LAST_YEAR: Final = 2200

_UNSEEN_IN_NAMES: Final = regex.compile("[\x80-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""The second half of the control characters, and the marks that turn the direction of writing."""

Choice = TypeVar("Choice", bound=StrEnum)


def require_name(value: object, field: str, max_bytes: int = MAX_NAME_BYTES) -> str:
    """A name to show, as of a speaker, a conversation or an import: 1..200 bytes on one line, spaces trimmed.

    What cannot be seen and may mislead (control characters, lone surrogates, marks of writing direction) is dropped.
    """
    if not isinstance(value, str):
        raise InvalidInput(field, value, f"it has to be text, not {type(value).__name__}")
    if not value.isascii() or not value.isprintable():
        name = _UNSEEN_IN_NAMES.sub("", clean(value, field)).strip()
    else:
        name = value.strip()
    size = len(name.encode())
    if not 1 <= size <= max_bytes:
        raise InvalidInput(field, value, f"it has {size:,} bytes of UTF-8, between 1 and {max_bytes:,} are taken")
    if len(name.splitlines()) > 1 or "\t" in name:
        raise InvalidInput(field, value, "it has to stand on one line")
    if not _can_be_seen(name):
        raise InvalidInput(field, value, "it has nothing that can be seen")
    return name


def require_key(value: object, field: str, max_bytes: int = MAX_NAME_BYTES) -> str:
    """A name that tells things apart, of a space, an audience or an operation: as `require_name`, with nothing dropped.

    Were it dropped, a name with an invisible character would reach what belongs to the name without it.
    """
    name = require_name(value, field, max_bytes)
    if name != str(value).strip():
        limit = "it must not hold control characters, lone surrogates or marks of writing direction"
        raise InvalidInput(field, value, limit)
    return name


def optional_name(value: object, field: str) -> str | None:
    """A name as it may be kept (`without_secrets`), or None."""
    return None if value is None else without_secrets(require_name(value, field))


def without_secrets(name: str) -> str:
    """A name or key as it may be kept: a secret in it is masked, and a digest tells it from others that held one.

    >>> without_secrets("Ada"), without_secrets("password=hunter2")
    ('Ada', 'password=[secret: password] 709a102e43ae')
    """
    masked = mask(name).text
    if masked == name:
        return name
    return f"{masked} {hashlib.blake2b(name.encode(), digest_size=DIGEST_BYTES).hexdigest()}"


def optional_key(value: object, field: str) -> str | None:
    return None if value is None else require_key(value, field)


def require_choice(value: object, field: str, choices: type[Choice]) -> Choice:
    """One of the words of an enumeration."""
    if not isinstance(value, str) or value not in set(choices):
        raise InvalidInput(field, value, f"it has to be one of {', '.join(choices)}")
    return choices(value)


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
        if not _can_be_seen(label):
            raise InvalidInput(field, item, "it has nothing that can be seen")
        labels.setdefault(fold(label), label)
        if len(labels) > MAX_TAGS:
            raise InvalidInput(field, value, f"at most {MAX_TAGS} different ones are taken")
    return tuple(labels.values())


def require_metadata(value: object) -> dict[str, object]:
    """A JSON object of at most 16 KiB, 16 levels deep, with names as text of at most 200 bytes."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput("metadata", value, "it has to be an object with names as text")
    _require_shallow(value)
    try:
        encoded = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise InvalidInput("metadata", value, "it has to be JSON without NaN or Infinity") from None
    if len(encoded.encode("utf-8", "surrogatepass")) > MAX_METADATA_BYTES:
        raise InvalidInput("metadata", value, f"it has to be at most {MAX_METADATA_BYTES:,} bytes of JSON")
    return {clean(key): _clean_json(item) for key, item in value.items()}


def require_json(value: object, field: str, max_bytes: int) -> dict[str, Any]:
    """A JSON object of at most `max_bytes`, up to 64 levels deep, as it is: only what no database keeps is dropped.

    That is NUL, and half a surrogate pair. Metadata of memories goes through `require_metadata`.
    """
    if not isinstance(value, Mapping):
        raise InvalidInput(field, value, "it has to be an object with names as text")
    try:
        kept: dict[str, Any] = _as_kept(value, field)
        encoded = json.dumps(kept, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise InvalidInput(field, value, "it has to be JSON without NaN or Infinity") from None
    if len(encoded.encode()) > max_bytes:
        raise InvalidInput(field, value, f"it has to be at most {max_bytes:,} bytes of JSON")
    return kept


def require_own_type(value: object) -> MemoryType:
    """The type of a memory that somebody keeps or changes: any but identity, which consolidation alone writes."""
    kind = require_choice(value, "memory_type", MemoryType)
    if kind is MemoryType.IDENTITY:
        raise InvalidInput("memory_type", value, "the identity card is made of memories; save what it should rest on")
    return kind


def require_time(value: object, field: str, zone: tzinfo | str = UTC) -> datetime:
    """A moment between the years 1900 and 2200, in UTC; a time without a zone is read in `zone`."""
    moment = _parse(value, field)
    found = moment if isinstance(moment, datetime) else datetime.combine(moment, time())
    require_year(value, field, found.year)
    if found.tzinfo is None:
        found = found.replace(tzinfo=ZoneInfo(zone) if isinstance(zone, str) else zone)
    return found.astimezone(UTC)


def require_year(value: object, field: str, year: int) -> None:
    """Refuses `value` for its year: outside 1900..2200 a clock is broken or a unit wrong."""
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise InvalidInput(field, value, f"its year has to lie between {FIRST_YEAR} and {LAST_YEAR}")


def optional_as_of(value: object, zone: str = "UTC") -> datetime | None:
    """The moment that a question about the past is about; a bare date is the end of that day in `zone`."""
    if value is None:
        return None
    moment = require_time(_day_after(value, "as_of"), "as_of", zone)
    return moment if isinstance(_parse(value, "as_of"), datetime) else moment - timedelta(microseconds=1)


def optional_time(value: object, field: str, zone: str = "UTC") -> datetime | None:
    return None if value is None else require_time(value, field, zone)


def require_number(value: object, field: str, least: int, most: int) -> int:
    """A whole number within limits."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(field, value, f"it has to be a whole number from {least} to {most}")
    return value


def require_flag(value: object, field: str) -> bool:
    """True or false, and nothing that merely counts as such: "no" would count as true."""
    if not isinstance(value, bool):
        raise InvalidInput(field, value, "it has to be true or false")
    return value


def require_seconds(value: object, field: str, most: float) -> float:
    """A length of time in seconds, above 0."""
    limit = f"it has to be a number of seconds above 0 and at most {most:,g}"
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
        raise InvalidInput(field, value, limit)
    return float(value)


def require_list(value: object, field: str) -> list[Any]:
    """A list of things; None is an empty one, a text or an object is none."""
    if value is None:
        return []
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        raise InvalidInput(field, value, f"it has to be a list, not {type(value).__name__}")
    return list(value)


def require_id(value: object, field: str = "id") -> int:
    """A memory id as `save` returned it; a text of digits is read too, as JSON carries ids."""
    digits = isinstance(value, str) and len(value) <= MAX_ID_DIGITS and value.isascii() and value.isdigit()
    number = int(value) if isinstance(value, str) and digits else value
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
    source, talk = given.get("source"), given.get("conversation_id")
    wanted = require_metadata(given.get("metadata"))
    for key, item in wanted.items():
        if isinstance(item, Mapping | list):
            raise InvalidInput(f"metadata.{key}", item, "a filter compares texts, numbers, true, false and null only")
    first = optional_time(given.get("since"), "since", zone)
    end = None if until is None else require_time(_day_after(until, "until"), "until", zone)
    if first is not None and end is not None and first >= end:
        raise InvalidInput("since", given.get("since"), f"it has to be before until ({until})")
    return Filters(
        tags=tuple(fold(tag) for tag in require_labels(given.get("tags"), "tags")),
        memory_type=None if kind is None else require_choice(kind, "memory_type", MemoryType),
        source=None if source is None else require_name(source, "source", MAX_SOURCE_BYTES),
        speaker=fold(name) if name else None,
        conversation_id=None
        if talk is None
        else without_secrets(require_name(talk, "conversation_id", MAX_SOURCE_BYTES)),
        metadata=wanted,
        since=first,
        until=end,
    )


def _can_be_seen(name: str) -> bool:
    """Whether anything is left of a stripped name when invisible characters are taken away."""
    return (bool(name) and name.isascii()) or bool(fold(name).strip())


def _day_after(value: object, field: str) -> object:
    moment = _parse(value, field)
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
        if _WELL_WRITTEN.fullmatch(text):
            limit = "there is no such day or time"
        raise InvalidInput(field, value, limit) from None


def _require_shallow(metadata: Mapping[object, object]) -> None:
    """Refuses what JSON can't spell or what would never end: names that are no text, too many levels or values."""
    left: list[tuple[object, int]] = [(metadata, 1)]
    seen = 0
    while left:
        item, depth = left.pop()
        seen += 1
        if seen > MAX_METADATA_BYTES:
            raise InvalidInput("metadata", metadata, f"it has to be at most {MAX_METADATA_BYTES:,} bytes of JSON")
        if not isinstance(item, Mapping | list | tuple):
            continue
        if depth > MAX_METADATA_DEPTH:
            raise InvalidInput("metadata", metadata, f"it may be at most {MAX_METADATA_DEPTH} levels deep")
        if isinstance(item, Mapping):
            for key in item:
                if not isinstance(key, str):
                    raise InvalidInput("metadata", key, "its names have to be text")
                if not 1 <= len(clean(key).encode()) <= MAX_METADATA_KEY_BYTES:
                    limit = f"a name in it has to have between 1 and {MAX_METADATA_KEY_BYTES} bytes of UTF-8"
                    raise InvalidInput("metadata", key, limit)
        left += [(inner, depth + 1) for inner in (item.values() if isinstance(item, Mapping) else item)]


def _as_kept(value: Any, field: str, depth: int = 1) -> Any:
    if isinstance(value, str):
        whole = value.replace("\0", "")
        return whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    if isinstance(value, Mapping | list | tuple) and depth > MAX_JSON_DEPTH:
        raise InvalidInput(field, value, f"it may be at most {MAX_JSON_DEPTH} levels deep")
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise InvalidInput(field, name, "its names have to be text")
        return {_as_kept(name, field): _as_kept(item, field, depth + 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_kept(item, field, depth + 1) for item in value]
    return value


def _clean_json(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): _clean_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_json(item) for item in value]
    return value
