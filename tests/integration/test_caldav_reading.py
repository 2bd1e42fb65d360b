"""Calendars from a real CalDAV server (Radicale, in a process of its own) and over HTTP."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import create_connection, socket
from time import sleep
from zoneinfo import ZoneInfo

import httpx
import pytest

from perdure.clock import wall_clock
from perdure.connect import CalDav, CalendarOptions, IcsFile, IcsUrl, detect_format
from perdure.errors import InvalidInput, SourceUnavailable
from perdure.types import SourceBatch, SourceItem

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OPTIONS = CalendarOptions(zone=ZoneInfo("Europe/Berlin"))
SAMPLE = Path(__file__).parents[1] / "samples" / "team.ics"
MAKE = (
    '<c:mkcalendar xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:set><d:prop>'
    "<d:displayname>{name}</d:displayname>{more}</d:prop></d:set></c:mkcalendar>"
)
TASKS = '<c:supported-calendar-component-set><c:comp name="VTODO"/></c:supported-calendar-component-set>'


def event(uid: str, lines: str = "DTSTART;TZID=Europe/Berlin:20260305T150000", title: str = "Dentist") -> str:
    text = f"BEGIN:VEVENT\nUID:{uid}\nDTSTAMP:20260301T000000Z\n{lines}\nSUMMARY:{title}\nEND:VEVENT\n"
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//test//EN\n{text}END:VCALENDAR\n".replace("\n", "\r\n")


class Radicale:
    """The server, and another client that writes to it."""

    def __init__(self, folder: Path) -> None:
        with socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / "log"
        (folder / "users").write_text("ada:secret\n")
        options = {
            "server-hosts": f"127.0.0.1:{port}",
            "auth-type": "htpasswd",
            "auth-htpasswd-filename": str(folder / "users"),
            "auth-htpasswd-encryption": "plain",
            "auth-delay": "0",
            "storage-filesystem-folder": str(folder / "data"),
            "logging-level": "info",
        }
        arguments = [f"--{name}={value}" for name, value in options.items()]
        with self.log.open("w") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "radicale", "--config", os.devnull, *arguments], stdout=out, stderr=out
            )
        self._wait(port)
        self.writer = httpx.Client(base_url=self.url, auth=("ada", "secret"), headers={"User-Agent": "writer"})

    def _wait(self, port: int) -> None:
        deadline = wall_clock() + timedelta(seconds=60)
        while wall_clock() < deadline:
            assert self.process.poll() is None, self.log.read_text()
            try:
                create_connection(("127.0.0.1", port), 1).close()
            except OSError:
                sleep(0.1)
            else:
                return
        pytest.fail(f"Radicale doesn't answer: {self.log.read_text()}")

    def make(self, name: str, more: str = "") -> None:
        path = f"/ada/{name}/"
        self.writer.request("MKCALENDAR", path, content=MAKE.format(name=name, more=more)).raise_for_status()

    def put(self, path: str, text: str) -> None:
        self.writer.put(
            f"/ada/{path}", content=text.encode(), headers={"Content-Type": "text/calendar"}
        ).raise_for_status()

    def delete(self, path: str) -> None:
        self.writer.delete(f"/ada/{path}").raise_for_status()

    def asked(self) -> list[str]:
        """The methods of all requests that were ours."""
        requests = re.findall(r"(\S+) request for .*? received from .*?using '(.*?)'", self.log.read_text())
        return [method for method, agent in requests if agent.startswith("perdure")]

    def source(self, path: str = "", password: str = "secret") -> CalDav:
        return CalDav(f"{self.url}{path}", OPTIONS, username="ada", password=password)

    def close(self) -> None:
        self.writer.close()
        self.process.terminate()
        self.process.wait(20)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Radicale]:
    running = Radicale(tmp_path)
    try:
        running.make("home")
        yield running
    finally:
        running.close()


def sync(
    source: CalDav | IcsUrl | IcsFile, checkpoint: Mapping[str, object] | None = None, now: datetime = NOW
) -> tuple[list[SourceItem], Mapping[str, object] | None, list[SourceBatch]]:
    try:
        batches = list(source.batches(checkpoint, now=now))
    finally:
        source.close()
    return (
        [item for batch in batches for item in batch.items],
        (batches[-1].checkpoint if batches else checkpoint),
        batches,
    )


def test_an_account_is_followed_through_new_changed_and_deleted_events(server: Radicale) -> None:
    server.make("work")
    server.make("tasks", TASKS)
    server.put("home/d.ics", event("d"))
    server.put("work/r.ics", event("r", "DTSTART:20260302T090000Z\nRRULE:FREQ=DAILY;COUNT=3", "Run"))
    server.put("work/old.ics", event("old", "DTSTART:20200302T090000Z"))
    items, checkpoint, _ = sync(server.source())
    assert [(item.series, item.title) for item in items] == [
        ("r/20260302T090000Z", "Run"),
        ("r/20260303T090000Z", "Run"),
        ("r/20260304T090000Z", "Run"),
        ("d", "Dentist"),
    ]
    state = checkpoint["state"] if checkpoint else None
    assert isinstance(state, dict)
    assert [url.split("/")[-2] for url in state] == ["home", "work"]
    before = server.asked().count("REPORT")
    assert sync(server.source(), checkpoint) == ([], checkpoint, [])
    assert server.asked().count("REPORT") == before

    server.put("home/d.ics", event("d", "DTSTART;TZID=Europe/Berlin:20260305T160000"))
    items, checkpoint, _ = sync(server.source(), checkpoint)
    assert [(item.series, item.occurred_at.hour, item.cancelled) for item in items] == [("d", 15, False)]

    server.delete("work/r.ics")
    items, checkpoint, _ = sync(server.source(), checkpoint)
    assert [(item.series[:1], item.cancelled) for item in items] == [("r", True)] * 3
    assert sync(server.source(), checkpoint)[0] == []


def test_an_event_that_is_moved_to_another_calendar_stays(server: Radicale) -> None:
    server.make("work")
    server.put("home/d.ics", event("d"))
    _, checkpoint, _ = sync(server.source())
    server.delete("home/d.ics")
    server.put("work/d.ics", event("d"))
    assert sync(server.source(), checkpoint)[0] == []


def test_an_unchanged_account_is_read_again_after_a_day_because_the_window_moves(server: Radicale) -> None:
    server.put("home/r.ics", event("r", "DTSTART:20260101T090000Z\nRRULE:FREQ=WEEKLY"))
    _, checkpoint, _ = sync(server.source())
    assert sync(server.source(), checkpoint, NOW + timedelta(hours=23))[2] == []
    items, _, _ = sync(server.source(), checkpoint, NOW + timedelta(days=8))
    assert [item.cancelled for item in items] == [False]


@pytest.mark.parametrize("path", ["", "/ada/", "/ada/home/", "/.well-known/caldav"])
def test_a_server_a_user_or_a_calendar_may_be_named(server: Radicale, path: str) -> None:
    server.put("home/d.ics", event("d"))
    assert [item.series for item in sync(server.source(path))[0]] == ["d"]


def test_only_reading_requests_are_sent(server: Radicale) -> None:
    server.put("home/d.ics", event("d"))
    _, checkpoint, _ = sync(server.source())
    server.delete("home/d.ics")
    sync(server.source(), checkpoint)
    sync(IcsUrl(f"{server.url}/ada/home/", OPTIONS, username="ada", password="secret"))
    assert {"PROPFIND", "REPORT", "GET"} == set(server.asked())


def test_a_wrong_password_and_a_server_that_is_away_say_so(server: Radicale) -> None:
    with pytest.raises(SourceUnavailable, match=r"401.*password"):
        sync(server.source(password="wrong"))
    with pytest.raises(SourceUnavailable, match="404"):
        sync(server.source("/ada/nowhere/"))
    server.process.terminate()
    server.process.wait(20)
    with pytest.raises(SourceUnavailable, match="could not be read"):
        sync(server.source())


class Site(ThreadingHTTPServer):
    """A web server that publishes one calendar, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        self.text = event("d")
        self.status = 200
        self.location = ""
        self.multistatus = b""
        self.report: Callable[[str, str], tuple[int, bytes]] = lambda path, asked: (500, b"")
        self.seen: list[tuple[str, str, str | None]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Page(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        site = self.server
        self.seen()
        etag = f'"{hash(site.text)}"'
        known = self.headers.get("If-None-Match") == etag
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", site.location)
            self.end_headers()
            return
        body = b"" if known else site.text.encode()
        self.send_response(304 if known else site.status)
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PROPFIND(self) -> None:
        self.answer(self.server.multistatus)

    def do_REPORT(self) -> None:
        self.answer(None)

    def answer(self, body: bytes | None) -> None:
        self.seen()
        asked = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status = 207
        if body is None:
            status, body = self.server.report(self.path, asked.decode())
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def seen(self) -> None:
        self.server.seen.append((self.command, self.path, self.headers.get("Authorization")))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


def test_a_published_calendar_is_fetched_again_only_when_it_changed(site: Site) -> None:
    items, checkpoint, _ = sync(IcsUrl(f"{site.url}/x.ics", OPTIONS))
    assert [item.series for item in items] == ["d"]
    assert sync(IcsUrl(f"{site.url}/x.ics", OPTIONS), checkpoint)[2] == []
    site.text = event("e")
    items, _, _ = sync(IcsUrl(f"{site.url}/x.ics", OPTIONS), checkpoint)
    assert [(item.series, item.cancelled) for item in items] == [("d", True), ("e", False)]


def test_nothing_is_gone_when_the_site_answers_with_something_else(site: Site) -> None:
    _, checkpoint, _ = sync(IcsUrl(f"{site.url}/x.ics", OPTIONS))
    site.text = "<html>Please sign in</html>"
    with pytest.raises(InvalidInput, match="BEGIN:VCALENDAR"):
        sync(IcsUrl(f"{site.url}/x.ics", OPTIONS), checkpoint)
    site.status = 503
    with pytest.raises(SourceUnavailable, match="503"):
        sync(IcsUrl(f"{site.url}/x.ics", OPTIONS), checkpoint)


def test_a_password_isnt_carried_to_another_server(site: Site) -> None:
    with Site() as other:
        thread = threading.Thread(target=other.serve_forever, args=(0.05,))
        thread.start()
        site.location = f"{other.url}/x.ics"
        items, _, _ = sync(IcsUrl(f"{site.url}/moved", OPTIONS, username="ada", password="secret"))
        other.shutdown()
        thread.join()
    assert len(items) == 1
    assert site.seen[0][2] is not None
    assert other.seen[0][2] is None


def test_redirects_that_never_end_or_lead_to_plain_http_are_refused(site: Site) -> None:
    site.location = "/moved"
    with pytest.raises(SourceUnavailable, match="redirects more than"):
        sync(IcsUrl(f"{site.url}/moved", OPTIONS))
    site.location = "http://calendar.example.org/x.ics"
    with pytest.raises(SourceUnavailable, match="without encryption"):
        sync(IcsUrl(f"{site.url}/moved", OPTIONS))


@pytest.mark.parametrize(
    "body", [b"<html/>", b"not xml", b'<!DOCTYPE x [<!ENTITY a "b">]><d:multistatus xmlns:d="DAV:">&a;</d:multistatus>']
)
def test_a_server_that_speaks_no_caldav_or_sends_entities_is_refused(site: Site, body: bytes) -> None:
    site.multistatus = body
    with pytest.raises(SourceUnavailable, match="CalDAV"):
        sync(CalDav(f"{site.url}/x", OPTIONS))


def multistatus(*responses: str) -> bytes:
    names = 'xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"'
    inner = "".join(f"<d:response>{one}</d:response>" for one in responses)
    return f"<d:multistatus {names}>{inner}</d:multistatus>".encode()


def found(href: str, properties: str) -> str:
    status = "<d:status>HTTP/1.1 200 OK</d:status>"
    return f"<d:href>{href}</d:href><d:propstat><d:prop>{properties}</d:prop>{status}</d:propstat>"


CALENDAR = "<d:resourcetype><c:calendar/></d:resourcetype>"


def test_a_server_that_cuts_long_answers_is_asked_for_shorter_spans(site: Site) -> None:
    def report(path: str, asked: str) -> tuple[int, bytes]:
        span = re.search(r'start="(\S+)" end="(\S+)"', asked)
        assert span is not None
        start, end = (datetime.strptime(text, "%Y%m%dT%H%M%SZ") for text in span.groups())  # noqa: DTZ007
        if end - start > timedelta(days=100):
            return 207, multistatus("<d:href>/x/</d:href><d:status>HTTP/1.1 507 Insufficient Storage</d:status>")
        inside = start <= datetime(2026, 3, 5, 14) < end  # noqa: DTZ001
        return 207, multistatus(*([found("/x/d.ics", f"<c:calendar-data>{event('d')}</c:calendar-data>")] * inside))

    site.multistatus, site.report = multistatus(found("/x/", CALENDAR)), report
    assert [item.series for item in sync(CalDav(f"{site.url}/x/", OPTIONS))[0]] == ["d"]


def test_one_calendar_that_can_not_be_read_is_reported_and_nothing_counts_as_gone(site: Site) -> None:
    data = f"<c:calendar-data>{event('d')}</c:calendar-data>"
    site.multistatus = multistatus(
        found("/", "<d:resourcetype/><c:calendar-home-set><d:href>/</d:href></c:calendar-home-set>"),
        found("/good/", CALENDAR),
        found("/bad/", f"{CALENDAR}<d:displayname>Bad</d:displayname>"),
    )
    site.report = lambda path, asked: (207, multistatus(found(f"{path}d.ics", data)))
    _, checkpoint, _ = sync(CalDav(site.url, OPTIONS))
    site.report = lambda path, asked: (500, b"") if path == "/bad/" else (207, multistatus())
    items, _, batches = sync(CalDav(site.url, OPTIONS), checkpoint)
    assert not items
    assert "'Bad' is not accepted" in str(batches[0].refused[0])
    site.report = lambda path, asked: (207, multistatus())
    assert [item.cancelled for item in sync(CalDav(site.url, OPTIONS), checkpoint)[0]] == [True]


@pytest.mark.parametrize("url", ["http://example.org/x.ics", "ftp://example.org", "x.ics", "https://", ""])
def test_an_address_has_to_be_encrypted(url: str) -> None:
    with pytest.raises(InvalidInput, match="https"):
        IcsUrl(url)


def test_the_secret_of_an_address_isnt_in_the_name_of_its_source() -> None:
    source = IcsUrl("webcal://ada:pw@calendar.example.org/private-4711/basic.ics")
    source.close()
    assert source.name.startswith("ics:calendar.example.org/")
    assert not any(secret in source.name for secret in ("4711", "pw", "ada"))


def test_a_file_is_recognised_and_followed(tmp_path: Path) -> None:
    assert detect_format(SAMPLE) == "ics"
    path = tmp_path / "team.ics"
    path.write_bytes(SAMPLE.read_bytes())
    items, checkpoint, batches = sync(IcsFile(path, OPTIONS))
    assert [item.title for item in items] == [
        "Dentist, Dr. Sommer",
        "Stand-up",
        "Bread fair",
        "New oven",
        "Stand-up (moved)",
        "Stand-up",
    ]
    assert [error.line for error in batches[0].refused] == [74]
    path.write_bytes(SAMPLE.read_bytes().replace(b"UID:fair", b"UID:other"))
    items, _, _ = sync(IcsFile(path, OPTIONS), checkpoint)
    assert [(item.series, item.cancelled) for item in items] == [
        ("fair@example.org", True),
        ("other@example.org", False),
    ]
