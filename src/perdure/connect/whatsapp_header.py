"""The head of a WhatsApp line in its many local spellings, and the order of day and month in one file.

"[08.05.23, 13:56:03] Ann: hi", "5/8/23, 1:56 PM - Ann: hi", "2023/5/8 下午1:56 - 安: 嗨",
"8.5.2023 klo 13.56 - Anu: moi".
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from datetime import datetime

from perdure.door import require_year
from perdure.errors import InvalidInput

MARKS = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Invisible marks of writing direction, which WhatsApp strews between the parts of a head."""

_M = f"[{MARKS}\ufeff]*"
_S = "[ \u00a0\u2009\u202f]"
_BEFORE = {"上午": 0, "凌晨": 0, "早上": 0, "清晨": 0, "中午": 12, "下午": 12, "晚上": 12, "오전": 0, "오후": 12}
_BEFORE |= {"午前": 0, "午後": 12}
_AFTER = {"am": 0, "pm": 12, "ص": 0, "م": 12, "πμ": 0, "μμ": 12, "sa": 0, "ch": 12, "pg": 0, "ptg": 12}
_AFTER_PATTERN = rf"[ap]\.?{_S}?m\.?|ص|م|[πμ]\.?{_S}?μ\.?|SA|CH|PG|PTG"

