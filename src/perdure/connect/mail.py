"""From the bytes of one mail (RFC 5322) to the item that is judged: who wrote what to whom, and when."""

from __future__ import annotations

import codecs
import email
import hashlib
import re
from datetime import datetime
from email.policy import Compat32
from typing import Final

from perdure.connect.mail_body import Attachment, Body, read_body
from perdure.connect.mail_headers import MAX_HEADER_CHARS, Address, Headers, sent_at
from perdure.connect.mail_quotes import own_words
from perdure.connect.mail_words import FORWARD_SUBJECT
from perdure.door import MAX_EXTERNAL_ID_BYTES, require_key, require_name
from perdure.errors import InvalidInput
from perdure.text import is_role, truncate_bytes, truncate_chars
from perdure.types import SourceItem

MAX_MAIL_BYTES: Final = 2 * 1024 * 1024
"""What is read of one mail; of a longer one the beginning, where its words are, with whatever is attached cut off."""

MAX_BODY_CHARS: Final = 2000
"""Body text of an item (stream-memory 2, route 2)."""

_MAX_PEOPLE: Final = 10
_MAX_TITLE_CHARS: Final = 300
_MAX_FACT_BYTES: Final = 300
_SPEAKER_BYTES: Final = 200
_MARK_CHARS: Final = 60
_ID_DIGITS: Final = 40
_ID: Final = re.compile(r"<([^<>\s]+)>|^([^<>\s]+@[^<>\s]+)$")
_NEEDED: Final = ("from", "date", "subject", "message-id", "to", "received")
_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_BLANK_COLON: Final = re.compile(rb"^([!-9;-~]{1,76})[ \t]{1,20}:", re.MULTILINE)
_BULK: Final = frozenset({"bulk", "list", "junk", "auto_reply"})


class _AsWritten(Compat32):
    """Hands out header values as they stand in the mail, odd bytes as `surrogateescape` keeps them.

    Long ones are cut, because the library takes parameters apart in quadratic time (1 MB took 27 s).
    """

    def header_fetch_parse(self, name: str, value: str) -> str:
        return value[:MAX_HEADER_CHARS]


_POLICY: Final = _AsWritten()


def read_mail(data: bytes, *, received_at: datetime | None = None, dated: datetime | None = None) -> SourceItem:
    """One mail as an item.

    Args:
        data: the message as it came over the wire; what lies behind `MAX_MAIL_BYTES` is not looked at.
        received_at: when the mailbox got it; a Date that lies more than a day later is not believed.
        dated: the moment to take for a mail that says nothing of its own.

    Raises:
        InvalidInput: it is no mail (no header line that mails have), or nothing tells when it was sent.
    """
    try:
        message = email.message_from_bytes(_well_headed(data[:MAX_MAIL_BYTES]), policy=_POLICY)
        headers = Headers(message)
        if not any(name in headers for name in _NEEDED):
            limit = f"a mail begins with header lines, at least one of {', '.join(name.title() for name in _NEEDED)}"
            raise InvalidInput("mail", data[:80], limit)
        when = sent_at(headers, received_at) or ((dated, "file") if dated is not None else None)
        if when is None:
            limit = "it has neither a Date nor a Received line that can be read, and its mailbox doesn't date it"
            raise InvalidInput("date", headers.text("date", 80), limit)
        return _item(headers, read_body(message), when, cut=len(data) > MAX_MAIL_BYTES)
    except RecursionError as error:
        raise InvalidInput("mail", data[:80], "its parts are nested too deeply") from error


def _well_headed(data: bytes) -> bytes:
    """The same with what old and careless mailers write mended: blanks before a header's colon, empty lines on top."""
    data = data.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    end = _HEAD_END.search(data)
    head = data[: end.start() if end else None]
    return _BLANK_COLON.sub(rb"\1:", head) + data[len(head) :] if _BLANK_COLON.search(head) else data


