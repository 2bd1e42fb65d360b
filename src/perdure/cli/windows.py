"""Which events of a calendar count: options that files and calendars on servers share."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import click

from perdure import door
from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from perdure.connect import CalendarOptions

MOST_DAYS: Final = 3650
NOTHING_INSIDE: Final = "No event lies inside the window; --past DAYS and --ahead DAYS widen it."


def window_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --past and --ahead."""
    ahead = click.option(
        "--ahead", type=int, default=365, show_default=True, metavar="DAYS", help="Of events: how far ahead."
    )
    past = click.option(
        "--past", type=int, default=30, show_default=True, metavar="DAYS", help="Of events: how far back."
    )
    return past(ahead(function))


def calendar_options(zone: str, past: int, ahead: int) -> CalendarOptions:
    """The options as the readers take them. Raises InvalidInput."""
    from perdure.connect import CalendarOptions  # noqa: PLC0415 - loads the readers

    return CalendarOptions(
        require_zone(zone),
        timedelta(days=door.require_number(past, "past", 0, MOST_DAYS)),
        timedelta(days=door.require_number(ahead, "ahead", 0, MOST_DAYS)),
    )


def require_zone(name: str) -> ZoneInfo:
    """A time zone by its IANA name."""
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise InvalidInput("zone", name, "it has to be a time zone such as Europe/Madrid or UTC") from None
