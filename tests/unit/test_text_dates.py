"""Dates as terms: a question that names a date in any of the known languages finds the memories of that date."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.text import date_terms, query_date_terms

MONTH_NAMES = {
    "English": "January February March April May June July August September October November December",
    "Spanish": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "German": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "French": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "Portuguese": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "Italian": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "Dutch": "januari februari maart april mei juni juli augustus september oktober november december",
    "Russian": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "Arabic": "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
}
DAY_BEFORE = {"Spanish": "el {} de {}", "Portuguese": "no dia {} de {}", "German": "am {}. {}", "French": "le {} {}"}


@pytest.mark.parametrize("language", MONTH_NAMES)
def test_every_month_is_known_beside_a_day_and_a_year_in_every_language(language: str) -> None:
    for month, name in enumerate(MONTH_NAMES[language].split(), 1):
        written = DAY_BEFORE.get(language, "{} {}").format(8, name)
        assert query_date_terms(written) == [f"@m{month}", f"@m{month}d8"]
        assert query_date_terms(f"{name} 2023") == [f"@m{month}", "@y2023"]


MAY = ["@m5"]
MAY_8 = ["@m5", "@m5d8"]
MAY_8_2023 = ["@m5", "@m5d8", "@y2023"]
NAMED = {
    "in May": MAY,
    "last May": MAY,
    "early May": MAY,
    "mid-May": MAY,
    "before May, or in June": ["@m5", "@m6"],
    "May 8": MAY_8,
    "May 8th": MAY_8,
    "the 8th of May": MAY_8,
    "8 MAY": MAY_8,
    "May the 8th": MAY_8,
    "May 8, 2023": MAY_8_2023,
    "8 May 2023": MAY_8_2023,
    "May 2023": ["@m5", "@y2023"],
    "May of 2023": ["@m5", "@y2023"],
    "since January": ["@m1"],
    "April showers": ["@m4"],
    "in Sep": ["@m9"],
    "Sept 3": ["@m9", "@m9d3"],
    "on Dec. 24": ["@m12", "@m12d24"],
    "Jan 2024": ["@m1", "@y2024"],
    "2023-05-08": ["@y2023", "@m5", "@m5d8"],
    "2023/5/8": ["@y2023", "@m5", "@m5d8"],
    "what happened in 1999?": ["@y1999"],
    "2019 or 2020": ["@y2019", "@y2020"],
    "el 8 de mayo de 2023": MAY_8_2023,
    "a finales de mayo": MAY,
    "en julio": ["@m7"],
    "le 1er mars": ["@m3", "@m3d1"],
    "au mois de mai": MAY,
    "en mars": ["@m3"],
    "im Mai": MAY,
    "am 8. Mai 2023": MAY_8_2023,
    "Ende März": ["@m3"],
    "em março": ["@m3"],
    "1º de maio": ["@m5", "@m5d1"],
    "a maggio": MAY,
    "in mei": MAY,
    "8-го мая": MAY_8,
    "в мае": MAY,
    "в марте": ["@m3"],
    "في مايو": MAY,
    "٨ مايو ٢٠٢٣": MAY_8_2023,
    "5月8日去了哪里": MAY_8,
    "2023年5月8日に何をした": MAY_8_2023,
    "去年五月": MAY,
    "十二月二十五号": ["@m12", "@m12d25"],
    "2023년 5월 8일": MAY_8_2023,
}
NO_DATES = """
    I may go | may I come in? | this may be wrong | 10 may be enough | what did May say? | march on | we march on Rome
    sep | mar y sol | Jan called | mit Jan | dec | nov schmov | la casa de Julio | mayo on my fries | Marco está aqui
    mars attacks | non, jamais mai | Марта пришла | mei mei | 8/5 | 8/5/2023 | 15:30 | $2000 | 2000% | 12023 | 20231
    version 2.2019.1 | room 2019b | user_2019@x.org | 三个月 | 3个月 | 二十一月 | 13月
    dismay 8 | maya 8 | juneau 8 | 1899 | 2100
    @m5 @y2023
"""


@pytest.mark.parametrize(("text", "found"), NAMED.items())
def test_a_date_that_a_question_names_is_asked_for(text: str, found: list[str]) -> None:
    assert query_date_terms(text) == found
    assert query_date_terms(f"Ada? {text}?") == found


@pytest.mark.parametrize("text", [text.strip() for text in NO_DATES.replace("\n", "|").split("|") if text.strip()])
def test_what_is_no_date_asks_for_none(text: str) -> None:
    assert query_date_terms(text) == []


@pytest.mark.parametrize(
    ("text", "found"), [("February 30", ["@m2"]), ("29 February", ["@m2", "@m2d29"]), ("May 0", MAY)]
)
def test_a_day_that_a_month_does_not_have_is_none(text: str, found: list[str]) -> None:
    assert query_date_terms(text) == found


def test_a_list_of_many_dates_is_bounded() -> None:
    assert len(query_date_terms(", ".join(f"{day} May" for day in range(1, 31)))) == 16


def test_the_day_of_a_memory_is_its_day_in_utc() -> None:
    assert date_terms(datetime(2023, 5, 8, 1, tzinfo=timezone(timedelta(hours=2)))) == ["@y2023", "@m5", "@m5d7"]
    assert date_terms(datetime(99, 1, 1, tzinfo=UTC)) == ["@y99", "@m1", "@m1d1"]


@given(st.dates())
def test_a_question_by_iso_date_asks_for_what_a_memory_of_that_day_has(day: datetime) -> None:
    asked = query_date_terms(f"What was on {day.isoformat()}?")
    known = 1900 <= day.year < 2100
    assert asked == (date_terms(datetime(day.year, day.month, day.day, tzinfo=UTC)) if known else [])


@given(st.text(max_size=60))
def test_no_text_is_an_error(text: str) -> None:
    for term in query_date_terms(f"{text} in May {text}"):
        assert term.startswith("@")
