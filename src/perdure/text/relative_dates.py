"""Dates that are named from today: yesterday, two weeks ago, last Tuesday, in the languages that months are known in.

A day gives the terms of that day; two weeks ago those of the days around it as well, since nobody counts so exactly;
last week, month or year their own. Nothing is guessed about days to come, nor about spans that reach up to today ("in
the last month").
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Final

import regex

from perdure.text.folding import fold
from perdure.text.stopwords import STOP_WORDS, function_words

MAX_CHARS: Final = 2048
"""How far into a question such words are looked for, in characters."""

_MOST: Final = 200
"""The largest number of days, weeks, months or years back that is understood."""

_NUMBERS: Final = """
    a/an/un/una/une/um/uma/uno/ein/eine/einem/einer/een/one/один/одну/一
    two/couple/dos/deux/zwei/dois/duas/due/twee/два/две/二/两/兩
    three/tres/trois/drei/tre/drie/три/三
    four/cuatro/quatre/vier/quatro/quattro/четыре/四
    five/cinco/cinq/funf/cinque/vijf/пять/五
    six/seis/sechs/sei/zes/шесть/六
    seven/siete/sept/sieben/sete/sette/zeven/семь/七
    eight/ocho/huit/acht/oito/otto/восемь/八
    nine/nueve/neuf/neun/nove/negen/девять/九
    ten/diez/dix/zehn/dez/dieci/tien/десять/十
"""
_UNITS: Final = {
    "day": """days? dias? jours? tage? tagen giorn[oi] dag(?:en)? день дня дней дни يوم ايام 天 日 일""",
    "week": """weeks? semanas? semaines? wochen? settiman[ae] weken недел[яюие] недель اسبوع اسابيع 个?星期 个?礼拜 周
        週間? 주일?""",
    "month": """months? mes(?:es)? mois monate?n? mes[ei] maand(?:en)? месяц(?:а|ев|е)? شهر اشهر شهور 个月 [ヶかカケ]月
        개월 달""",
    "year": """years? anos? an(?:s|nees?|nee)? jahre?n? ann[oi] jaar год[ау]? лет سنه سنوات عام اعوام 年 년""",
}
# Arabic has a form of its own for two of a thing.
_TWO: Final = {"يومين": "day", "اسبوعين": "week", "شهرين": "month", "سنتين": "year", "عامين": "year"}
_WEEKDAYS: Final = """
    monday/lunes/lundi/montag/segunda(?:-feira)?/lunedi/maandag/понедельник/الاثنين/월요일/[周期拜]一/月曜日?
    tuesday/martes/mardi/dienstag/terca(?:-feira)?/martedi/dinsdag/вторник/الثلاثاء/화요일/[周期拜]二/火曜日?
    wednesday/miercoles/mercredi/mittwoch/quarta(?:-feira)?/mercoledi/woensdag/среду/الاربعاء/수요일/[周期拜]三/水曜日?
    thursday/jueves/jeudi/donnerstag/quinta(?:-feira)?/giovedi/donderdag/четверг/الخميس/목요일/[周期拜]四/木曜日?
    friday/viernes/vendredi/freitag/sexta(?:-feira)?/venerdi/vrijdag/пятницу/الجمعه/금요일/[周期拜]五/金曜日?
    saturday/sabado/samedi/samstag/sabato/zaterdag/субботу/السبت/토요일/[周期拜]六/土曜日?
    sunday/domingo/dimanche/sonntag/domenica/zondag/воскресенье/الاحد/일요일/[周期拜][日天]/日曜日?
