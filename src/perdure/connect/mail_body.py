"""The words of a mail's parts, and the names of what is attached."""

from __future__ import annotations

import email.message
from dataclasses import dataclass, field
from typing import Final

from perdure.connect.mail_headers import Headers, decoded_words
from perdure.connect.mail_html import MAX_HTML_CHARS, html_text
from perdure.connect.mail_text import decoded, on_one_line, visible
from perdure.text import has_letter_or_digit, truncate_chars

MAX_PARTS: Final = 200
MAX_ATTACHMENTS: Final = 20
MAX_PLAIN_CHARS: Final = 60_000
"""What is looked at of a plain part, before quotations and signature are cut."""

_DAMAGED: Final = (ValueError, TypeError, LookupError, AttributeError)
"""What the library raises on header lines and encodings that nobody should write: they are read as if absent."""

_MAX_DEPTH: Final = 30
_MAX_NAME_CHARS: Final = 100
_STUB_CHARS: Final = 160
_STUB_FACTOR: Final = 5


@dataclass(frozen=True, slots=True)
class Attachment:
    """What is attached, by name; `size` is in bytes, as far as the message was read."""

    name: str
    type: str
    size: int


@dataclass(slots=True)
class Body:
    """The words of a mail as they are shown, quotations still in them, and its attachments.

    `parts` counts those looked at; while `names_only` isn't 0, only names of attachments are looked for.
    """

    text: str = ""
    attachments: list[Attachment] = field(default_factory=list)
    parts: int = 0
    names_only: int = 0


def read_body(message: email.message.Message) -> Body:
    """Walk through the parts. Whatever is damaged is left out or read as text; never an error."""
    body = Body()
    body.text = _words(message, body, 0)
    return body


def _words(part: email.message.Message, body: Body, depth: int) -> str:
    body.parts += 1
    if body.parts > MAX_PARTS or depth > _MAX_DEPTH:
        return ""
    kind = _kind(part)
    if kind == "message/rfc822" or _is_attachment(part, kind):
        _attach(part, kind, body)
        return ""
    if not part.is_multipart():
        if body.names_only:
            return ""
        return _html(part) if kind == "text/html" else _plain(part)
    children = part.get_payload()
    parts = [child for child in children if isinstance(child, email.message.Message)]
    if kind == "multipart/alternative":
        return _best(parts, body, depth)
    texts = [_words(child, body, depth + 1) for child in parts]
    return "\n\n".join(text for text in texts if text)


def _best(parts: list[email.message.Message], body: Body, depth: int) -> str:
    """The plain part, unless it says nothing or only that there is another one."""
    plain = "\n\n".join(_words(part, body, depth + 1) for part in parts if _kind(part) == "text/plain").strip()
    said, short = has_letter_or_digit(plain), len(plain) < _STUB_CHARS
    body.names_only += said and not short
    texts = [_words(part, body, depth + 1) for part in parts if _kind(part) != "text/plain"]
    body.names_only -= said and not short
    marked = next(filter(None, texts), "")
    stub = short and len(marked) > _STUB_FACTOR * len(plain)
    return plain if said and not stub else marked or plain


def _kind(part: email.message.Message) -> str:
    try:
        return part.get_content_type()
    except _DAMAGED:
        return "text/plain"


def _is_attachment(part: email.message.Message, kind: str) -> bool:
    if part.is_multipart():
        return False
    if kind not in ("text/plain", "text/html", "text/enriched", "text/markdown") and not kind.startswith("multipart/"):
        return True
    disposition = str(part.get("content-disposition", "")).strip().lower()
    return disposition.startswith("attachment") or bool(_file_name(part))


def _attach(part: email.message.Message, kind: str, body: Body) -> None:
    if len(body.attachments) >= MAX_ATTACHMENTS:
        return
    name = _file_name(part)
    if not name and kind == "message/rfc822":
        inner = part.get_payload()
        first = inner[0] if isinstance(inner, list) and inner else None
        name = Headers(first).text("subject", _MAX_NAME_CHARS) if isinstance(first, email.message.Message) else ""
    if not name and kind == "text/calendar":
        name = "invite.ics"
    kind = on_one_line(decoded_words(kind))[:_MAX_NAME_CHARS]
    body.attachments.append(Attachment(name or kind, kind, _size(part)))


def _file_name(part: email.message.Message) -> str:
    try:
        name = part.get_filename("")
    except _DAMAGED:
        return ""
    name = on_one_line(decoded_words(str(name)))
    return truncate_chars(name.replace("\\", "/").rpartition("/")[2], _MAX_NAME_CHARS)


def _size(part: email.message.Message) -> int:
    if part.is_multipart():
        return 0
    raw = _payload(part)
    coded = str(part.get("content-transfer-encoding", "")).strip().lower()
    return (len(raw) - raw.count("\n")) * 3 // 4 if coded == "base64" else len(raw)


def _plain(part: email.message.Message) -> str:
    text = decoded(_bytes(part)[: 4 * MAX_PLAIN_CHARS], _charset(part))
    if _flowed(part):
        text = _unflowed(text)
    return visible(text[:MAX_PLAIN_CHARS])


def _html(part: email.message.Message) -> str:
    return html_text(decoded(_bytes(part)[: 2 * MAX_HTML_CHARS], _charset(part)))


def _charset(part: email.message.Message) -> str | None:
    try:
        charset = part.get_param("charset")
    except _DAMAGED:
        return None
    if isinstance(charset, tuple):
        charset = charset[2]
    return str(charset) if charset else None


def _bytes(part: email.message.Message) -> bytes:
    try:
        data = part.get_payload(decode=True)
    except _DAMAGED:
        data = None
    if isinstance(data, bytes):
        return data
    return _payload(part).encode("utf-8", "surrogateescape")


def _payload(part: email.message.Message) -> str:
    try:
        raw = part.get_payload()
    except (ValueError, TypeError, LookupError):  # a charset that is no name
        return ""
    return raw if isinstance(raw, str) else ""


def _flowed(part: email.message.Message) -> bool:
    try:
        return str(part.get_param("format") or "").strip().lower() == "flowed"
    except _DAMAGED:
        return False


def _unflowed(text: str) -> str:
    """Join the lines of `format=flowed` (RFC 3676): a space at the end of a line says that it goes on."""
    lines: list[str] = []
    going_on = False
    for line in text.replace("\r\n", "\n").split("\n"):
        if going_on and not line.startswith(">") and line != "-- ":
            lines[-1] += line.removeprefix(" ")
        else:
            lines.append(line.removeprefix(" ") if line[:2] != " >" else line)
        going_on = line.endswith(" ") and line != "-- " and not line.startswith(">")
    return "\n".join(lines)
