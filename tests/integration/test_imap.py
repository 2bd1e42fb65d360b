"""Mails over IMAP from a real server: all of them, once, in order, untouched, and told plainly what goes wrong."""

from __future__ import annotations

import asyncio
import json
import secrets
import ssl
import time
import traceback
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import trustme

from perdure import Space
from perdure.connect import ImapAccount, ImapMailbox, MailFile
from perdure.errors import ConfigurationError, InvalidInput, PerdureError, SourceUnavailable
from perdure.types import SourceBatch
from tests.doubles.relay import Relay, SilentServer
from tests.integration.mail_server import PASSWORD, USER, MailServer, mail

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def ca_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return path


@pytest.fixture(scope="module")
def server(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    folder = tmp_path_factory.mktemp("mail")
    certificate = authority.issue_cert("localhost")
    certificate.private_key_pem.write_to_path(folder / "key.pem")
    certificate.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    with MailServer(folder, "--cert", str(folder / "cert.pem"), "--key", str(folder / "key.pem")) as server:
        yield server


@pytest.fixture
def folder() -> str:
    return f"Folder-{secrets.token_hex(4)}"


def account(port: int, folder: str = "INBOX", **changes: object) -> ImapAccount:
    facts = {"host": "127.0.0.1", "security": "none", "timeout_s": 20.0, "password": PASSWORD} | changes
    return ImapAccount(user=USER, port=port, folder=folder, **facts)  # type: ignore[arg-type]


def read(
    account: ImapAccount, checkpoint: Mapping[str, object] | None = None, since: date | None = None
) -> list[SourceBatch]:
    with ImapMailbox(account, since=since, pause=lambda _: None) as mailbox:
        return list(mailbox.batches(checkpoint, now=NOW))


def titles(batches: list[SourceBatch]) -> list[str]:
    return [item.title for batch in batches for item in batch.items]


def notes(*numbers: int) -> list[str]:
    return [f"Note {number}" for number in numbers]


def test_every_mail_comes_once_oldest_first_however_many_pages_there_are(server: MailServer, folder: str) -> None:
    server.put([mail(n) for n in range(120)], folder)
    batches = read(account(server.port, folder))
    assert titles(batches) == notes(*range(120))
    assert [len(batch.items) for batch in batches] == [50, 50, 20]


def test_reading_goes_on_behind_any_checkpoint(server: MailServer, folder: str) -> None:
    server.put([mail(n) for n in range(60)], folder)
    first, second = read(account(server.port, folder))
    kept = json.loads(json.dumps([first.checkpoint, second.checkpoint]))
    assert titles(read(account(server.port, folder), kept[0])) == notes(*range(50, 60))
    assert read(account(server.port, folder), kept[1]) == []
    server.put([mail(60)], folder)
    assert titles(read(account(server.port, folder), kept[1])) == notes(60)


def test_a_checkpoint_of_another_folder_does_not_hide_mails(server: MailServer, folder: str) -> None:
    server.put([mail(1)], folder)
    server.put([mail(2)], f"{folder}-other")
    (batch,) = read(account(server.port, folder))
    assert titles(read(account(server.port, f"{folder}-other"), batch.checkpoint)) == notes(2)


def test_nothing_is_marked_as_seen_or_changed(server: MailServer, folder: str) -> None:
    server.put([mail(n) for n in range(3)], folder)
    read(account(server.port, folder))
    assert server.unseen(folder) == 3
    assert " SELECT " not in server.log()


def test_mail_that_arrives_meanwhile_is_read_in_the_same_run(server: MailServer, folder: str) -> None:
    server.put([mail(n) for n in range(51)], folder)
    batches = ImapMailbox(account(server.port, folder)).batches(now=NOW)
    first = next(batches)
    server.put([mail(51)], folder)
    assert titles([first, *batches]) == notes(*range(52))


def test_mail_deleted_meanwhile_stops_nothing(server: MailServer, folder: str) -> None:
    server.put([mail(n) for n in range(1000, 1060)], folder)
    batches = ImapMailbox(account(server.port, folder)).batches(now=NOW)
    first = next(batches)
    server.delete(folder, "Note 1055")
    assert titles([first, *batches]) == notes(*range(1000, 1055), *range(1056, 1060))


@pytest.mark.parametrize("cut_after", [[2000], [9000], [20_000, 300, 3000]])
def test_a_broken_connection_is_made_anew_and_nothing_is_missing_or_twice(
    server: MailServer, folder: str, cut_after: list[int]
) -> None:
    server.put([mail(n) for n in range(110)], folder)
    pauses: list[float] = []
    with Relay(server.port, cut_after=list(cut_after)) as relay:
        with ImapMailbox(account(relay.port, folder), pause=pauses.append) as mailbox:
            assert titles(list(mailbox.batches(now=NOW))) == notes(*range(110))
        assert relay.connections == len(cut_after) + 1
    assert len(pauses) >= 1


def test_a_server_that_stays_away_is_told_and_the_checkpoint_resumes_later(server: MailServer, folder: str) -> None:
    server.put([mail(n) for n in range(60)], folder)
    pauses: list[float] = []
    with Relay(server.port) as relay:
        batches = ImapMailbox(account(relay.port, folder), pause=pauses.append).batches(now=NOW)
        first = next(batches)
    with pytest.raises(SourceUnavailable, match=r"can't be reached.*reading resumes where it stopped"):
        next(batches)
    assert pauses == [1.0, 4.0, 10.0]
    assert titles(read(account(server.port, folder), first.checkpoint)) == notes(*range(50, 60))


def test_a_renumbered_folder_is_read_anew_under_the_same_ids(tmp_path: Path) -> None:
    mails = [mail(n) for n in range(55)]
    with MailServer(tmp_path) as server:
        server.put(mails)
        with ImapMailbox(account(server.port), pause=lambda _: None) as mailbox:
            batches = mailbox.batches(now=NOW)
            first = next(batches)
            server.kill()
            server.start()
            server.put([mail(99), *mails])
            rest = list(batches)
            assert mailbox.notes == ["The server has renumbered INBOX: it was read from its beginning."]
    assert titles(rest) == notes(99, *range(55))
    ids = [item.external_id for batch in rest for item in batch.items]
    assert {item.external_id for item in first.items} < set(ids)
    assert len(ids) == len(set(ids))


def test_a_refused_password_is_told_with_what_to_do_and_stands_nowhere(
    server: MailServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    password = "wr0ng" + "-s3cret"
    wrong = account(server.port, password=password)
    with pytest.raises(ConfigurationError, match=r"refuses to log ada in .*app password") as caught:
        read(wrong)
    shown = "".join(traceback.format_exception(caught.value)) + repr(wrong) + caplog.text
    assert password not in shown


def test_a_password_in_any_script_is_sent_and_never_shown(server: MailServer) -> None:
    password = "päss" + "wörd-密码"
    with pytest.raises(ConfigurationError, match="refuses to log ada in") as caught:
        read(account(server.port, password=password))
    assert password not in "".join(traceback.format_exception(caught.value))


def test_a_missing_folder_is_refused_with_those_there_are(server: MailServer, folder: str) -> None:
    server.put([mail(1)], f"{folder}-Übersicht")
    with pytest.raises(InvalidInput, match=r"folder 'Sennt' .*INBOX") as caught:
        read(account(server.port, "Sennt"))
    assert caught.value.field == "folder"
    assert titles(read(account(server.port, f"{folder}-Übersicht"))) == notes(1)


def test_a_server_that_says_nothing_is_given_up_after_the_timeout() -> None:
    with SilentServer() as silent:
        began = time.monotonic()
        with pytest.raises(SourceUnavailable, match=r"did not answer within 0\.5 s"):
            read(account(silent.port, timeout_s=0.5))
        assert time.monotonic() - began < 5


def test_a_refused_connection_and_an_unknown_host_are_told_at_once() -> None:
    with SilentServer() as gone:
        port = gone.port
    with pytest.raises(SourceUnavailable, match=f"127.0.0.1:{port} can't be reached"):
        read(account(port))
    with pytest.raises(SourceUnavailable, match=r"no-such-host\.invalid:993 can't be reached"):
        read(ImapAccount("no-such-host.invalid", USER, PASSWORD))


def test_starttls_encrypts_when_the_certificate_is_trusted(server: MailServer, folder: str, ca_file: Path) -> None:
    server.put([mail(1)], folder)
    trusted = account(server.port, folder, host="localhost", security="starttls", ca_file=ca_file)
    assert titles(read(trusted)) == notes(1)
    with pytest.raises(ConfigurationError, match=r"isn't trusted.*ca_file"):
        read(account(server.port, folder, host="localhost", security="starttls"))


def test_a_server_without_starttls_gets_no_password(tmp_path: Path) -> None:
    with MailServer(tmp_path, "--no-tls") as server:
        with pytest.raises(ConfigurationError, match=r"no encryption by STARTTLS.*ssl"):
            read(account(server.port, security="starttls"))
        assert "LOGIN" not in server.log().upper()


def test_ssl_encrypts_from_the_first_byte(
    server: MailServer, folder: str, authority: trustme.CA, ca_file: Path
) -> None:
    server.put([mail(1)], folder)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    with Relay(server.port, tls=context) as relay:
        trusted = account(relay.port, folder, host="localhost", security="ssl", ca_file=ca_file)
        assert titles(read(trusted)) == notes(1)
        with pytest.raises(ConfigurationError, match="isn't trusted"):
            read(account(relay.port, folder, host="localhost", security="ssl"))
    with pytest.raises(ConfigurationError, match=r"doesn't speak TLS.*993"):
        read(account(server.port, security="ssl"))


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"host": "mail.example.org", "security": "none"}, ConfigurationError, "unencrypted to mail.example.org"),
        ({"host": ""}, InvalidInput, "host"),
        ({"folder": "A\r\nDELETE"}, InvalidInput, "folder"),
        ({"user": "a\nb"}, InvalidInput, "user"),
        ({"password": "s3cret\r\nx LOGOUT"}, InvalidInput, "password"),
        ({"password": ""}, InvalidInput, "password"),
        ({"security": "tls"}, InvalidInput, "one of ssl, starttls, none"),
        ({"port": 70_000}, InvalidInput, "port"),
        ({"timeout_s": 0}, InvalidInput, "timeout_s"),
        ({"ca_file": Path("/nowhere.pem")}, InvalidInput, "ca_file"),
    ],
)
def test_what_no_server_should_get_is_refused_before_connecting(
    changes: dict[str, object], error: type[PerdureError], words: str
) -> None:
    facts: dict[str, object] = {"host": "localhost", "user": USER, "password": PASSWORD} | changes
    with pytest.raises(error, match=words) as caught:
        ImapAccount(**facts)  # type: ignore[arg-type]
    assert "s3cret" not in str(caught.value)


