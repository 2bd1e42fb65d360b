"""Reading files: every format and script comes out as text, and a file that can't be read says why."""

from __future__ import annotations

import codecs
import threading
import zlib

import pytest

from perdure.clock import DatabaseClock
from perdure.connect import page_text
from perdure.documents.decoding import decode_text
from perdure.documents.formats import MediaType, media_type_of
from perdure.documents.pdf import pdf_pages
from perdure.documents.pdf_process import BROKEN, LOCKED, MAX_PAGES, SCANNED, TOO_MUCH, answer
from perdure.documents.reading import parts_of, parts_of_pages, read_parts
from perdure.documents.refusing import Refused
from perdure.errors import InvalidInput
from tests.doubles.pdf import assembled, make_pdf

SCRIPTS = {
    "Greek": "Το πλοίο φεύγει στις επτά το πρωί.",
    "Chinese": "渡轮早上七点开往小岛。",
    "Japanese": "フェリーは朝七時に島へ出ます。",
    "Korean": "배는 아침 일곱 시에 섬으로 떠난다.",
    "Thai": "เรือออกเวลาเจ็ดโมงเช้า",
    "Hindi": "नाव सुबह सात बजे जाती है।",
    "Emoji": "The ferry ⛴ leaves at 7 👩‍👩‍👧‍👦.",
}
RIGHT_TO_LEFT = {"Arabic": "تغادر العبارة في السابعة", "Hebrew": "המעבורת יוצאת בשבע"}


def text_of_pdf(data: bytes) -> str:
    read = answer(data, 1_000_000)
    return "\n".join(read.get("pages", [read.get("refused")]))


# --- formats ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.txt", b"text", MediaType.TEXT),
        ("notes", b"text", MediaType.TEXT),
        ("README.MD", b"# Title", MediaType.MARKDOWN),
        ("page.htm", b"<p>x", MediaType.HTML),
        ("saved", b"\xef\xbb\xbf\n <!DOCTYPE html><html>", MediaType.HTML),
        ("wrong.txt", b"%PDF-1.7", MediaType.PDF),
    ],
)
def test_a_format_is_told_by_the_first_bytes_or_the_name(name: str, data: bytes, kind: MediaType) -> None:
    assert media_type_of(name, data) is kind


@pytest.mark.parametrize(
    "data", [b"PK\x03\x04...", b"\xd0\xcf\x11\xe0...", b"{\\rtf1", b"\x89PNG\r\n", b"\x1f\x8b\x08"]
)
def test_other_formats_are_refused_by_name_and_not_read_as_text(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="text, Markdown, HTML and PDF are read"):
        media_type_of("letter.docx", data)


def test_a_media_type_that_is_not_read_is_refused_and_one_that_is_given_wins() -> None:
    with pytest.raises(InvalidInput, match="media_type 'image/png'"):
        media_type_of("x", b"x", "image/png")
    assert media_type_of("x.txt", b"<html>", "text/plain") is MediaType.TEXT


# --- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [*SCRIPTS.values(), *RIGHT_TO_LEFT.values()])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_text_in_any_script_is_decoded_by_its_mark_or_as_utf_8(text: str, encoding: str) -> None:
    assert decode_text(text.encode(encoding)) == text


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_told_by_its_zeros(encoding: str) -> None:
    assert decode_text("Plain words, one after another.".encode(encoding)) == "Plain words, one after another."


def test_what_is_neither_utf_8_nor_utf_16_is_refused_by_place_and_read_once_its_encoding_is_named() -> None:
    data = "Füße".encode("cp1252")
    with pytest.raises(Refused, match="byte 2 is not UTF-8; name its encoding"):
        decode_text(data)
    assert decode_text(data, "cp1252") == "Füße"
    assert decode_text("渡轮".encode("gb18030"), "gb18030") == "渡轮"


