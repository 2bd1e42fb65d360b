"""A real IMAP server (pymap) in a process of its own, and a hand that puts mails into it."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from imap_tools import MailBoxUnencrypted

USER = "ada"
PASSWORD = 'a "quoted\\ p4ssword'
_START_S = 30.0


class MailServer:
    """`with MailServer(...) as server:` runs it; mails are gone when it stops, and a restarted one numbers anew."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._log = folder / "pymap.log"
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]

    def __enter__(self) -> MailServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        main = "import sys; from pymap.main import main; sys.exit(main())"
        options = ("--host", "127.0.0.1", "--port", str(self.port), *self._arguments)
        backend = ("dict", "--demo-user", USER, "--demo-password", PASSWORD)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-c", main, *options, *backend], stdout=log, stderr=log
            )
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            assert self._process.poll() is None, self._log.read_text()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.05)
        raise AssertionError(f"pymap did not start: {self._log.read_text()}")

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    @contextlib.contextmanager
    def hand(self):  # type: ignore[no-untyped-def]
        """A connection that may change things."""
        mailbox = MailBoxUnencrypted("127.0.0.1", self.port, timeout=30)
        mailbox.client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        mailbox.login(USER, PASSWORD, initial_folder=None)
        try:
            yield mailbox
        finally:
            mailbox.logout()

    def put(self, mails: list[bytes], folder: str = "INBOX", *, at: datetime | None = None) -> None:
        with self.hand() as mailbox:
            if not mailbox.folder.exists(folder):
                mailbox.folder.create(folder)
            for mail in mails:
                mailbox.append(mail, folder, dt=at or datetime(2025, 3, 3, 12, tzinfo=UTC))

    def unseen(self, folder: str) -> int:
        with self.hand() as mailbox:
            return mailbox.folder.status(folder)["UNSEEN"]

    def delete(self, folder: str, subject: str) -> None:
        with self.hand() as mailbox:
            mailbox.folder.set(folder)
            found = mailbox.uids(f'SUBJECT "{subject}"')
            assert found
            mailbox.delete(found)

    def log(self) -> str:
        return re.sub(r"\s+", " ", self._log.read_text())


def mail(number: int, words: str = "We meet at nine.", **headers: str) -> bytes:
    """A small mail with a number in its subject and Message-ID."""
    lines = {
        "From": "Lena Brandt <lena@example.org>",
        "To": "Ada <ada@example.org>",
        "Subject": f"Note {number}",
        "Date": "Mon, 3 Mar 2025 10:00:00 +0100",
        "Message-ID": f"<note-{number}@example.org>",
    } | {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
    return f"{head}\r\n{words}\r\n".encode()