def test_a_mail_that_cannot_be_read_is_refused_by_name_and_the_others_come_in(server: MailServer, folder: str) -> None:
    server.put([mail(1), b"X-Note: 7\r\n\r\nWhose mail is this?\r\n", mail(2)], folder)
    (batch,) = read(account(server.port, folder))
    assert titles([batch]) == notes(1, 2)
    assert [error.field for error in batch.refused] == ["mail"]


def test_a_huge_mail_is_read_by_its_beginning(server: MailServer, folder: str) -> None:
    huge = mail(1, "The key is under the pot.\r\n" + "x" * 70 + "\r\n" * 10 + ("y" * 76 + "\r\n") * 60_000)
    server.put([huge, mail(2)], folder)
    (batch,) = read(account(server.port, folder))
    assert "The key is under the pot." in batch.items[0].text
    assert len(batch.items[0].text) < 2500
    assert batch.items[0].metadata["cut"] is True
    assert titles([batch]) == notes(1, 2)


def test_only_mails_since_a_day_are_read_when_asked(server: MailServer, folder: str) -> None:
    server.put([mail(1)], folder, at=datetime(2024, 6, 1, 12, tzinfo=UTC))
    server.put([mail(2)], folder, at=datetime(2025, 6, 1, 12, tzinfo=UTC))
    assert titles(read(account(server.port, folder), since=date(2025, 1, 1))) == notes(2)
    # Who asks for more than the reading before gets what that one left out.
    (batch,) = read(account(server.port, folder), since=date(2025, 1, 1))
    assert titles(read(account(server.port, folder), batch.checkpoint, date(2025, 1, 1))) == []
    assert titles(read(account(server.port, folder), batch.checkpoint)) == notes(1, 2)


