"""Header lines of a mail, read leniently: encoded words, raw bytes, addresses and dates of every sort."""

from __future__ import annotations

import email.message
import re
from base64 import b64decode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from quopri import decodestring
from typing import Final

from perdure.connect.mail_text import decoded, on_one_line
from perdure.door import FIRST_YEAR, LAST_YEAR
from perdure.text import truncate_chars

MAX_HEADER_CHARS: Final = 20_000
"""What is looked at of one header line."""

_WORD: Final = re.compile(r"=\?([^?\s]{1,60}?)(?:\*[^?\s]{0,20})?\?([bBqQ])\?([^?]{0,4000})\?=")
_BETWEEN_WORDS: Final = re.compile(r"(\?=)\s+(?==\?[^?\s]{1,60}\?[bBqQ]\?)")
_NO_BASE64: Final = re.compile(rb"[^A-Za-z0-9+/]")
_FOLDS: Final = re.compile(r"\r?\n[ \t]*|[\r\n]")
_ADDRESS: Final = re.compile(r"[^\s<>()\[\],;:\"@]{1,200}@[^\s<>()\[\],;:\"@]{1,200}")
_COMMENT: Final = re.compile(r"\(([^()]{0,200})\)")
_ZONE_NAME: Final = re.compile(r"\(([A-Za-z0-9 +:.-]{0,60})\)?\s*$")
_AHEAD: Final = timedelta(days=1)
_NAME_CHARS: Final = 100
_DATE_CHARS: Final = 100


@dataclass(frozen=True, slots=True)
class Address:
    """Who a mail is from or to; `name` is what the sender calls them, `address` may be empty where there is none."""

    name: str
    address: str

    def __str__(self) -> str:
        if not self.address:
            return self.name
        if not self.name or self.name == self.address:
            return self.address
        return f'"{self.name}" <{self.address}>' if "," in self.name else f"{self.name} <{self.address}>"


class Headers:
    """The header lines of a message or a part; every value as readable text on one line."""

    def __init__(self, message: email.message.Message) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in message.raw_items():
            self._values.setdefault(name.lower(), []).append(str(value)[:MAX_HEADER_CHARS])

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def raw(self, name: str) -> str:
        """The first value as it stands in the mail, unfolded; empty if there is none."""
        return _FOLDS.sub(" ", next(iter(self._values.get(name, ())), "")).strip()

    def all(self, name: str) -> list[str]:
        """Every value, as text."""
        return [_text(value) for value in self._values.get(name, ())]

    def text(self, name: str, limit: int = 300) -> str:
        """The first value as text of at most `limit` characters; empty if there is none."""
        return truncate_chars(next(iter(self.all(name)), ""), limit)

    def addresses(self, name: str) -> list[Address]:
        """Everybody named in all lines of this name, in order."""
        return [address for value in self._values.get(name, ()) for address in _addresses(value)]


def _text(value: str) -> str:
    return on_one_line(decoded_words(_FOLDS.sub(" ", value)))


def decoded_words(value: str) -> str:
    """The text of a value with encoded words and with bytes that are no ASCII (as `surrogateescape` keeps them)."""
    if not value.isascii():
        value = decoded(value.encode("utf-8", "surrogateescape"), None)
    if "=?" not in value:
        return value
    return _joined_words(_BETWEEN_WORDS.sub(r"\1", value))


def _joined_words(value: str) -> str:
    """Decode runs of encoded words of one charset together: mailers cut characters in two between words."""
    parts: list[str] = []
    end, pending, charset = 0, b"", ""
    for word in _WORD.finditer(value):
        if pending and (word.start() > end or word[1].lower() != charset):
            parts.append(decoded(pending, charset))
            pending = b""
        parts.append(value[end : word.start()])
        charset, end = word[1].lower(), word.end()
        pending += _word_bytes(word[2], word[3])
    if pending:
        parts.append(decoded(pending, charset))
    return "".join((*parts, value[end:]))