@pytest.mark.parametrize(
    ("encoding", "why"),
    [
        ("klingon", "there is no encoding"),
        ("ascii", "not in the encoding"),
        ("zip", "no encoding 'zip' of text"),
        ("idna", "no encoding"),
    ],
)
def test_an_encoding_that_does_not_fit_is_refused(encoding: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        decode_text("Füße".encode(), encoding)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(Refused, match="it is no text"):
        decode_text(b"\x07\x00\x01abc" * 50)


@pytest.mark.parametrize("text", ["", " \n ", "… — …", codecs.BOM_UTF8.decode()])
def test_a_file_without_a_letter_or_digit_has_no_text(text: str) -> None:
    with pytest.raises(Refused, match="no text"):
        parts_of(text, 10)


def test_a_text_of_more_passages_than_fit_is_refused_before_anything_is_made_of_it() -> None:
    with pytest.raises(Refused, match="at most 3 fit into a scope"):
        parts_of("word " * 2000, 3)


def test_a_passage_knows_where_it_stands_in_the_text() -> None:
    text = "\n\n".join(f"Paragraph {number}: " + "some words " * 20 for number in range(30))
    parts = parts_of(text, 100)
    assert [part.position for part in parts] == list(range(1, len(parts) + 1))
    # Blanks at the ends of lines are left out before places are counted.
    tidied = "\n\n".join(line.strip() for line in text.split("\n\n"))
    assert all(part.text == tidied[part.starts : part.ends] for part in parts)


@pytest.mark.parametrize(
    "text",
    [
        " " * 1_000_000 + "x",
        "\n" * 1_000_000 + "x",
        "x" * 900_000,
        "x\u0301" * 400_000,
        "password " * 80_000,
        "渡轮" * 400_000,
    ],
    ids=["blanks", "lines", "one word", "accents", "password", "no spaces"],
)
def test_no_text_takes_longer_than_its_length_is_worth(text: str) -> None:
    clock = DatabaseClock()
    began = clock.monotonic()
    parts_of(text, 2000)
    assert clock.monotonic() - began < 20


def test_secrets_are_masked_before_anything_is_kept() -> None:
    (part,) = parts_of("The router. My password is hunter2, don't tell.", 5)
    assert "hunter2" not in part.text
    assert "[secret: password]" in part.text


def test_what_a_recall_had_put_into_a_text_is_left_out() -> None:
    from perdure.rules.fencing import render_block

    block = render_block("memories", ["<memory>Ada lives in Brest</memory>"])
    (part,) = parts_of(f"My notes.\n{block}\nThe end.", 5)
    assert "Brest" not in part.text
    assert "My notes." in part.text


# --- HTML -------------------------------------------------------------------------------------------------------------


def test_a_page_is_read_as_its_reader_sees_it() -> None:
    page = """<!doctype html><html><head><title>Ferries &amp; Times</title><script>var x = "no"</script></head>
    <body><nav>Home | About</nav><h1>Summer</h1><p>Leaves at <b>seven</b>.</p><p style="display:none">hidden</p>
    <ul><li>Bicycles free</li></ul><blockquote>It rocks</blockquote><table><tr><td>Mon</td><td>7:00</td></tr></table>
    </body></html>"""
    text = page_text(page.encode())
    assert text.startswith("Ferries & Times\n\nSummer")
    assert "Leaves at seven." in text
    assert "- Bicycles free" in text
    assert "Mon 7:00" in text
    assert "It rocks" in text
    assert not any(word in text for word in ("Home", "hidden", "var x", "\ue0f0"))


@pytest.mark.parametrize("text", [*SCRIPTS.values(), *RIGHT_TO_LEFT.values()])
def test_pages_in_any_script_are_read_in_the_charset_they_name(text: str) -> None:
    assert page_text(f"<p>{text}</p>".encode()) == text
    assert page_text(f"<p>{text}</p>".encode("utf-16")) == text


def test_a_page_in_an_old_charset_is_read_by_the_name_in_its_head() -> None:
    page = '<html><head><meta http-equiv="Content-Type" content="text/html; charset=shift_jis"></head><p>朝七時</p>'
    assert page_text(page.encode("shift_jis")) == "朝七時"


def test_pages_nested_deeper_than_any_page_is_are_read_in_no_time() -> None:
    clock = DatabaseClock()
    began = clock.monotonic()
    assert "deep" in page_text(b"<div>" * 200_000 + b"deep")
    assert clock.monotonic() - began < 10


# --- PDF --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_the_text_of_a_pdf_is_read_in_any_script(text: str) -> None:
    assert text in text_of_pdf(make_pdf([text]))


@pytest.mark.parametrize("text", RIGHT_TO_LEFT.values(), ids=RIGHT_TO_LEFT)
def test_the_words_of_a_pdf_written_from_right_to_left_are_read(text: str) -> None:
    found = text_of_pdf(make_pdf([text]))
    assert sorted(found.split()) == sorted(text.split()) or found.strip() == text[::-1]


async def test_passages_of_a_pdf_name_the_page_they_begin_on() -> None:
    pages = [[f"Page {number} says line {line} of its many lines." for line in range(25)] for number in (1, 2, 3)]
    parts = await read_parts(make_pdf(*pages), MediaType.PDF, most_parts=50, timeout_s=60)
    for part in parts:
        first = next(line for line in part.text.split("\n") if line.startswith("Page"))
        assert first.startswith(f"Page {part.page}")


def test_pages_are_still_right_behind_a_secret_that_was_masked() -> None:
    first = "My password is hunter2correcthorsebatterystaple, keep it. " + "Words of the first page. " * 30
    second = "Second page. " * 120
    parts = parts_of_pages([first, second], 20)
    assert "hunter2" not in "".join(part.text for part in parts)
    both = next(part for part in parts if "Second page." in part.text)
    second_begins = both.starts + both.text.index("Second page.")
    assert [part.page for part in parts] == [1 if part.starts < second_begins else 2 for part in parts]
    assert parts[-1].page == 2


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"%PDF-1.7\nnothing of the sort", BROKEN),
        (b"", BROKEN),
        (make_pdf(["words"])[:300], BROKEN),
        (make_pdf([]), SCANNED),
        (make_pdf(["words"], trailer="/Encrypt << /Filter /Standard /V 5 /R 6 /Length 256 >>"), None),
        (assembled([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>"]), None),
        (assembled([b"<< /Type /Catalog /Pages 2 0 R >>", b"[" * 100_000]), None),
        (assembled([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids 7 /Count -3 >>"]), None),
    ],
    ids=["junk", "empty", "cut off", "scanned", "bad lock", "own parent", "deep", "no kids"],
)
async def test_a_damaged_pdf_is_refused_with_a_reason(data: bytes, why: str | None) -> None:
    with pytest.raises(Refused) as refused:
        await pdf_pages(data, most_chars=1_000_000, timeout_s=60)
    assert refused.value.limit == why if why else refused.value.limit in {BROKEN, LOCKED, SCANNED, TOO_MUCH}


async def test_an_encrypted_pdf_is_read_if_it_has_no_password_and_refused_if_it_has_one() -> None:
    import io

    from pypdf import PdfReader, PdfWriter

    def encrypted(password: str) -> bytes:
        writer = PdfWriter(clone_from=PdfReader(io.BytesIO(make_pdf(["Only for reading"]))))
        writer.encrypt(password, "owner", algorithm="RC4-128")
        data = io.BytesIO()
        writer.write(data)
        return data.getvalue()

    assert "Only for reading" in (await pdf_pages(encrypted(""), most_chars=1000, timeout_s=60))[0]
    with pytest.raises(Refused, match="encrypted"):
        await pdf_pages(encrypted("hush"), most_chars=1000, timeout_s=60)


async def test_a_pdf_that_unpacks_to_gigabytes_is_refused_within_its_memory() -> None:
    packed = zlib.compress(zlib.compress(b" " * 400_000_000, 9), 9)
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << >> >>"
    bomb = b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>\nstream\n%s\nendstream" % (len(packed), packed)
    catalog = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page, bomb]
    with pytest.raises(Refused):
        await pdf_pages(assembled(catalog), most_chars=1000, timeout_s=60)


async def test_a_pdf_of_more_pages_than_are_read_is_refused() -> None:
    kids = b"3 0 R " * (MAX_PAGES + 1)
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources << >> >>"
    pages = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, MAX_PAGES + 1)
    with pytest.raises(Refused, match=f"pages, at most {MAX_PAGES:,}"):
        await pdf_pages(assembled([b"<< /Type /Catalog /Pages 2 0 R >>", pages, page]), most_chars=1000, timeout_s=60)


async def test_a_pdf_that_takes_too_long_is_given_up_and_its_process_ended() -> None:
    with pytest.raises(Refused, match=r"within 0\.01 s"):
        await pdf_pages(make_pdf(["words"]), most_chars=1000, timeout_s=0.01)


async def test_reading_a_pdf_leaves_the_event_loop_free() -> None:
    import asyncio

    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    ticking = asyncio.create_task(tick())
    pages = [[f"Line {line} of page {page}, with some words." for line in range(50)] for page in range(40)]
    await read_parts(make_pdf(*pages), MediaType.PDF, most_parts=1000, timeout_s=120)
    ticking.cancel()
    assert ticks > 5


async def test_whoever_stops_waiting_for_a_pdf_ends_the_process_that_reads_it() -> None:
    import asyncio

    pages = [[f"Line {line} of page {page}, with some words." for line in range(60)] for page in range(400)]
    reading = asyncio.create_task(pdf_pages(make_pdf(*pages), most_chars=10**9, timeout_s=600))
    await asyncio.sleep(0.5)
    clock = DatabaseClock()
    began = clock.monotonic()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert clock.monotonic() - began < 5
    assert threading.active_count() < 50
