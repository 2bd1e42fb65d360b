"""Heads of WhatsApp lines in many countries' spelling, and the order of day and month."""

from __future__ import annotations

import pytest

from perdure.connect.whatsapp_header import DayOrder, Header, parse_header
from perdure.errors import InvalidInput


def head(line: str) -> Header:
    found = parse_header(line)
    assert found is not None
    return found


def order_of(*dates: str, time: str = "10:00") -> DayOrder:
    order = DayOrder()
    for date in dates:
        order.see(head(f"{date}, {time} - Ann: hi"))
    return order


@pytest.mark.parametrize(
    ("line", "local"),
    [
        ("[08.05.23, 13:56:03] Ann: hi", "2023-05-08T13:56:03"),
        ("08/05/23, 1:56 pm - Ann: hi", "2023-05-08T13:56:00"),
        ("08/05/23, 12:56\u202fam - Ann: hi", "2023-05-08T00:56:00"),
        ("08/05/23, 12:56 PM - Ann: hi", "2023-05-08T12:56:00"),
        ("08/05/23, 00:08 a. m. - Ann: hi", "2023-05-08T00:08:00"),
        ("8/5/23 1:56 p. m. - José: hola", "2023-05-08T13:56:00"),
        ("2023/5/8 下午1:56 - 安: 嗨", "2023-05-08T13:56:00"),
        ("[2023/5/8 上午12:01:03] 安: 嗨", "2023-05-08T00:01:03"),
        ("2023. 5. 8. 오후 1:56 - 이름: 내용", "2023-05-08T13:56:00"),
        ("2023년 5월 8일 오전 1:56 - 이름 : 내용", "2023-05-08T01:56:00"),
        ("2023/05/08 13:56 - 名前: 本文", "2023-05-08T13:56:00"),
        ("8.5.2023 klo 13.56 - Anu: moi", "2023-05-08T13:56:00"),
        ("8.5.23 kl. 13.56 - Bo: hej", "2023-05-08T13:56:00"),
        ("2023-05-08 13:56 - Åsa: hej", "2023-05-08T13:56:00"),
        ("08/05/2023 à 13:56 - Léa: salut", "2023-05-08T13:56:00"),
        ("8.05.23 г., 13:56 - Иван: здравей", "2023-05-08T13:56:00"),
        ("8/5/2023, 1:56 μ.μ. - Νίκος: γεια", "2023-05-08T13:56:00"),
        ("8/5/2023, 1:56 µ.µ. - Νίκος: γεια", "2023-05-08T13:56:00"),
        ("[\u200f٢٣\u200f/٥\u200f/٢٠٢٣, ١٢:٠٣:٤٤ م] سارة: مرحبا", "2023-05-23T12:03:44"),
        ("[23/5/2566 14:03:21] ก้อง: สวัสดี", "2023-05-23T14:03:21"),
        ("\u200e[08/05/2023, 13:56:03] Mei: \u200eimage omitted", "2023-05-08T13:56:03"),
    ],
)
def test_heads_are_read_in_local_spelling(line: str, local: str) -> None:
    assert head(line).moment(day_first=True).isoformat() == local


@pytest.mark.parametrize(
    "line",
    ["", "hello", "At 5/8/23, 1:56 PM - Ann: hi", "12:30 - lunch: soup", "1.2.3 - list", "10/10 would eat again"],
)
def test_other_lines_continue_the_message_before(line: str) -> None:
    assert parse_header(line) is None


@pytest.mark.parametrize("filler", ["\u200e", " ", "1", "/", "\u200e1/"])
def test_a_crafted_line_costs_no_more_than_a_glance(filler: str) -> None:
    assert parse_header("1/1/2023" + filler * 500_000) is None


@pytest.mark.parametrize(
    "line", ["99/99/23, 10:00 - A: x", "31.02.23, 10:00 - A: x", "1.1.23, 25:00 - A: x", "1.1.9999, 10:00 - A: x"]
)
def test_a_time_that_does_not_exist_is_refused_as_written(line: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        head(line).moment(day_first=True)
    assert caught.value.field == "time"


def test_one_number_above_twelve_settles_the_whole_file() -> None:
    assert order_of("03/04/23", "25/04/23").decide(None) == (True, None)
    assert order_of("03/04/23", "04/25/23").decide(None) == (False, None)


def test_messages_that_would_run_backwards_settle_the_order() -> None:
    assert order_of("03/04/23", "10/04/23", "01/05/23").decide(None) == (True, None)
    assert order_of("04/03/23", "04/10/23", "05/01/23").decide(None) == (False, None)


def test_a_silent_file_follows_the_option() -> None:
    assert order_of("03/04/23").decide(False) == (False, None)
    assert order_of("03/04/23").decide(True) == (True, None)


def test_a_silent_file_without_an_option_is_read_as_its_spelling_suggests_and_says_so() -> None:
    day_first, note = order_of("03.04.23").decide(None)
    assert day_first
    assert note
    assert "day first" in note
    day_first, note = order_of("3/4/23", time="1:56 PM").decide(None)
    assert not day_first
    assert note
    assert "month first" in note


def test_dates_that_read_the_same_either_way_need_no_note() -> None:
    assert order_of("04.04.23", "05.05.23").decide(None) == (True, None)


def test_the_file_itself_outweighs_the_option_and_says_so() -> None:
    day_first, note = order_of("25/04/23").decide(False)
    assert day_first
    assert note
    assert "prove" in note


def test_year_first_dates_leave_nothing_open() -> None:
    assert order_of("2023-04-03", "2023-03-04").decide(None) == (True, None)
