"""Dates named from today are understood in many languages, exactly as far as they can be, and nothing else is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from time import perf_counter

import pytest

from perdure.text import date_terms, query_terms, relative_date_terms

WEDNESDAY = datetime(2024, 5, 15, 9, 30, tzinfo=UTC)


def terms_of(text: str) -> set[str]:
    return set(relative_date_terms(text, WEDNESDAY))


def days(middle: int, *around: int) -> set[str]:
    """The terms of the day so many days ago, and of days around it without their month and year."""
    others = (date_terms(WEDNESDAY - timedelta(days=ago))[-1] for ago in around)
    return {*date_terms(WEDNESDAY - timedelta(days=middle)), *others}


SAID_OF = {
    "yesterday": "What did I do yesterday?|¿Qué hice ayer?|Qu'ai-je fait hier soir avec elle ?|Was war gestern?"
    "|o que fiz ontem|cosa ho fatto ieri|wat deed ik gisteren|что я делал вчера|ماذا فعلت أمس|昨天我做了什么"
    "|昨日何をした|어제 뭐 했지",
    "three days ago": "3 days ago|three days ago|hace tres días|il y a 3 jours|vor drei Tagen|há três dias"
    "|tre giorni fa|drie dagen geleden|три дня назад|قبل 3 أيام|三天前|3日前|3일 전",
    "two weeks ago": "two weeks ago|a couple of weeks ago|a couple weeks ago|hace dos semanas"
    "|il y a deux semaines|vor zwei Wochen"
    "|duas semanas atrás|due settimane fa|twee weken geleden|две недели назад|قبل أسبوعين|两周前|二週間前|2주 전",
    "last Tuesday": "Who did I meet last Tuesday?|el martes pasado|mardi dernier|letzten Dienstag|terça-feira passada"
    "|martedì scorso|afgelopen dinsdag|в прошлый вторник|الثلاثاء الماضي|上周二|上个星期二|先週の火曜日|지난 화요일",
    "last week": "last week|la semana pasada|la semaine dernière|letzte Woche|semana passada|la settimana scorsa"
    "|vorige week|на прошлой неделе|الأسبوع الماضي|上周|上个星期|先週|지난주",
    "last weekend": "last weekend|el fin de semana pasado|le week-end dernier|am letzten Wochenende|上周末|지난 주말",
    "last month": "last month|el mes pasado|le mois dernier|letzten Monat|mês passado|il mese scorso|vorige maand"
    "|в прошлом месяце|الشهر الماضي|上个月|先月|지난달",
    "last year": "last year|el año pasado|l'année dernière|l'an dernier|letztes Jahr|l'anno scorso|vorig jaar"
    "|в прошлом году|السنة الماضية|去年|작년",
}
MEANT = {
    "yesterday": days(1),
    "three days ago": days(3),
    "two weeks ago": days(14, 13, 15),
    "last Tuesday": days(1),
    "last week": days(6, *range(3, 10)),
    "last weekend": days(3, 4),
    "last month": {"@m4", "@y2024"},
    "last year": {"@y2023"},
}


@pytest.mark.parametrize(
    ("said", "meant"), [(said, key) for key, texts in SAID_OF.items() for said in texts.split("|")]
)
def test_what_is_named_from_today_gives_the_terms_of_its_days(said: str, meant: str) -> None:
    assert terms_of(said) == MEANT[meant]


def test_months_ago_end_with_the_month_where_it_is_shorter() -> None:
    assert set(relative_date_terms("a month ago", datetime(2024, 3, 31, tzinfo=UTC))) == {"@m2", "@m2d29", "@y2024"}
    assert set(relative_date_terms("两个月前", datetime(2024, 1, 5, tzinfo=UTC))) == {"@m11", "@m11d5", "@y2023"}


@pytest.mark.parametrize(
    "text",
    [
        "What have I spent in the last month?",
        "the last day of school",
        "What was my last name?",
        "At last!",
        "Was steht hier?",
        "mio figlio ha due anni",
        "What will I do tomorrow?",
        "a few days ago",
        "5000 days ago",
        "999 years ago",
        "Chicago is far",
        "上海在哪里",
        "以前的事",
        "",
    ],
)
def test_what_names_no_day_gives_nothing(text: str) -> None:
    assert terms_of(text) == set()


def test_the_day_is_counted_in_utc_as_those_of_memories_are() -> None:
    evening_before = datetime(2024, 5, 15, 1, 0, tzinfo=timezone(timedelta(hours=9)))
    assert set(relative_date_terms("today", evening_before)) == set(date_terms(evening_before))


def test_a_time_before_all_calendars_gives_nothing() -> None:
    assert relative_date_terms("200 weeks ago", datetime(2, 1, 1, tzinfo=UTC)) == []


def test_a_query_counts_from_when_it_was_asked_and_from_no_other_date() -> None:
    assert query_terms("Who rang yesterday?", WEDNESDAY) == ["rang", "yesterday", "@m5", "@m5d14", "@y2024"]
    assert query_terms("Who rang yesterday?") == ["rang", "yesterday"]
    assert [term for term in query_terms("the week before last, May 3", WEDNESDAY) if "@" in term] == ["@m5", "@m5d3"]


@pytest.mark.parametrize(
    "text", ["a " * 2000, "1 day " * 2000, "last " * 2000, "上" * 5000, "прошл" * 2000, "ل " * 3000]
)
def test_no_text_takes_long(text: str) -> None:
    began = perf_counter()
    relative_date_terms(text, WEDNESDAY)
    assert perf_counter() - began < 0.5