def test_a_mail_without_date_is_dated_by_the_mailbox(server: MailServer, folder: str) -> None:
    server.put([mail(1, Date="")], folder, at=datetime(2024, 6, 1, 12, tzinfo=UTC))
    ((item,),) = (batch.items for batch in read(account(server.port, folder)))
    assert item.occurred_at == datetime(2024, 6, 1, 12, tzinfo=UTC)
    assert item.metadata["dated_by"] == "mailbox"


@pytest.mark.parametrize("identified", [True, False])
def test_a_mail_is_the_same_item_over_imap_and_from_a_file(
    server: MailServer, folder: str, tmp_path: Path, identified: bool
) -> None:
    one = mail(7) if identified else mail(7, Message_ID="")
    server.put([one], folder)
    (tmp_path / "seven.eml").write_bytes(one)
    ((remote,),) = (batch.items for batch in read(account(server.port, folder)))
    ((local,),) = (batch.items for batch in MailFile(tmp_path / "seven.eml").batches(now=NOW))
    assert (remote.external_id, remote.text, remote.occurred_at) == (local.external_id, local.text, local.occurred_at)


async def test_reading_in_a_thread_leaves_the_event_loop_free(server: MailServer, folder: str) -> None:
    server.put([mail(n) for n in range(3)], folder)
    batches = ImapMailbox(account(server.port, folder)).batches(now=NOW)
    found = []
    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
        found.append(batch)
    assert titles(found) == notes(0, 1, 2)