def _item(headers: Headers, body: Body, when: tuple[datetime, str], *, cut: bool) -> SourceItem:
    sent, dated_by = when
    subject = headers.text("subject", _MAX_TITLE_CHARS)
    sender = _sender(headers)
    own = own_words(body.text, forwarded=FORWARD_SUBJECT.match(subject) is not None)
    lines = {
        "From": str(sender) if sender else "",
        "To": _people(headers.addresses("to")),
        "Cc": _people(headers.addresses("cc")),
        "Subject": subject,
        "Date": sent.isoformat(" ", "minutes"),
        "Attachments": ", ".join(map(_shown, body.attachments)),
    }
    head = "\n".join(f"{name}: {value}" for name, value in lines.items() if value)
    text = f"{head}\n\n{truncate_chars(own, MAX_BODY_CHARS)}" if own else head
    facts: dict[str, object] = {
        "message_id": _message_id(headers),
        "from": sender.address if sender else "",
        "in_reply_to": _first_id(headers.raw("in-reply-to")),
        "list_id": _list_id(headers),
        "auto_submitted": _automated(headers),
        "dated_by": "" if dated_by == "date" else dated_by,
    }
    metadata: dict[str, object] = {
        key: truncate_bytes(str(value), _MAX_FACT_BYTES) for key, value in facts.items() if value
    }
    if body.attachments:
        metadata["attachments"] = [{"name": a.name, "type": a.type, "size": a.size} for a in body.attachments]
    if cut:
        metadata["cut"] = True
    return SourceItem(
        kind="email",
        external_id=_message_id(headers) or _digest(text, sent),
        text=text,
        occurred_at=sent,
        title=subject,
        speaker=_speaker(sender),
        metadata=metadata,
    )


def _people(addresses: list[Address]) -> str:
    shown = [str(address) for address in addresses[:_MAX_PEOPLE]]
    more = len(addresses) - len(shown)
    return ", ".join([*shown, f"and {more} more"] if more else shown)


def _shown(attachment: Attachment) -> str:
    kind = "" if attachment.name == attachment.type else attachment.type
    size = f"{max(1, (attachment.size + 500) // 1000)} kB" if attachment.size else ""
    facts = ", ".join(filter(None, (kind, size)))
    return f"{attachment.name} ({facts})" if facts else attachment.name


def _sender(headers: Headers) -> Address | None:
    for name in ("from", "sender", "reply-to", "return-path"):
        found = headers.addresses(name)
        if found:
            return next((address for address in found if address.address), found[0])
    return None


def _speaker(sender: Address | None) -> str | None:
    """The name the sender goes by; the address when there is none, or when it would pass for somebody else."""
    if sender is None:
        return None
    borrowed = "@" in sender.name or is_role(sender.name)
    for name in (sender.address if borrowed else sender.name, sender.address):
        try:
            return require_name(truncate_bytes(name, _SPEAKER_BYTES), "speaker")
        except InvalidInput:  # nothing in it can be seen: the address may do
            continue
    return None


def _message_id(headers: Headers) -> str:
    return _first_id(headers.raw("message-id"))


def _first_id(value: str) -> str:
    found = _ID.search(value)
    try:
        return require_key(found[1] or found[2], "message-id", MAX_EXTERNAL_ID_BYTES) if found else ""
    except InvalidInput:  # too long, or with what can't be seen in it: as good as none
        return ""


def _digest(text: str, sent: datetime) -> str:
    """The id of a mail without one: the same words at the same moment are the same mail, wherever it is read."""
    return "sha256-" + hashlib.sha256(f"{sent.timestamp()}\n{text}".encode()).hexdigest()[:_ID_DIGITS]


def _list_id(headers: Headers) -> str:
    value = headers.text("list-id")
    named = re.search(r"<([^<>\s]{1,200})>", value)
    return named[1] if named else value


def _automated(headers: Headers) -> str:
    """What marks a mail as not written by hand to its reader, in the words of its header; empty if nothing does."""
    value = headers.text("auto-submitted", _MARK_CHARS).casefold()
    if value and value != "no":
        return value
    precedence = headers.text("precedence", _MARK_CHARS).casefold()
    if precedence in _BULK:
        return f"precedence {precedence}"
    return "list-unsubscribe" if "list-unsubscribe" in headers else ""
