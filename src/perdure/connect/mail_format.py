"""Whether bytes are the beginning of a mail or of a mailbox file."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from perdure.connect.mail_headers import moment_in

_FROM_LINE: Final = re.compile(
    rb"From (?:\S.{0,300} )?(?:[A-Z][a-z]{2},? +)?(?:[A-Z][a-z]{2} +\d{1,2}|\d{1,2} [A-Z][a-z]{2} \d{4}) .{0,60}\d"
)
_FULL_DATE: Final = re.compile(
    rb"[A-Z][a-z]{2} +\d{1,2} +\d\d:\d\d(?::\d\d)?(?: [A-Z]{1,5}| [+-]\d{4})? \d{4}(?: [+-]\d{4})?(?=\s*$)"
    rb"|\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d(?::\d\d)?(?: [+-]\d{4}| [A-Z]{1,5})?(?=\s*$)"
)
_HEADER_LINE: Final = re.compile(rb">?[!-9;-~]{1,76}[ \t]*:")
_OF_MAILS: Final = re.compile(
    rb"^(?:from|to|cc|subject|date|message-id|received|return-path|mime-version|delivered-to|reply-to|dkim-signature|"
    rb"list-id|content-type|sender|x-mailer|x-gm-thrid|status)[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
_LEAST_HEADERS: Final = 2


def mail_format(head: bytes) -> str | None:
    """`mbox`, `eml` or None, from the first kilobytes of a file."""
    head = head.lstrip(b"\r\n")
    if is_from_line(head.split(b"\n", 1)[0]):
        return "mbox"
    if not is_header_line(head):
        return None
    headers = re.split(rb"\r?\n\r?\n", head, maxsplit=1)[0]
    names = {name.lower() for name in _OF_MAILS.findall(headers)}
    return "eml" if len(names) >= _LEAST_HEADERS else None


def is_from_line(line: bytes) -> bool:
    """Whether a line has the form with which messages of a mailbox file begin: `From ann@example.org Mon Mar  3 …`."""
    return line.startswith(b"From ") and _FROM_LINE.match(line) is not None


def is_dated(line: bytes) -> bool:
    """Whether such a line ends with its year, perhaps a zone beside it, as programs write it and people don't."""
    return _FULL_DATE.search(line) is not None


def from_line_time(line: bytes) -> datetime | None:
    """When the message came in, by the line it begins with (UTC where it names no zone)."""
    found = _FULL_DATE.search(line)
    return moment_in(found[0].decode("ascii")) if found else None


def is_header_line(line: bytes) -> bool:
    """Whether a line begins as a header line does: a name of printable ASCII and a colon."""
    return _HEADER_LINE.match(line) is not None