"""
_LAST_SPANS: Final = {
    "week": "week semana semaine woche settimana недел[еюя] اسبوع الاسبوع",
    "month": "month mes mois monat mese maand месяц[е]? شهر الشهر",
    "year": "year ano annee an jahr anno jaar год[у]? السنه العام",
    "weekend": r"weekend week-end wochenende fi[nm]\sde\ssemana fine\ssettimana выходные",
}
_DAY_WORDS: Final = (
    "today tonight hoy aujourd'hui heute hoje oggi vandaag сегодня اليوم 今天 今日 오늘",
    "yesterday ayer hier gestern ontem ieri gisteren вчера امس البارحه 昨天 昨日 きのう 어제",
    "anteayer avant-hier vorgestern anteontem eergisteren позавчера 前天 一昨日 おととい 그저께",
)
_EAST_ASIAN_SPANS: Final = {
    "week": r"上个?(?:周|星期|礼拜)(?![一二三四五六日天末])|先週(?!の?[月火水木金土日]曜)|지난\s?주(?!말)",
    "month": r"上个?月|先月|지난\s?달",
    "year": r"去年|昨年|작년|지난\s?해",
    "weekend": r"上(?:个|周|个?星期|个?礼拜)末|先週末|지난\s?주말",
}

_WORD: Final = r"(?<![\p{L}\p{M}\p{N}'-])"
_END: Final = r"(?![\p{L}\p{M}\p{N}'-])"
_SPACED: Final = r"[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Arabic}]"
_BEFORE: Final = "last|letzte[nrs]?|vorige[nrs]?|vorig|afgelopen|scors[oa]|прошл(?:ый|ую|ое|ой|ом|ые)"
_AFTER: Final = "pasad[oa]|derni[e]re?|passad[oa]|scors[oa]|الماضي[ه]?"


def _any(names: str) -> str:
    return "|".join(sorted(names.split(), key=len, reverse=True))


_NUMBER_OF: Final = {name: n for n, row in enumerate(_NUMBERS.split(), 1) for name in row.split("/")}
_COUNT: Final = rf"(?:a\s(?=couple))?(?P<count>[0-9]{{1,3}}|(?:{_any(' '.join(_NUMBER_OF))}))(?:\sof)?"
_UNIT: Final = "|".join(rf"(?P<{unit}>{_any(names)})" for unit, names in _UNITS.items())
_AGO: Final = tuple(
    regex.compile(pattern)
    for pattern in (
        rf"{_WORD}(?:hace|il\sy\sa|vor|قبل|منذ)\s{_COUNT}\s(?:{_UNIT}){_END}",
        rf"{_WORD}{_COUNT}\s(?:{_UNIT})\s(?:ago|atras|fa|geleden|назад){_END}",
        rf"{_WORD}ha\s{_COUNT}\s(?:(?P<day>dias?)|(?P<week>semanas?)|(?P<month>mes(?:es)?)|(?P<year>anos?)){_END}",
        rf"{_WORD}(?:(?P<week>неделю)|(?P<month>месяц)|(?P<year>год))\sназад{_END}",
        rf"{_WORD}(?:قبل|منذ)\s(?P<two>{_any(' '.join(_TWO))}){_END}",
        rf"(?<![0-9]){_COUNT}\s?(?:{_UNIT})\s?(?:之前|以前|前|전)",
    )
)
_WEEKDAY: Final = "|".join(rf"(?P<w{n}>{row.replace('/', '|')})" for n, row in enumerate(_WEEKDAYS.split()))
_SPAN: Final = "|".join(rf"(?P<{span}>{_any(names)})" for span, names in _LAST_SPANS.items())
_LAST: Final = tuple(
    regex.compile(pattern)
    for pattern in (
        rf"{_WORD}(?<!\bthe\s)(?:{_BEFORE})\s(?:{_WEEKDAY}|{_SPAN}){_END}",
        rf"(?<![\p{{L}}\p{{M}}\p{{N}}])(?:{_WEEKDAY}|{_SPAN})\s(?:{_AFTER}){_END}",
        rf"上个?(?:(?=周|星期|礼拜)(?:星|礼)?)(?:{_WEEKDAY})|(?:先週の?|지난\s?주?\s)(?:{_WEEKDAY})",
        "|".join(rf"(?P<{span}>{pattern})" for span, pattern in _EAST_ASIAN_SPANS.items()),
    )
)
_DAY_WORD: Final = regex.compile(
    "|".join(
        rf"(?P<ago{ago}>{_WORD}(?:{_any(' '.join(w for w in words.split() if regex.match(_SPACED, w)))}){_END}"
        rf"|{_any(' '.join(w for w in words.split() if not regex.match(_SPACED, w)))})"
        for ago, words in enumerate(_DAY_WORDS)
    )
)


_LETTERS: Final = regex.compile(r"\p{L}+")
_SIGNS: Final = regex.compile(
    r"\L<signs>",
    signs=[
        *(f" {sign}" for sign in ("ago", "atras", "geleden", "назад", "fa ", "ha ", "vor ", "hace ", "il y a ", "قبل")),
        *("منذ", "前", "전", "上", "去", "先", "昨", "지난", "작년", "الماضي", "прошл", " last ", "letzt", " vorig"),
        *("afgelopen", "scors", "pasad", "passad", "derni"),
        *" ".join(_DAY_WORDS).split(),
    ],
)
"""One of these stands in all that is looked for; looking for them alone takes a tenth of the time."""


def relative_date_terms(text: str, asked_at: datetime) -> list[str]:
    """The distinct terms of the dates that a question names from the day it is asked, in UTC; mostly none.

    >>> relative_date_terms("What did I buy yesterday?", datetime(2024, 3, 1, tzinfo=UTC))
    ['@m2', '@m2d29', '@y2024']
    >>> relative_date_terms("¿A quién vi el mes pasado?", datetime(2024, 1, 5, tzinfo=UTC))
    ['@m12', '@y2023']
    """
    folded, today = fold(text[:MAX_CHARS]), asked_at.astimezone(UTC).date()
    if _SIGNS.search(f" {folded} ") is None:
        return []
    try:
        found = [*_day_words(folded, today), *_ago(folded, today), *_last(folded, today)]
    except OverflowError:  # before the year 1
        return []
    return list(dict.fromkeys(found))


def _day_words(folded: str, today: date) -> Iterator[str]:
    for match in _DAY_WORD.finditer(folded):
        # In German it means "here".
        if match[0] == "hier" and function_words(_LETTERS.findall(folded)) is not STOP_WORDS["fr"]:
            continue
        yield from _days(today - timedelta(days=int(str(match.lastgroup).removeprefix("ago"))))


def _ago(folded: str, today: date) -> Iterator[str]:
    for pattern in _AGO:
        for match in pattern.finditer(folded):
            named = {name: text for name, text in match.groupdict().items() if text is not None}
            if "two" in named:
                unit, count = _TWO[named["two"]], 2
            else:
                written = named.pop("count", "1")
                unit, count = next(iter(named)), int(written) if written.isdecimal() else _NUMBER_OF[written]
            if count > _MOST:
                continue
            if unit == "day":
                yield from _days(today - timedelta(days=count))
            elif unit == "week":
                middle = today - timedelta(weeks=count)
                yield from _days(middle, middle - timedelta(days=1), middle + timedelta(days=1))
            elif unit == "month":
                yield from _days(_months_back(today, count))
            else:
                yield f"@y{today.year - count}"


def _last(folded: str, today: date) -> Iterator[str]:
    for pattern in _LAST:
        for match in pattern.finditer(folded):
            named = str(match.lastgroup)
            monday = today - timedelta(days=today.weekday())
            if named == "week":
                yield from _days(*(monday - timedelta(days=back) for back in (4, 7, 6, 5, 3, 2, 1)))
            elif named == "weekend":
                yield from _days(monday - timedelta(days=2), monday - timedelta(days=1))
            elif named == "month":
                month = _months_back(today, 1)
                yield from (f"@m{month.month}", f"@y{month.year}")
            elif named == "year":
                yield f"@y{today.year - 1}"
            else:
                back = (today.weekday() - int(named.removeprefix("w"))) % 7 or 7
                yield from _days(today - timedelta(days=back))


def _days(middle: date, *around: date) -> Iterator[str]:
    """A day with its month and year; days around it by themselves, since another month would be a wider guess."""
    yield from (f"@m{middle.month}", f"@m{middle.month}d{middle.day}", f"@y{middle.year}")
    for day in around:
        yield f"@m{day.month}d{day.day}"


def _months_back(today: date, count: int) -> date:
    year, month = divmod(today.year * 12 + today.month - 1 - count, 12)
    return date(year, month + 1, min(today.day, monthrange(year, month + 1)[1]))
