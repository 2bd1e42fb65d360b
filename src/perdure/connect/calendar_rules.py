"""Rules of recurrence, before they are expanded: their end put into the right zone, and those refused that never end.

Nothing in a rule says how long it takes to follow it: `FREQ=SECONDLY` since 1970 has a billion and a half instances
before this year's, and a rule for the 30th of February is looked for until the year 9999. Both are told beforehand.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Final, cast

from dateutil.rrule import rrulestr
from icalendar.prop import vRecur

from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_RULE_STEPS: Final = 250_000
"""How much work one rule may be, in steps of about 4 µs: a daily event since 1600, an hourly one for 14 years."""

MAX_STEPS: Final = 10_000_000
"""How much work all rules of one reading may be: under a minute."""

_DAY: Final = timedelta(days=1)
_FAR: Final = timedelta(days=366)
_NEVER_STEPS: Final = 120_000
_CYCLE_YEARS: Final = 400
_LAST_CYCLE: Final = 9500
# How long a period lasts, how many steps of work it is by itself, and how many days an instance may fall on.
_PERIODS: Final[Mapping[str, tuple[timedelta, float, int]]] = {
    "YEARLY": (timedelta(days=365), 12, 366),
    "MONTHLY": (timedelta(days=28), 2, 31),
    "WEEKLY": (timedelta(days=7), 1.5, 7),
    "DAILY": (timedelta(days=1), 1, 1),
    "HOURLY": (timedelta(hours=1), 1, 1),
    "MINUTELY": (timedelta(minutes=1), 1, 1),
    "SECONDLY": (timedelta(seconds=1), 1, 1),
}
_DAYS: Final = ("BYDAY", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO")
_TIMES: Final = ("BYHOUR", "BYMINUTE", "BYSECOND")
_MAX_LIST: Final = 366

TOO_OFTEN: Final = "its rule repeats too often to be followed; end it with COUNT or UNTIL"
NEVER: Final = "its rule never comes true"


class Budget:
    """The work that one reading may spend on rules."""

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self._left = steps

    def spend(self, steps: int, rule: str) -> None:
        """Raises InvalidInput for a rule that is too much by itself, and when nothing is left."""
        if steps > MAX_RULE_STEPS:
            raise InvalidInput("RRULE", rule, TOO_OFTEN)
        self._left -= steps
        if self._left < 0:
            raise InvalidInput("RRULE", rule, "the calendar has too many rules that are laborious to follow")


def checked_rule(rule: vRecur, start: date, stop: datetime, zone: tzinfo, budget: Budget) -> vRecur:
    """The rule as it can be expanded up to `stop`, its UNTIL in UTC (or a date, for events of whole days).

    Raises InvalidInput for a rule that can't be understood, is too much work, or never comes true.
    """
    text = _text(rule)
    ready = vRecur({key: list(value) if isinstance(value, list) else [value] for key, value in rule.items()})
    if str(ready.pop("RSCALE", ["GREGORIAN"])[0]).upper() != "GREGORIAN":
        raise InvalidInput("RRULE", text, "only rules of the Gregorian calendar are followed")
    ready.pop("SKIP", None)
    frequency = str(_only(ready, "FREQ", text)).upper()
    if frequency not in _PERIODS:
        raise InvalidInput("RRULE", text, f"its FREQ has to be one of {', '.join(_PERIODS)}")
    if any(len(value) > _MAX_LIST for value in ready.values()):
        raise InvalidInput("RRULE", text, f"a list in it has at most {_MAX_LIST} values")
    if "UNTIL" in ready and "COUNT" in ready:
        raise InvalidInput("RRULE", text, "it may end with COUNT or with UNTIL, not with both")
    if "UNTIL" in ready:
        until = _until(_only(ready, "UNTIL", text), start, zone)
        ready["UNTIL"] = [until]
        if _naive(until) > _naive(stop) + _FAR:  # the year 9999, as some write "for ever", can't be calculated with
            del ready["UNTIL"]
    budget.spend(_steps(ready, frequency, start, stop, text), text)
    if any(key.startswith("BY") for key in ready) and not _comes_true(ready, start, text):
        budget.spend(_NEVER_STEPS, text)
        raise InvalidInput("RRULE", text, NEVER)
    return ready


def _text(rule: vRecur) -> str:
    try:
        return _as_ical(rule)
    except (AttributeError, TypeError, ValueError):  # the errors to come have to name it all the same
        return str(dict(rule))


def _as_ical(rule: vRecur) -> str:
    return cast("bytes", rule.to_ical()).decode("utf-8", "replace")  # type: ignore[no-untyped-call]


def _only(rule: vRecur, key: str, text: str) -> object:
    values = rule.get(key) or []
    if len(values) != 1:
        raise InvalidInput("RRULE", text, f"it has to have one {key}")
    return values[0]


def _until(until: object, start: date, zone: tzinfo) -> date:
    """RFC 5545 wants UTC. Writers who give the local time, or the last day, mean it: it is included."""
    if not isinstance(until, date):
        raise InvalidInput("UNTIL", until, "it has to be a date or a time")
    if not isinstance(start, datetime):
        if isinstance(until, datetime):
            return (until.astimezone(zone) if until.tzinfo else until).date()
        return until
    if not isinstance(until, datetime):
        until = datetime.combine(until, time(23, 59, 59))
    if until.tzinfo is None:
        until = until.replace(tzinfo=zone)
    try:
        return until.astimezone(UTC)
    except OverflowError:  # the first and last day there is: nothing lies beyond them
        return until.replace(tzinfo=UTC)


def _steps(rule: vRecur, frequency: str, start: date, stop: datetime, text: str) -> int:
    """An upper bound of the work between the first instance and `stop`."""
    period, weight, days = _PERIODS[frequency]
    interval = _number(rule, "INTERVAL", 1, text)
    first, last = _naive(start), _naive(stop)
    if "UNTIL" in rule:
        last = min(last, _naive(rule["UNTIL"][0]) + _DAY)
    periods = max(0.0, (last - first) / period) / interval
    times = 1
    for key in _TIMES:
        times *= max(1, len(rule.get(key, ())))
    each = times * (days if any(key in rule for key in _DAYS) else 1)
    if "COUNT" in rule and not any(key.startswith("BY") for key in rule):
        periods = min(periods, _number(rule, "COUNT", 1, text))
    return round(periods * (weight + each))


def _number(rule: vRecur, key: str, default: int, text: str) -> int:
    if key not in rule:
        return default
    value = _only(rule, key, text)
    if not isinstance(value, int) or value < 1:
        raise InvalidInput("RRULE", text, f"its {key} has to be a whole number above 0")
    return value


def _naive(moment: date) -> datetime:
    if isinstance(moment, datetime):
        return moment.replace(tzinfo=None)
    return datetime.combine(moment, time())


def _comes_true(rule: vRecur, start: date, text: str) -> bool:
    """Whether the rule has any instance, asked in the last years there are: the calendar repeats every 400 years."""
    first = _naive(start)
    asked = vRecur({key: value for key, value in rule.items() if key not in {"UNTIL", "COUNT"}})
    cycles = max(0, -(-(_LAST_CYCLE - first.year) // _CYCLE_YEARS))
    try:
        found = rrulestr(_as_ical(asked), dtstart=first.replace(year=first.year + cycles * _CYCLE_YEARS))
        return next(iter(found), None) is not None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise InvalidInput("RRULE", text, f"it can't be understood ({error})") from error
