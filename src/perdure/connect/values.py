"""The checks that every value of a foreign file passes before it becomes part of a message."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, tzinfo
from typing import cast

from perdure.door import (
    FIRST_YEAR,
    LAST_YEAR,
    MAX_EXTERNAL_ID_BYTES,
    require_key,
    require_name,
    require_time,
    require_year,
)
from perdure.errors import InvalidInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def checked_id(field: str, value: object) -> str:
    """A message's own id, a string or a whole number: 1 to 1,024 bytes on one line, nothing invisible in it."""
    return require_key(_string(field, value), field, MAX_EXTERNAL_ID_BYTES)


def checked_space(field: str, value: object) -> str:
    """What names a space, a string or a whole number: 1 to 200 bytes on one line, nothing invisible in it."""
    return require_key(_string(field, value), field)


def checked_name(field: str, value: object) -> str:
    """A speaker or a conversation, a string or a whole number: 1 to 200 bytes on one line."""
    return require_name(_string(field, value), field)


def optional_space(field: str, value: object) -> str | None:
    """As `checked_space`, or None when the value is missing."""
    return None if value is None else checked_space(field, value)


def optional_name(field: str, value: object) -> str | None:
    """As `checked_name`, or None when the value is missing."""
    return None if value is None else checked_name(field, value)


def in_utc(field: str, value: object, moment: datetime, zone: tzinfo) -> datetime:
    """The moment in UTC; one without a zone is read in `zone`. Raises InvalidInput for years out of range."""
    require_year(value, field, moment.year)
    return require_time(moment, field, zone)


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
    return require_time(value, field, zone)


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


def _string(field: str, value: object) -> str:
    if value is None:
        raise InvalidInput(field, value, "it is missing")
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(field, value, "it must be a string or a whole number")
    try:
        return str(value)
    except ValueError:
        raise InvalidInput(field, value, "it has too many digits") from None
