"""Dates as terms: a memory has the terms of its day, and a question that names a date asks for them.

A term begins with @, which no word of a text does: `@y2023` is a year, `@m5` a month of any year, `@m5d8` a day of any
year. A question names a date by month, by month and day, or by year; nothing is guessed about 8/5.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import regex

from perdure.text.folding import fold

MAX_DATE_TERMS: Final = 16
"""The most date terms a question has: a few dates; a longer list of them asks for none in particular."""
MAX_DATE_CHARS: Final = 8192
"""How far into a question dates are looked for, in characters."""

# Names of the twelve months in folded form, alternatives joined by /.
_MONTHS: Final = """
    january/enero/januar/janner/janvier/janeiro/gennaio/januari/январь/января/январе/يناير
    february/febrero/februar/feber/fevrier/fevereiro/febbraio/februari/февраль/февраля/феврале/فبراير
    march/marzo/marz/mars/marco/maart/март/марта/марте/مارس
    april/abril/avril/aprile/апрель/апреля/апреле/ابريل
    may/mayo/mai/maio/maggio/mei/май/мая/мае/مايو
    june/junio/juni/juin/junho/giugno/июнь/июня/июне/يونيو
    july/julio/juli/juillet/julho/luglio/июль/июля/июле/يوليو
    august/agosto/aout/augustus/август/августа/августе/اغسطس
    september/septiembre/setiembre/septembre/setembro/settembre/сентябрь/сентября/сентябре/سبتمبر
    october/octubre/oktober/octobre/outubro/ottobre/октябрь/октября/октябре/اكتوبر
    november/noviembre/novembre/novembro/ноябрь/ноября/ноябре/نوفمبر
    december/diciembre/dezember/decembre/dezembro/dicembre/декабрь/декабря/декабре/ديسمبر
"""
_SHORT_MONTHS: Final = """
    jan/ene/janv feb/fev/fevr mar/mrz/mrt apr/abr/avr - jun jul/juil aug sep/sept oct/okt nov dec/dic/dez
"""
"""These are words of other kinds, too; like `_AMBIGUOUS` they count only beside a day, a year or a word of time."""
_AMBIGUOUS: Final = "may march mayo julio mars mai mei marco марта марте مارس مايو"

# What makes an ambiguous word a month when it stands before it, and the words it does that for, language by language.
_WORDS_OF_TIME: Final = """
    in on of since until till during last this next early late mid by before after from between through:
        may march jan feb mar apr jun jul aug sep sept oct nov dec |
    en desde hasta durante: mayo julio ene feb mar abr jun jul sep sept oct nov dic |
    im seit bis ab ende anfang mitte letzten diesen nachsten vergangenen:
        mai jan feb mrz apr jun jul aug sep okt nov dez |
    en depuis debut fin mi jusqu'en: mars mai janv fevr avr juil sept oct nov dec |
    em desde ate durante: marco mai jan fev abr jun jul nov dez |
    in sinds tot eind begin half vanaf tijdens vorige deze volgende:
        mei jan feb mrt apr jun jul aug sep sept okt nov dec |
    в с до после к конце конца начале начала середине: марта марте |
    في شهر منذ حتى خلال قبل بعد: مارس مايو
"""
_OF_A_MONTH: Final = "mes mois finales final fin fim inicio inicios principios comeco meados mediados fine meta"
"""After one of these, `de` or `di` speaks of a month: a finales de mayo. Alone it doesn't: la casa de Julio."""


def _month_names() -> dict[str, int]:
    rows = enumerate(_MONTHS.split(), 1)
    short = enumerate(_SHORT_MONTHS.split(), 1)
    names = {name: month for month, row in (*rows, *short) for name in row.split("/")}
    del names["-"]
    return names


def _before() -> dict[str, frozenset[str]]:
    """For each ambiguous word the words of time that may stand before it."""
    ambiguous = f"{_AMBIGUOUS} {_SHORT_MONTHS}".replace("/", " ").replace("-", " ").split()
    found: dict[str, set[str]] = {name: set() for name in ambiguous}
    for language in _WORDS_OF_TIME.split("|"):
        words, months = language.split(":")
        for name in months.split():
            found[name].update(words.split())
    # "This may be so" is said more often than "this May".
    found["may"].discard("this")
    return {name: frozenset(words) for name, words in found.items()}


_NUMBER_OF: Final = _month_names()
_NEEDS: Final = _before()

