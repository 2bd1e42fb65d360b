"""Mails from files: every readable one, in order, in flat memory, and what is damaged is named and passed over."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from perdure.connect import MailFile, detect_format, read_messages
from perdure.connect.mail import MAX_MAIL_BYTES
from perdure.door import require_name
from perdure.errors import InvalidInput
from perdure.types import SourceBatch
from tests.integration.mail_server import mail

SAMPLES = Path(__file__).parent.parent / "samples"
MESSY = Path(__file__).resolve().parents[3] / "shared" / "data" / "messy"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FROM_LINE = b"From lena@example.org Mon Mar  3 09:00:00 2025\n"


def mailbox(*mails: bytes) -> bytes:
    return b"".join(FROM_LINE + one.replace(b"\r\n", b"\n") + b"\n" for one in mails)


def write(tmp_path: Path, data: bytes, name: str = "box") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def read(path: Path, format: str | None = None, checkpoint: Mapping[str, object] | None = None) -> list[SourceBatch]:  # noqa: A002
    with MailFile(path, format) as mails:
        return list(mails.batches(checkpoint, now=NOW))


def titles(batches: list[SourceBatch]) -> list[str]:
    return [item.title for batch in batches for item in batch.items]


def test_the_sample_mail_is_read_as_a_person_would() -> None:
    ((item,),) = (batch.items for batch in read(SAMPLES / "removal.eml"))
    head, _, body = item.text.partition("\n\n")
    assert head.splitlines() == [
        "From: Tom Keller – Umzüge <tom@keller.example>",
        'To: "Brandt, Ada" <ada@example.org>',
        "Subject: Ihr Umzug am 17. April über Mittag",
        "Date: 2025-04-08 09:12+02:00",
        "Attachments: invite.ics (text/calendar, 1 kB), Möbelliste.pdf (application/pdf, 3 kB)",
    ]
    assert body.startswith("Dear Ada,\n\nthe removal van comes on Thursday, 17 April at 8:30.")
    assert body.endswith("- 12 boxes\n- 1 piano")


def test_the_sample_mailbox_is_read_around_its_damaged_message() -> None:
    (batch,) = read(SAMPLES / "letters.mbox")
    assert titles([batch]) == ["Keys", "Re: Keys", "见面", "Spring prices"]
    assert [error.line for error in batch.refused] == [32]
    words = [item.text.partition("\n\n")[2] for item in batch.items]
    assert words == [
        "The spare key lies under the blue pot.\nFrom Tuesday on I am in Porto.",
        "Danke! Ich komme am Freitag um 16 Uhr.",
        "下周三下午三点在外滩见面。",
        "Spring prices\n\nTulips at 3 euros until Sunday.",
    ]
    assert batch.items[3].metadata["list_id"] == "news.shop.example"


def test_a_file_is_recognised_by_its_content(tmp_path: Path) -> None:
    assert detect_format(SAMPLES / "removal.eml") == "eml"
    assert detect_format(SAMPLES / "letters.mbox") == "mbox"
    assert detect_format(write(tmp_path, gzip.compress(mailbox(mail(1))))) == "mbox"
    assert detect_format(write(tmp_path, b'{"type":"message","id":"a","text":"From: b\\nTo: c"}\n')) == "jsonl"
    with pytest.raises(InvalidInput, match="none of the formats"):
        detect_format(write(tmp_path, b"From here on we walk.\nTo: the sea\n"))


def test_mails_are_no_messages_of_a_conversation() -> None:
    with pytest.raises(InvalidInput, match="format 'eml'"):
        read_messages(SAMPLES / "removal.eml")


@pytest.mark.parametrize("name", ["removal.eml", "letters.mbox"])
def test_a_compressed_file_reads_like_the_plain_one(tmp_path: Path, name: str) -> None:
    packed = write(tmp_path, gzip.compress((SAMPLES / name).read_bytes()))
    assert [batch.items for batch in read(packed)] == [batch.items for batch in read(SAMPLES / name)]


def test_line_ends_of_any_system_read_alike(tmp_path: Path) -> None:
    plain = (SAMPLES / "letters.mbox").read_bytes()
    windows = write(tmp_path, plain.replace(b"\n", b"\r\n"))
    (batch,) = read(windows)
    (expected,) = read(SAMPLES / "letters.mbox")
    assert [item.text for item in batch.items] == [item.text for item in expected.items]


@pytest.mark.parametrize(
    "line",
    [
        b"From Monday on the office is closed.",
        b"From here, May 3 at 10 was far.",
        b">From lena@example.org Mon Mar 13 09:00:00 2025",
        b"From lena@example.org Mon Mar 13 09:00:00 2025 she was away",
    ],
)
def test_a_line_of_text_that_begins_like_a_mail_does_not_part_it(tmp_path: Path, line: bytes) -> None:
    text = mailbox(mail(1).replace(b"We meet at nine.", b"Hello\n\n" + line + b"\nand so on."), mail(2))
    (batch,) = read(write(tmp_path, text), "mbox")
    assert titles([batch]) == ["Note 1", "Note 2"]
    assert line.removeprefix(b">").decode() in batch.items[0].text


@pytest.mark.parametrize(
    "head",
    [
        b"From - Mon Mar 03 09:00:00 2025\n",
        b"From 17@xxx Mon Mar 03 09:00:00 +0000 2025\n",
        b"From MAILER-DAEMON Mon Mar  3 09:00:00 2025\n",
        b"From lena@example.org  Mon Mar  3 09:00:00 CET 2025\n",
    ],
)
def test_mailboxes_of_any_program_are_parted(tmp_path: Path, head: bytes) -> None:
    text = head + mail(1) + b"\r\n" + head + mail(2)
    assert titles(read(write(tmp_path, text))) == ["Note 1", "Note 2"]


def test_mails_without_an_empty_line_between_them_are_parted(tmp_path: Path) -> None:
    text = FROM_LINE + mail(1) + FROM_LINE + mail(2)
    assert titles(read(write(tmp_path, text))) == ["Note 1", "Note 2"]


def test_the_line_before_a_mail_dates_it_when_nothing_else_does(tmp_path: Path) -> None:
    (batch,) = read(write(tmp_path, mailbox(mail(1, Date=""))))
    assert batch.items[0].occurred_at.isoformat() == "2025-03-03T09:00:00+00:00"
    assert batch.items[0].metadata["dated_by"] == "file"


def test_a_large_mailbox_comes_in_batches_and_goes_on_behind_each_checkpoint(tmp_path: Path) -> None:
    path = write(tmp_path, mailbox(*(mail(n) for n in range(250))))
    batches = read(path)
    assert [len(batch.items) for batch in batches] == [100, 100, 50]
    kept = json.loads(json.dumps([batch.checkpoint for batch in batches]))
    assert titles(read(path, checkpoint=kept[1])) == [f"Note {n}" for n in range(200, 250)]
    assert read(path, checkpoint=kept[2]) == []


def test_mails_added_to_a_mailbox_are_read_alone_and_a_changed_one_is_read_anew(tmp_path: Path) -> None:
    mails = [mail(n) for n in range(5)]
    path = write(tmp_path, mailbox(*mails))
    (batch,) = read(path)
    write(tmp_path, mailbox(*mails, mail(5)))
    assert titles(read(path, checkpoint=batch.checkpoint)) == ["Note 5"]
    write(tmp_path, mailbox(*mails[1:], mail(5)))
    assert titles(read(path, checkpoint=batch.checkpoint)) == [f"Note {n}" for n in (1, 2, 3, 4, 5)]


def test_a_mail_that_was_half_written_is_read_again_when_it_is_whole_and_the_others_are_not(tmp_path: Path) -> None:
    whole = mailbox(*(mail(n) for n in (1, 2, 3)))
    path = write(tmp_path, whole[:-12])
    (batch,) = read(path)
    assert titles([batch]) == ["Note 1", "Note 2", "Note 3"]
    path.write_bytes(whole + mailbox(mail(4)))
    (later,) = read(path, checkpoint=batch.checkpoint)
    assert titles([later]) == ["Note 3", "Note 4"]
    assert len(later.items[0].text) > len(batch.items[2].text)
    assert later.items[0].external_id == batch.items[2].external_id


@pytest.mark.parametrize(
    "checkpoint",
    [
        {},
        {"offset": "x"},
        {"offset": 0, "line": 1, "digest": "y"},
        {"offset": -1, "line": 1, "size": 9, "digest": "y"},
        {"offset": 0, "line": 1, "size": 9, "digest": "y"},
        {"offset": 10**9, "line": 1, "size": 9, "digest": "y"},
    ],
)
def test_a_checkpoint_that_means_nothing_begins_anew(tmp_path: Path, checkpoint: dict[str, object]) -> None:
    path = write(tmp_path, mailbox(mail(1)))
    assert titles(read(path, checkpoint=checkpoint)) == ["Note 1"]


def test_memory_stays_flat_however_large_a_mail_is(tmp_path: Path) -> None:
    path = tmp_path / "box"
    with path.open("wb") as file:
        for number in range(3):
            file.write(FROM_LINE + mail(number, "The key is under the pot."))
            file.write((b"x" * 75 + b"\n") * 40_000 + b"y" * 40_000_000 + b"\n\n")
    tracemalloc.start()
    batches = read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert titles(batches) == ["Note 0", "Note 1", "Note 2"]
    assert all(item.metadata["cut"] for batch in batches for item in batch.items)
    assert peak < 15 * MAX_MAIL_BYTES < path.stat().st_size / 4


def test_progress_ends_at_the_end_of_the_file() -> None:
    mails = MailFile(SAMPLES / "letters.mbox")
    assert mails.progress.bytes_read <= mails.progress.total_bytes
    list(mails.batches(now=NOW))
    assert mails.progress.bytes_read == mails.progress.total_bytes == (SAMPLES / "letters.mbox").stat().st_size


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"Dear diary,\n", "neither like a mail"),
        (b"PK\x03\x04 rest", "zip archive"),
        ("From: a\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_a_file_without_mail_is_refused(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        MailFile(write(tmp_path, data))


def test_a_file_said_to_be_a_mail_that_is_none_is_refused_as_an_item(tmp_path: Path) -> None:
    (batch,) = read(write(tmp_path, b"Dear diary,\n"), "eml")
    assert batch.items == ()
    assert [error.field for error in batch.refused] == ["mail"]


@pytest.mark.data
@pytest.mark.skipif(not MESSY.is_dir(), reason=f"the evaluation data is not at {MESSY}")
def test_every_messy_mail_is_read_or_refused() -> None:
    paths = sorted(MESSY.glob("email_*/**/*.eml"))
    assert len(paths) > 60
    items = 0
    for path in paths:
        (batch,) = read(path, "eml")
        assert len(batch.items) + len(batch.refused) == 1, path
        items += len(batch.items)
    assert items == len(paths)


@pytest.mark.data
@pytest.mark.skipif(not MESSY.is_dir(), reason=f"the evaluation data is not at {MESSY}")
def test_replies_of_common_programs_are_cut_to_what_was_answered() -> None:
    for path in sorted(MESSY.glob("email_talon/standard_replies/*.eml")):
        (batch,) = read(path)
        assert batch.items[0].text.partition("\n\n")[2] == "Hello", path.name


def test_the_name_of_a_file_fits_whatever_its_length(tmp_path: Path) -> None:
    assert MailFile(SAMPLES / "letters.mbox").name == "mail:letters.mbox"
    long = [MailFile(write(tmp_path, mailbox(mail(1)), "ü" * 110 + ending)).name for ending in ("a", "b")]
    assert len(set(long)) == 2
    assert all(require_name(name, "source") == name for name in long)