def test_a_source_is_named_by_user_host_and_folder() -> None:
    assert ImapMailbox(ImapAccount("imap.example.org", "ada", PASSWORD)).name == "imap:ada@imap.example.org/INBOX"


async def test_a_mailbox_is_imported_once_however_often_it_is_read(
    server: MailServer, folder: str, space: Space
) -> None:
    server.put([mail(n) for n in range(60)], folder)
    first = await space.import_from(ImapMailbox(account(server.port, folder)))
    server.put([mail(60)], folder)
    second = await space.import_from(ImapMailbox(account(server.port, folder)))
    assert (first.enqueued, second.enqueued, second.known) == (60, 1, 0)


async def test_a_mail_that_is_in_from_a_file_is_not_queued_again_from_other_files_or_the_mailbox(
    server: MailServer, folder: str, space: Space, tmp_path: Path
) -> None:
    mails = [mail(number) for number in range(3)]
    box = b"".join(
        b"From ada@example.org Mon Mar  3 09:00:00 2025\n" + one.replace(b"\r\n", b"\n") + b"\n" for one in mails
    )
    for name in ("inbox.mbox", "copy.mbox"):
        (tmp_path / name).write_bytes(box)
    (tmp_path / "one.eml").write_bytes(mails[1])
    server.put(mails, folder)
    first = await space.import_from(MailFile(tmp_path / "inbox.mbox"))
    assert (first.enqueued, first.known) == (3, 0)
    for source, known in (
        (MailFile(tmp_path / "copy.mbox"), 3),
        (MailFile(tmp_path / "one.eml"), 1),
        (ImapMailbox(account(server.port, folder)), 3),
    ):
        again = await space.import_from(source)
        assert (again.enqueued, again.known) == (0, known)


def test_closing_from_another_thread_ends_a_reading_that_waits(server: MailServer, folder: str) -> None:
    server.put([mail(n) for n in range(60)], folder)
    with Relay(server.port, cut_after=[8000], hold=True) as relay, ThreadPoolExecutor(1) as pool:
        mailbox = ImapMailbox(account(relay.port, folder), pause=lambda _: None)
        batches = mailbox.batches(now=NOW)
        waiting = pool.submit(list, batches)
        time.sleep(1)
        began = time.monotonic()
        mailbox.close()
        with pytest.raises(SourceUnavailable):
            waiting.result(10)
        assert time.monotonic() - began < 5
        assert relay.connections == 1
