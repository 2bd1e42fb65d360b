"""One mail becomes one item: who wrote what to whom and when, whatever state its headers are in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.connect import read_mail
from perdure.connect.mail import MAX_BODY_CHARS, MAX_MAIL_BYTES
from perdure.errors import InvalidInput

DATE = "Date: Mon, 3 Mar 2025 10:00:00 +0100\n"
RELAYED = "Received: by x.example.org; Mon, 3 Mar 2025 12:00:00 +0000"
FROM = "From: Lena Brandt <lena@example.org>\n"


def item(head: str, body: str | bytes = "We meet at nine.", **options: datetime):  # type: ignore[no-untyped-def]
    data = (FROM if "From:" not in head else "") + (DATE if "Date:" not in head else "") + head
    words = body.encode() if isinstance(body, str) else body
    return read_mail(data.encode("utf-8", "surrogateescape") + b"\n" + words, **options)


def test_the_text_names_people_subject_and_date_before_the_words() -> None:
    found = item(
        "To: Ada <ada@example.org>, bo@example.org\nCc: Tom <tom@example.org>\nSubject: Boat\nMessage-ID: <1@x>\n"
    )
    assert found.text == (
        "From: Lena Brandt <lena@example.org>\nTo: Ada <ada@example.org>, bo@example.org\nCc: Tom <tom@example.org>\n"
        "Subject: Boat\nDate: 2025-03-03 10:00+01:00\n\nWe meet at nine."
    )
    assert (found.kind, found.external_id, found.title, found.speaker) == ("email", "1@x", "Boat", "Lena Brandt")
    assert found.series is None


def test_the_zone_of_the_date_is_kept() -> None:
    assert item("").occurred_at.isoformat() == "2025-03-03T10:00:00+01:00"


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        ("=?utf-8?q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
        ("=?utf-8?B?5pyA5Y2B?= =?utf-8?B?5Zub?=", "最十四"),
        ("=?utf-8?B?5pyA5Y0=?=\n =?utf-8?B?geWbmw==?=", "最十四"),
        ("=?iso-8859-1?q?caf=E9?= and =?utf-8?q?th=C3=A9?=", "café and thé"),
        ("=?gb2312?B?vPvD5g==?=", "见面"),
        ("=?utf-8?b?R3LDvMOfZQ?=", "Grüße"),
        ("=?no-such?q?abc?=", "abc"),
        ("=?utf-8?q?broken", "=?utf-8?q?broken"),
        ("Grüße", "Grüße"),
        (b"Gr\xfc\xdfe".decode("ascii", "surrogateescape"), "Grüße"),
        ("a\n b\n\tc", "a b c"),
        ("a\u202eb\u200b", "ab"),
    ],
)
def test_a_subject_is_read_however_it_is_encoded(subject: str, title: str) -> None:
    assert item(f"Subject: {subject}\n").title == title


@pytest.mark.parametrize(
    ("sender", "speaker", "address"),
    [
        ("Lena <lena@example.org>", "Lena", "lena@example.org"),
        ('"Brandt, Lena" <Lena@Example.org>', "Brandt, Lena", "lena@example.org"),
        ("lena@example.org (Lena)", "Lena", "lena@example.org"),
        ("lena@example.org", "lena@example.org", "lena@example.org"),
        ("=?utf-8?q?Lena_Gr=C3=BCn?= <lena@example.org>", "Lena Grün", "lena@example.org"),
        ('"boss@example.com" <mallory@example.net>', "mallory@example.net", "mallory@example.net"),
        ("user <mallory@example.net>", "mallory@example.net", "mallory@example.net"),
        ("Assistant <mallory@example.net>", "mallory@example.net", "mallory@example.net"),
        ("Lena", "Lena", ""),
        ("", None, ""),
    ],
)
def test_the_speaker_is_the_name_the_sender_goes_by_unless_it_passes_for_another(
    sender: str, speaker: str | None, address: str
) -> None:
    found = item(f"From: {sender}\n")
    assert found.speaker == speaker
    assert found.metadata.get("from", "") == address


def test_many_recipients_are_counted_not_listed() -> None:
    found = item("To: " + ", ".join(f"p{n}@example.org" for n in range(300)) + "\n")
    assert "p9@example.org, and 290 more\n" in found.text


@pytest.mark.parametrize(
    ("lines", "moment", "by"),
    [
        (DATE, datetime(2025, 3, 3, 9, tzinfo=UTC), None),
        ("Date: 3 Mar 25 10:00 GMT\n", datetime(2025, 3, 3, 10, tzinfo=UTC), None),
        ("Date: 2025-03-03T10:00:00+01:00\n", datetime(2025, 3, 3, 9, tzinfo=UTC), None),
        (f"Date: soon\n{RELAYED} (UTC)\n", datetime(2025, 3, 3, 12, tzinfo=UTC), "received"),
        (f"Date: 3 Mar 2042 10:00:00 +0000\n{RELAYED}\n", datetime(2025, 3, 3, 12, tzinfo=UTC), "received"),
        ("Date: 31 Feb 99999 99:99\n", datetime(2024, 1, 1, tzinfo=UTC), "file"),
        ("Date: Wed, 1 Jan 1800 00:00:00 +0000\n", datetime(2024, 1, 1, tzinfo=UTC), "file"),
    ],
)
def test_a_missing_or_wrong_date_is_replaced_by_what_relays_or_the_file_say(
    lines: str, moment: datetime, by: str | None
) -> None:
    found = item(lines, dated=datetime(2024, 1, 1, tzinfo=UTC))
    assert found.occurred_at == moment
    assert found.metadata.get("dated_by") == by


def test_a_date_long_after_the_mail_came_in_is_not_believed() -> None:
    came_in = datetime(2025, 3, 3, 9, tzinfo=UTC)
    assert item(DATE, received_at=came_in).metadata.get("dated_by") is None
    late = item("Date: Sat, 3 Mar 2040 10:00:00 +0000\n", received_at=came_in)
    assert (late.occurred_at, late.metadata["dated_by"]) == (came_in, "mailbox")


def test_a_mail_that_nothing_dates_is_refused() -> None:
    with pytest.raises(InvalidInput, match="neither a Date nor a Received line") as caught:
        item("Date: \n")
    assert caught.value.field == "date"


@pytest.mark.parametrize("data", [b"", b"\n\nhello", b"Dear all,\n\nhello", b"\x00\xff\xfe", b"X-Note: 1\n\nhello"])
def test_what_is_no_mail_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="a mail begins with header lines"):
        read_mail(data, dated=datetime(2025, 1, 1, tzinfo=UTC))


def test_a_mail_without_an_id_has_one_made_of_its_words_and_moment() -> None:
    first, again = item("Subject: a\n"), item("Subject: a\n")
    assert first.external_id == again.external_id
    assert first.external_id.startswith("sha256-")
    other_zone = "Date: Mon, 3 Mar 2025 10:00:00 +0200\n"
    different = [item("Subject: b\n"), item("Subject: a\n", "other words"), item(f"{other_zone}Subject: a\n")]
    assert len({found.external_id for found in (first, *different)}) == 4


@pytest.mark.parametrize("broken", ["<>", "< >", "nothing", "<a b>", "<" + "x" * 2000 + "@x>", "<a\u200bb@x>"])
def test_an_unusable_id_counts_as_none(broken: str) -> None:
    assert item(f"Message-ID: {broken}\n").external_id.startswith("sha256-")


@pytest.mark.parametrize(
    ("lines", "facts"),
    [
        (
            "List-Id: Sailors <sailors.example.org>\nPrecedence: list\n",
            {"list_id": "sailors.example.org", "auto_submitted": "precedence list"},
        ),
        ("Auto-Submitted: auto-replied\n", {"auto_submitted": "auto-replied"}),
        ("Auto-Submitted: no\n", {}),
        ("List-Unsubscribe: <https://example.org>\n", {"auto_submitted": "list-unsubscribe"}),
        ("In-Reply-To: <0@x> (yours)\n", {"in_reply_to": "0@x"}),
    ],
)
def test_lists_and_automatic_mail_are_marked(lines: str, facts: dict[str, str]) -> None:
    found = dict(item(lines).metadata)
    assert found.pop("from") == "lena@example.org"
    assert found == facts


def multipart(kind: str, *parts: str) -> tuple[str, str]:
    return f"Content-Type: multipart/{kind}; boundary=b\n", "".join(f"--b\n{part}\n" for part in parts) + "--b--\n"


PLAIN = "Content-Type: text/plain\n\nThe plain words, which are long enough to count as what was meant to be read here."
HTML = "Content-Type: text/html\n\n<p>The <b>marked</b> words.</p>"


def words(found: object) -> str:
    return str(getattr(found, "text", "")).partition("\n\n")[2]


def test_the_plain_part_is_preferred() -> None:
    assert words(item(*multipart("alternative", PLAIN, HTML))).startswith("The plain words")
    assert words(item(*multipart("alternative", HTML, PLAIN))).startswith("The plain words")


@pytest.mark.parametrize("plain", ["", "  \n", "Your program can't show this."])
def test_a_plain_part_that_says_nothing_gives_way_to_html(plain: str) -> None:
    marked = "Content-Type: text/html\n\n<p>" + "The boat leaves at six. " * 10 + "</p>"
    assert words(item(*multipart("alternative", f"Content-Type: text/plain\n\n{plain}", marked))).startswith("The boat")


def test_attachments_are_named_and_their_content_is_left_out() -> None:
    secret = "Content-Type: text/plain; name=notes.txt\nContent-Disposition: attachment; filename=notes.txt\n\nSECRET"
    event = "Content-Type: text/calendar; method=REQUEST\n\nBEGIN:VCALENDAR\nSUMMARY:SECRET\nEND:VCALENDAR"
    letter = "Content-Type: message/rfc822\n\nSubject: Old letter\nFrom: x@y.z\n\nSECRET"
    path = "Content-Type: image/png\nContent-Disposition: inline; filename*=utf-8''..%2Fpl%C3%A4ne%2Fboot.png\n\nSECRET"
    found = item(*multipart("mixed", PLAIN, secret, event, letter, path))
    assert [(a["name"], a["type"]) for a in found.metadata["attachments"]] == [
        ("notes.txt", "text/plain"),
        ("invite.ics", "text/calendar"),
        ("Old letter", "message/rfc822"),
        ("boot.png", "image/png"),
    ]
    assert "SECRET" not in found.text
    assert "Attachments: notes.txt (text/plain, 1 kB), invite.ics (text/calendar, 1 kB)" in found.text


def test_the_body_ends_after_2000_characters() -> None:
    assert len(words(item("", "é" * 5000))) == MAX_BODY_CHARS


def test_a_mail_of_any_size_is_bounded_and_says_that_it_was_cut() -> None:
    found = item("Message-ID: <1@x>\n", b"The key is under the pot.\n\n" + b"x" * (MAX_MAIL_BYTES + 1000))
    assert words(found).startswith("The key is under the pot.")
    assert found.metadata["cut"] is True
    assert len(found.text) < 2500


def test_soft_line_ends_are_joined_and_encodings_read() -> None:
    flowed = item("Content-Type: text/plain; format=flowed\n", "one long \nline\n\nand another\n")
    assert words(flowed) == "one long line\n\nand another"
    quoted = item(
        "Content-Transfer-Encoding: quoted-printable\nContent-Type: text/plain; charset=utf-8\n", "caf=C3=A9=\n s"
    )
    assert words(quoted) == "café s"
    packed = item("Content-Transfer-Encoding: base64\n", "V2UgbWVldCBhdCBuaW5lLg")
    assert words(packed) == "We meet at nine."


@pytest.mark.parametrize("count", [40, 2000, 30_000])
def test_parts_nested_without_end_are_bounded(count: int) -> None:
    head = f"{FROM}{DATE}"
    nested = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(count))
    data = f"{head}{nested}\nhi".encode()
    if count < 100:
        assert read_mail(data).speaker == "Lena Brandt"
    else:
        with pytest.raises(InvalidInput, match="nested too deeply"):
            read_mail(data)


def test_old_spellings_of_headers_are_read() -> None:
    found = read_mail(b"\n\nFrom  : lena@example.org\nDate\t: Mon, 3 Mar 2025 10:00:00 +0100\nSubject : Boat\n\nhi")
    assert (found.title, found.speaker) == ("Boat", "lena@example.org")


@settings(max_examples=300, deadline=None)
@given(head=st.binary(max_size=300), body=st.binary(max_size=300))
def test_any_bytes_are_an_item_or_refused(head: bytes, body: bytes) -> None:
    data = b"From: a@b.c\n" + head + b"\nContent-Type: multipart/mixed; boundary=b\n\n--b\n" + head + b"\n\n" + body
    try:
        found = read_mail(data, dated=datetime(2025, 1, 1, tzinfo=timezone(timedelta(hours=1))))
    except InvalidInput:
        return
    for text in (found.text, found.title, found.external_id, found.speaker or "", str(found.metadata)):
        text.encode()