_DATE = (
    rf"(?P<a>\d{{1,4}}){_M}(?P<mark>[./\-]|[年년]){_S}?{_M}(?P<b>\d{{1,2}}){_M}(?:[./\-]|[月월]){_S}?{_M}"
    rf"(?P<c>\d{{1,4}}){_M}(?:[.日일]|{_S}(?:г\.|BE))?"
)
_JOINT = rf"[,،、]?(?:{_S}(?:à|às|klo|kl\.?|um|в))?{_S}?{_M}"
_TIME = (
    rf"(?:(?P<before>{'|'.join(_BEFORE)}){_S}?)?(?P<hour>\d{{1,2}})[:.](?P<minute>\d{{2}})(?:[:.](?P<second>\d{{2}}))?"
    rf"{_M}(?:{_S}?(?P<after>{_AFTER_PATTERN}))?{_M}"
)
_BRACKETED = re.compile(rf"{_M}\[{_M}{_DATE}{_JOINT}{_TIME}\]{_S}?(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_DASHED = re.compile(rf"{_M}{_DATE}{_JOINT}{_TIME}{_S}[-–—]{_S}(?P<rest>.*)", re.IGNORECASE | re.DOTALL)

_LAST_DAY, _LAST_MONTH, _NOON = 31, 12, 12
_YEAR_DIGITS = 3  # this many digits or more make a year of the first number
_BUDDHIST, _BUDDHIST_FIRST, _BUDDHIST_LAST = 543, 2443, 2743
_CENTURY = 2000
_HEAD_MUST_BEGIN_WITHIN = 16
_LONGEST_HEAD = 120  # characters; so that no crafted line costs more than a glance


@dataclass(frozen=True, slots=True)
class Header:
    """The numbers of a head as written, and what follows it on the line."""

    first: int
    second: int
    third: int
    mark: str
    year_first: bool
    hour: int
    minute: int
    seconds: int
    half_day: int | None
    bracketed: bool
    rest: str
    written: str

    def moment(self, *, day_first: bool) -> datetime:
        """The local time without a zone. Raises InvalidInput for a day, month, hour or year that doesn't exist."""
        if self.year_first:
            year, month, day = self.first, self.second, self.third
        else:
            year = self.third
            day, month = (self.first, self.second) if day_first else (self.second, self.first)
        year = year + _CENTURY if year < 100 else year  # noqa: PLR2004  # two digits
        year = year - _BUDDHIST if _BUDDHIST_FIRST <= year <= _BUDDHIST_LAST else year
        require_year(self.written, "time", year)
        hour = self.hour if self.half_day is None or self.hour > _NOON else self.hour % _NOON + self.half_day
        try:
            return datetime(year, month, day, hour, self.minute, self.seconds)  # noqa: DTZ001  # its zone comes later
        except ValueError as error:
            order = "day.month.year" if day_first else "month/day/year"
            limit = f"read as {'year-month-day' if self.year_first else order}, it must be a time that exists"
            raise InvalidInput("time", self.written, limit) from error


def parse_header(line: str) -> Header | None:
    """The head of a line, or None when the line continues the message before it."""
    if not any(character.isdigit() for character in line[:_HEAD_MUST_BEGIN_WITHIN]):
        return None
    head, beyond = line[:_LONGEST_HEAD], line[_LONGEST_HEAD:]
    bracketed = _BRACKETED.match(head)
    found = bracketed or _DASHED.match(head)
    if found is None:
        return None
    before, after = found["before"], found["after"]
    half_day = _BEFORE[before] if before else None
    if after:
        half_day = _AFTER[re.sub(r"[.\s]", "", unicodedata.normalize("NFKC", after)).casefold()]
    return Header(
        first=int(found["a"]),
        second=int(found["b"]),
        third=int(found["c"]),
        mark=found["mark"],
        year_first=len(found["a"]) >= _YEAR_DIGITS,
        hour=int(found["hour"]),
        minute=int(found["minute"]),
        seconds=int(found["second"] or 0),
        half_day=half_day,
        bracketed=bracketed is not None,
        rest=found["rest"] + beyond,
        written=line[: found.start("rest")].strip(f" -–—{MARKS}\ufeff"),
    )


@dataclass(slots=True)
class DayOrder:
    """What a whole file says about the order of day and month.

    A number above 12 proves it. Failing that, messages stand in the order of time: where one reading runs backwards
    and the other never does, the other is right. A file that stays silent is read as asked, else as its spelling
    suggests: month first for 5/8/23, 1:56 PM, as in the United States; day first everywhere else.
    """

    headers: int = 0
    _proofs: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    _backward: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    _previous: dict[bool, tuple[int, int, int]] = field(default_factory=dict)
    _american: bool = False
    _open: bool = False

    def see(self, header: Header) -> None:
        """Take one head into account."""
        self.headers += 1
        low, high = sorted((header.first, header.second))
        if header.year_first or high > _LAST_DAY:
            return
        if high > _LAST_MONTH:
            if low <= _LAST_MONTH:
                self._proofs[header.first == high] += 1
            return
        self._open |= low < high
        self._american |= header.mark == "/" and header.half_day is not None and not header.bracketed
        for day_first in (True, False):
            month, day = (header.second, header.first) if day_first else (header.first, header.second)
            date = (header.third, month, day)
            self._backward[day_first] += date < self._previous.get(day_first, date)
            self._previous[day_first] = date

    def decide(self, asked: bool | None) -> tuple[bool, str | None]:
        """Whether the day comes first, and a note for the person where that is not certain or not as asked."""
        if any(self._proofs.values()):
            return self._proven(asked)
        for day_first in (True, False):
            if self._backward[day_first] == 0 < self._backward[not day_first]:
                return day_first, None
        if asked is not None or not self._open:
            return asked is not False, None
        day_first = not self._american
        return day_first, (
            f"No date in the file shows whether day or month comes first; they were read with the {_first(day_first)} "
            "first. If that is wrong, say which it is (day_first)."
        )

    def _proven(self, asked: bool | None) -> tuple[bool, str | None]:
        day_first = self._proofs[True] >= self._proofs[False]
        note = None
        if self._proofs[not day_first]:
            odd = self._proofs[not day_first]
            note = f"Dates that can't be read with the {_first(day_first)} first, as the others are: {odd}."
        elif asked is not None and asked != day_first:
            note = f"The dates of the file prove that the {_first(day_first)} comes first."
        return day_first, note


def _first(day_first: bool) -> str:
    return "day" if day_first else "month"
