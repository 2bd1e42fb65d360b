"""HTML mail reads as a person sees it, and no page makes it slow."""

from __future__ import annotations

import time

import pytest

from perdure.clock import DatabaseClock
from perdure.connect.mail_html import html_text
from perdure.connect.mail_text import decoded, visible


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>One</p><p>Two<br>Three</p>", "One\n\nTwo\nThree"),
        ("<div>One</div><div>Two</div><div><br></div><div>Three</div>", "One\nTwo\n\nThree"),
        ("<ul><li>bread</li><li>milk</ul>", "- bread\n- milk"),
        ("<table><tr><td>Seat</td><td>12A</td></tr><tr><td>Gate</td><td>7</td></tr></table>", "Seat 12A\nGate 7"),
        ("a <b>bold</b>er\n   word &amp; an &euro;", "a bolder word & an €"),
        ("<pre>one\n  two</pre>", "one\ntwo"),
        ("<img src=x alt='A red boat'> <img src=pixel>", "A red boat"),
        ("<script>x()</script><style>p{}</style><title>t</title><!-- c --><p>seen</p>", "seen"),
        ("<p>not closed <b>at all", "not closed at all"),
        ("no mark-up", "no mark-up"),
        ("", ""),
    ],
)
def test_blocks_become_lines(source: str, text: str) -> None:
    assert html_text(source) == text


@pytest.mark.parametrize(
    "hidden",
    [
        "<div style='display:none'>H</div>",
        "<div style='DISPLAY : NONE !important'>H</div>",
        "<span style='font-size:0px'>H</span>",
        "<span style='color:red;font-size: 0'>H</span>",
        "<div style='max-height:0;overflow:hidden'>H</div>",
        "<div style='visibility:hidden'>H</div>",
        "<div style='opacity:0'>H</div>",
        "<div style='mso-hide:all'>H</div>",
        "<div style='position:absolute;left:-9999px'>H</div>",
        "<p hidden>H</p>",
        "<style>.x, #y {display:none}</style><p class=x>H</p><p id=y>H</p>",
        "<template>H</template>",
        "<noscript>H</noscript>",
    ],
)
def test_what_a_reader_does_not_see_is_left_out(hidden: str) -> None:
    assert html_text(f"<p>seen</p>{hidden}<p>too</p>") == "seen\n\ntoo"


@pytest.mark.parametrize(
    "shown",
    [
        "<style>@media (max-width:9px){.x{display:none}}</style><p class=x>S</p>",
        "<p style='font-size:0.9em'>S</p>",
        "<p style='opacity:0.8'>S</p>",
        "<p style='max-height:0.5in'>S</p>",
        "<style>@import url(x); .y{display:none}</style><p class=x>S</p>",
    ],
)
def test_what_is_hidden_only_elsewhere_or_only_small_is_kept(shown: str) -> None:
    assert html_text(shown) == "S"


@pytest.mark.parametrize(
    "source",
    [
        "<div>" * 100_000 + "x",
        "<p>a<b>" * 80_000,
        "<blockquote>" * 1_900 + "x",
        "<" * 300_000,
        "<a " * 150_000,
        "<style>" + "@x{" * 100_000,
        "<style>" + ".a{" * 100_000,
        "<table><tr><td>x</table>" * 10_000,
        "<p style='display:none'>x</p>" * 15_000,
    ],
)
def test_no_page_is_slow(source: str) -> None:
    began = time.monotonic()
    html_text(source)
    assert time.monotonic() - began < 10


def test_padding_tags_and_marks_of_direction_vanish_and_joiners_inside_words_stay() -> None:
    assert visible("Sale\u034f \u200c\u034f \u200c now") == "Sale now"
    assert visible("pay\U000e0069\U000e0067\U000e006e\u202eore") == "payore"
    assert visible("می\u200cخواهم 👩\u200d👩\u200d👧") == "می\u200cخواهم 👩\u200d👩\u200d👧"
    assert visible("\ufeffa\u00adb\u200bc \u2800 d") == "abc d"


@pytest.mark.parametrize(
    ("data", "charset", "text"),
    [
        ("Grüße".encode(), "utf-8", "Grüße"),
        ("Grüße".encode("latin-1"), "iso-8859-1", "Grüße"),
        ("“€”".encode("cp1252"), "iso-8859-1", "“€”"),
        ("Grüße".encode("latin-1"), "us-ascii", "Grüße"),
        ("Grüße".encode(), None, "Grüße"),
        ("Grüße".encode(), "no-such-charset", "Grüße"),
        ("镕".encode("gb18030"), "gb2312", "镕"),
        ("見積".encode("cp932"), "shift_jis", "見積"),
        ("見積".encode("iso2022_jp"), "iso-2022-jp", "見積"),
        ("안녕".encode("cp949"), "ks_c_5601-1987", "안녕"),
        ("Привет".encode("koi8-r"), "koi8-r", "Привет"),
        ("שלום".encode("iso8859-8"), "iso-8859-8-i", "שלום"),
        (b"abc", "zip", "abc"),
        (b"abc", "punycode", "abc"),
        (b"abc", "\0", "abc"),
        (b"\xff\xfe", "utf-8", "ÿþ"),
    ],
)
def test_a_charset_is_read_as_its_mailer_meant_it(data: bytes, charset: str | None, text: str) -> None:
    assert decoded(data, charset) == text


ATTACKS = {
    "tags that never end": "<a" * 300_000,
    "titles that never end": "<title" * 100_000,
    "ends of what was never opened": "<div></b>" * 50_000,
    "ends that don't reach": "<div><object></div></object>" * 30_000,
    "formatting that is opened anew in every block": (
        "<p>" + "".join(f"<b a={number}>" for number in range(1900)) + "</p>" + "<p>x</p>" * 60_000
    ),
    "a little formatting, and many blocks": (
        "<p>" + "".join(f"<b a={number}>" for number in range(40)) + "</p>" + "<p>x</p>" * 70_000
    ),
}


@pytest.mark.parametrize("source", ATTACKS.values(), ids=ATTACKS)
def test_no_page_makes_the_parser_work_for_longer_than_its_length_is_worth(source: str) -> None:
    clock = DatabaseClock()
    began = clock.monotonic()
    html_text(source)
    assert clock.monotonic() - began < 10


@pytest.mark.parametrize(
    "source", ["<p>One<p>Two" * 3000, "<ul>" + "<li>One<li>Two" * 3000 + "</ul>", "<dl>" + "<dt>One<dt>Two" * 3000]
)
def test_old_pages_that_leave_paragraphs_and_items_open_keep_their_lines(source: str) -> None:
    assert html_text(source).count("\n") >= 5999