_NAMES: Final = "|".join(sorted(_NUMBER_OF, key=len, reverse=True))
_ORDINAL: Final = r"(?:st|nd|rd|th|er|eme|o|a|e|-?го|-?е|-?ое|\.)?+"
_YEAR: Final = r"(?:19|20)[0-9]{2}(?![0-9])"
_MONTH: Final = regex.compile(
    rf"(?:(?<![0-9.,:/])(?P<before>[0-9]{{1,2}}){_ORDINAL}\s{{0,2}}(?:(?:of|de|di|del|d')\s?)?|(?<![\p{{L}}\p{{M}}\p{{N}}@_]))"
    rf"(?P<name>{_NAMES})(?![\p{{L}}\p{{M}}\p{{N}}_]|(?<=may)\s(?:be|have|not|also|well|still)\b)"
    rf"(?:\.?\s{{1,2}}(?:the\s)?(?P<after>[0-9]{{1,2}}){_ORDINAL}(?![\p{{L}}\p{{N}}:%]|[.,][0-9]))?"
    rf"(?P<year>\.?,?\s{{0,2}}(?:(?:of|de|del|do|van)\s)?{_YEAR})?"
)
_LAST_WORDS: Final = regex.compile(r"(?<![\p{L}'])(?:([\p{L}']++)[\s-]++)?([\p{L}']++)[\s-]++\Z")
_LOOK_BACK: Final = 32
_NUMERIC: Final = regex.compile(
    r"(?<![0-9.,/-])((?:19|20)[0-9]{2})([-/.])([0-9]{1,2})\2([0-9]{1,2})(?![0-9]|[-/.][0-9])"
)
_LONE_YEAR: Final = regex.compile(
    rf"(?<![\p{{L}}\p{{N}}$€£¥₽#.,:@_/+]){_YEAR}(?![\p{{Script=Latin}}_%€$£¥₽@]|[.,:][0-9])"
)
_CHARACTERS: Final = "〇一二三四五六七八九十"
_DIGITS: Final = rf"[0-9]{{1,2}}|[{_CHARACTERS}]{{1,3}}"
_EAST_ASIAN: Final = regex.compile(
    rf"(?<![0-9.{_CHARACTERS}])(?P<month>{_DIGITS})\s?[月월](?:\s?(?P<day>{_DIGITS})\s?[日号號일])?"
)


def date_terms(moment: datetime) -> list[str]:
    """The terms of the day of `moment` in UTC.

    >>> date_terms(datetime(2023, 5, 8, tzinfo=UTC))
    ['@y2023', '@m5', '@m5d8']
    """
    day = moment.astimezone(UTC)
    return [f"@y{day.year}", f"@m{day.month}", f"@m{day.month}d{day.day}"]


def query_date_terms(text: str) -> list[str]:
    """The distinct terms of the dates that a question names, at most `MAX_DATE_TERMS`; mostly none.

    Month names of English, Spanish, German, French, Portuguese, Italian, Dutch, Russian and Arabic; dates that begin
    with a year; 5月8日 and 2023年.

    >>> query_date_terms("Where was Ada on May 8th, 2023?"), query_date_terms("Where may Ada be?")
    (['@m5', '@m5d8', '@y2023'], [])
    """
    folded = fold(text[:MAX_DATE_CHARS])
    found = dict.fromkeys((*_named(folded), *_numeric(folded), *_east_asian(folded), *_years(folded)))
    return list(found)[:MAX_DATE_TERMS]


def _terms(month: int, day: int | None) -> Iterator[str]:
    if 1 <= month <= 12:  # noqa: PLR2004 - months
        yield f"@m{month}"
        # 2024 has all the days that a month can have.
        if day is not None and 1 <= day <= monthrange(2024, month)[1]:
            yield f"@m{month}d{day}"


def _named(folded: str) -> Iterator[str]:
    for match in _MONTH.finditer(folded):
        name, day = match["name"], match["before"] or match["after"]
        if (
            name not in _NEEDS
            or day
            or match["year"]
            or _is_time(folded[max(0, match.start() - _LOOK_BACK) : match.start()], name)
        ):
            yield from _terms(_NUMBER_OF[name], int(day) if day else None)


def _is_time(before: str, name: str) -> bool:
    """Whether the words before an ambiguous word make it a month."""
    match = _LAST_WORDS.search(before)
    if match is None:
        return False
    return match[2] in _NEEDS[name] or (match[2] in {"de", "di"} and match[1] in _OF_A_MONTH.split())


def _numeric(folded: str) -> Iterator[str]:
    for match in _NUMERIC.finditer(folded):
        yield f"@y{match[1]}"
        yield from _terms(int(match[3]), int(match[4]))


def _east_asian(folded: str) -> Iterator[str]:
    for match in _EAST_ASIAN.finditer(folded):
        day = match["day"]
        yield from _terms(_number(match["month"]), _number(day) if day else None)


def _number(written: str) -> int:
    """A number below 100, in digits or as 二十一; 0 for what is none."""
    if written.isdecimal():
        return int(written)
    tens, ten, ones = written.rpartition("十")
    if len(tens) > 1 or len(ones) > 1:
        return 0
    return (_CHARACTERS.index(tens) if tens else 1 if ten else 0) * 10 + (_CHARACTERS.index(ones) if ones else 0)


def _years(folded: str) -> Iterator[str]:
    for match in _LONE_YEAR.finditer(folded):
        yield f"@y{match[0]}"