def _word_bytes(encoding: str, data: str) -> bytes:
    raw = data.encode("utf-8", "replace")
    if encoding in "qQ":
        return decodestring(raw.replace(b"_", b" "))
    letters = _NO_BASE64.sub(b"", raw)
    whole = len(letters) - (len(letters) % 4 == 1)  # a single letter is no byte
    return b64decode(letters[:whole] + b"=" * (-whole % 4))


def _addresses(value: str) -> list[Address]:
    """Split at commas outside quotes, comments and angles; encoded words are read after splitting."""
    found = []
    for piece in _pieces(_FOLDS.sub(" ", value)):
        address = _address(piece)
        if address is not None:
            found.append(address)
    return found


def _pieces(value: str) -> list[str]:
    pieces, start, quoted, angle, comment, skip = [], 0, False, False, 0, False
    for at, letter in enumerate(value):
        if skip:
            skip = False
        elif letter == "\\":
            skip = True
        elif letter == '"' and not comment:
            quoted = not quoted
        elif quoted:
            continue
        elif letter in "()":
            comment = max(0, comment + (1 if letter == "(" else -1))
        elif letter in "<>":
            angle = letter == "<"
        elif letter in ",;" and not (angle or comment):
            pieces.append(value[start:at])
            start = at + 1
        elif letter == ":" and not (angle or comment) and "@" not in value[start:at] and "=?" not in value[start:at]:
            start = at + 1  # the name of a group of addresses
    return [*pieces, value[start:]]


def _address(piece: str) -> Address | None:
    angle = piece.rfind("<")
    end = piece.find(">", angle) if angle >= 0 else -1
    inside = piece[angle + 1 : end if end >= 0 else None].strip() if angle >= 0 else ""
    outside = piece[:angle] if angle >= 0 else piece
    found = _ADDRESS.search(inside) or (None if inside else _ADDRESS.search(outside))
    address = found[0].strip(".'") if found else ""
    if found and not inside:
        outside = outside[: found.start()] + outside[found.end() :]
        comment = _COMMENT.search(outside)
        outside = comment[1] if comment else _COMMENT.sub(" ", outside)
    else:
        outside = _COMMENT.sub(" ", outside) if outside.strip().startswith("(") is False else outside
    name = on_one_line(decoded_words(outside.strip().replace("\\", "").strip("\"' "))).strip("\"'")
    address = on_one_line(decoded_words(address)).lower() if address else ""
    if not name and not address:
        return None
    return Address(truncate_chars(name, _NAME_CHARS), address)


def sent_at(headers: Headers, received_at: datetime | None) -> tuple[datetime, str] | None:
    """When a mail was sent, with its zone, and by what: `date`, `received` (a relay wrote it) or `mailbox`.

    `received_at` is what the mailbox knows. A Date that lies more than a day after the mail came in is wrong.
    """
    relays = (moment_in(value.rpartition(";")[2]) for value in headers.all("received"))
    relayed = next((moment for moment in relays if moment is not None), None)
    arrived = received_at or relayed
    written = moment_in(headers.text("date", _DATE_CHARS))
    if written is not None and (arrived is None or written <= arrived + _AHEAD):
        return written, "date"
    if relayed is not None and (received_at is None or relayed <= received_at + _AHEAD):
        return relayed, "received"
    return (received_at, "mailbox") if received_at is not None else None


def moment_in(value: str) -> datetime | None:
    """The moment that a date of a mail names, with its zone (UTC where it has none); None if it names none."""
    value = _ZONE_NAME.sub("", value[:_DATE_CHARS]).strip()
    if not value:
        return None
    try:
        moment: datetime | None = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError, IndexError):  # not as mails write it
        moment = _iso(value)
    if moment is None:
        return None
    try:
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        year = moment.astimezone(UTC).year
    except (ValueError, OverflowError):  # at the first and last day there is, or a zone of more than a day
        return None
    return moment if FIRST_YEAR <= year <= LAST_YEAR else None


def _iso(value: str) -> datetime | None:
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None
