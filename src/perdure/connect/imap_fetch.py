"""What an IMAP server hands out for a FETCH, without marking anything as seen."""

from __future__ import annotations

import imaplib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from perdure.connect.mail import MAX_MAIL_BYTES
from perdure.connect.mail_headers import moment_in

if TYPE_CHECKING:
    from imap_tools import BaseMailBox

MAX_FETCH_BYTES: Final = 16 * 1024 * 1024
"""What one command may bring; large mails are fetched in several."""

_UID: Final = re.compile(rb"\bUID (\d{1,10})\b")
_SIZE: Final = re.compile(rb"\bRFC822\.SIZE (\d{1,12})\b")
_CAME_IN: Final = re.compile(rb'\bINTERNALDATE "([^"]{1,40})"')


@dataclass(frozen=True, slots=True)
class Fetched:
    """The beginning of one message, and when the server got it."""

    uid: int
    received_at: datetime | None
    data: bytes


class FetchRefused(Exception):
    """The server answered NO: some of the messages it has, it can't hand out."""


def waiting(mailbox: BaseMailBox, after: int, since: str | None) -> list[int]:
    """The UIDs above `after`, lowest first; `since` is a day as IMAP writes it."""
    mailbox.client.noop()  # so that the server tells of what has come in
    criteria = f"UID {after + 1}:*" + (f" SINCE {since}" if since else "")
    status, found = mailbox.client.uid("SEARCH", criteria)
    if status != "OK":
        raise imaplib.IMAP4.error(*found)
    numbers = {int(number) for line in found if line for number in line.split()}
    return sorted(number for number in numbers if number > after)  # `n:*` always names the last message, too


def fetch(mailbox: BaseMailBox, uids: Sequence[int]) -> dict[int, Fetched]:
    """The messages of these UIDs that the folder still has. Raises FetchRefused where the server says NO to one."""
    found: dict[int, Fetched] = {}
    for group in _groups(uids, _sizes(mailbox, uids)):
        for entry, data in _entries(mailbox, group, f"(UID INTERNALDATE BODY.PEEK[]<0.{MAX_MAIL_BYTES + 1}>)"):
            uid, came_in = _UID.search(entry), _CAME_IN.search(entry)
            if uid and data is not None:
                received = moment_in(came_in[1].decode("ascii", "replace").replace("-", " ", 2)) if came_in else None
                found[int(uid[1])] = Fetched(int(uid[1]), received, data)
    return found


def _sizes(mailbox: BaseMailBox, uids: Sequence[int]) -> dict[int, int]:
    sizes = {}
    for entry, _ in _entries(mailbox, uids, "(UID RFC822.SIZE)"):
        uid, size = _UID.search(entry), _SIZE.search(entry)
        if uid and size:
            sizes[int(uid[1])] = int(size[1])
    return sizes


def _groups(uids: Sequence[int], sizes: dict[int, int]) -> Iterator[list[int]]:
    group: list[int] = []
    total = 0
    for uid in uids:
        if uid not in sizes:
            continue  # deleted meanwhile
        size = min(sizes[uid], MAX_MAIL_BYTES)
        if group and total + size > MAX_FETCH_BYTES:
            yield group
            group, total = [], 0
        group.append(uid)
        total += size
    if group:
        yield group


def _entries(mailbox: BaseMailBox, uids: Sequence[int], parts: str) -> Iterator[tuple[bytes, bytes | None]]:
    """Each message's facts and its bytes; a server may put facts behind the bytes, and say other things in between."""
    status, answer = mailbox.client.uid("FETCH", ",".join(map(str, uids)), parts)
    if status != "OK":
        raise FetchRefused
    entry, data = b"", None
    for item in answer:
        if isinstance(item, tuple):
            if data is not None:
                yield entry, data
            entry, data = item[0], item[1]
        elif isinstance(item, bytes):
            if data is None:
                yield item, b"" if b"BODY[]" in item else None
            else:
                yield entry + item, data
                entry, data = b"", None
    if data is not None:
        yield entry, data
