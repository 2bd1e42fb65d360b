"""The checks that every value of a foreign file passes before it becomes part of a message."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import cast

from perdure.errors import InvalidInput
from perdure.text import MAX_TEXT_BYTES

FIRST_YEAR, LAST_YEAR = 1900, 2200
"""Years that a message may carry; anything outside is a broken clock or a wrong unit."""

MAX_NAME_CHARS = 200
"""Longest speaker, space, conversation or message id, in characters."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def checked_text(field: str, value: object) -> str:
    """A message's text: a string with something in it, no NUL, no lone surrogate, at most `MAX_TEXT_BYTES`."""
    if not isinstance(value, str):
        raise InvalidInput(field, value, "it must be a string")
    if not value.strip():
        raise InvalidInput(field, value, "it must not be empty")
    if "\0" in value:
        raise InvalidInput(field, value, "it must not contain NUL (U+0000)")
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError as error:
        limit = f"character {error.start + 1} is half of a surrogate pair; the text must be valid Unicode"
        raise InvalidInput(field, value, limit) from error
    if size > MAX_TEXT_BYTES:
        raise InvalidInput(field, f"{size} bytes", f"a message has at most {MAX_TEXT_BYTES} bytes")
    return value


def checked_id(field: str, value: object) -> str:
    """An id or a name, given as a string or a whole number: 1 to `MAX_NAME_CHARS` characters on one line."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is None:
        raise InvalidInput(field, value, "it is missing")
    if not isinstance(value, str):
        raise InvalidInput(field, value, "it must be a string or a whole number")
    name = value.strip()
    if not name or len(name) > MAX_NAME_CHARS:
        raise InvalidInput(field, value, f"it must have 1 to {MAX_NAME_CHARS} characters")
    if _CONTROL.search(name) or _SURROGATE.search(name):
        raise InvalidInput(field, value, "it must not contain control characters or lone surrogates")
    return name


def optional_id(field: str, value: object) -> str | None:
    """As `checked_id`, or None when the value is missing."""
    return None if value is None else checked_id(field, value)


def checked_year(field: str, value: object, year: int) -> None:
    """Raises InvalidInput for a year outside `FIRST_YEAR`..`LAST_YEAR`."""
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise InvalidInput(field, value, f"the year must be {FIRST_YEAR} to {LAST_YEAR}")


def in_utc(field: str, value: object, moment: datetime, zone: tzinfo) -> datetime:
    """The moment in UTC; one without a zone is read in `zone`. Raises InvalidInput for years out of range."""
    checked_year(field, value, moment.year)
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)).astimezone(UTC)


def from_epoch(field: str, value: float | str) -> datetime:
    """Seconds since 1970-01-01 UTC as a time. Raises InvalidInput for what is no number or out of range."""
    limit = f"it must be seconds since 1970 within the years {FIRST_YEAR} to {LAST_YEAR} (not milliseconds)"
    try:
        seconds = float(value)
        if not math.isfinite(seconds):
            raise InvalidInput(field, value, limit)
        moment = _EPOCH + timedelta(seconds=seconds)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(field, value, limit) from error
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise InvalidInput(field, value, limit)
    return moment


def checked_time(field: str, value: object, zone: tzinfo) -> datetime:
    """ISO 8601 text or epoch seconds as a time in UTC. Raises InvalidInput naming the limit."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return from_epoch(field, value)
    if not isinstance(value, str):
        raise InvalidInput(field, value, "it must be ISO 8601 text or a number of seconds since 1970")
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError as error:
        limit = "it must be ISO 8601 such as 2023-05-08T13:56:00+02:00, with a day that exists"
        raise InvalidInput(field, value, limit) from error
    return in_utc(field, value, moment, zone)


def mapping(field: str, value: object) -> dict[str, object]:
    """The value, if it is a JSON object."""
    if not isinstance(value, dict):
        raise InvalidInput(field, value, "it must be a JSON object")
    return cast("dict[str, object]", value)


def sequence(field: str, value: object) -> list[object]:
    """The value, if it is a JSON array."""
    if not isinstance(value, list):
        raise InvalidInput(field, value, "it must be a JSON array")
    return cast("list[object]", value)
