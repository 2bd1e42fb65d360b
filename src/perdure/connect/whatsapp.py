"""The text file of WhatsApp's "Export chat", from Android and iOS, in any of their local spellings."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perdure.connect.reading import Rejected, Source, attempt, line_too_long, numbered_lines, utf8_at
from perdure.connect.values import checked_name, in_utc
from perdure.connect.whatsapp_header import MARKS, DayOrder, Header, parse_header
from perdure.errors import InvalidInput
from perdure.text import MAX_TEXT_BYTES, require_text
from perdure.types import Message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from perdure.connect.reading import ReadOptions, Tally

_NAMED = re.compile("(?P<name>[^:\n]{1,100}?) ?:(?:[ \u00a0\u202f]|$)(?P<text>.*)", re.DOTALL)
_QUOTED = re.compile('["“”«»]')  # a system line that quotes a new subject, not a speaker
_ATTACHMENT = re.compile(r"\S[^\n]{0,120}\.\w{2,5} \([^()\n]{3,40}\)")
_IOS_TAIL = re.compile("[ \n]?\u200e<[^<>\n]+>\\s*$")  # <attached: …>, <This message was edited>
_EDITED = re.compile(r" ?<(?:This message was edited|Diese Nachricht wurde bearbeitet|Se editó este mensaje\.?)>\s*$")
_COPY_NUMBER = re.compile(r" ?\(\d+\)$")
_PLACEHOLDERS = frozenset(
    {
        "<media omitted>",
        "<medien ausgeschlossen>",
        "<multimedia omitido>",
        "<archivo omitido>",
        "<médias omis>",
        "<fichier omis>",
        "<media omessi>",
        "<mídia oculta>",
        "<ficheiro não revelado>",
        "<media weggelaten>",
        "<media utelämnat>",
        "<medya dahil edilmedi>",
        "<pominięto multimedia>",
        "<без медиафайлов>",
        "<файл пропущен>",
        "<省略多媒体文件>",
        "<省略多媒體檔案>",
        "<メディアは含まれていません>",
        "<미디어 파일을 제외했습니다>",
        "<تم استبعاد الوسائط>",
        "null",  # what Android writes for a picture to be viewed once
        "this message was deleted",
        "you deleted this message",
        "diese nachricht wurde gelöscht.",
        "du hast diese nachricht gelöscht.",
        "se eliminó este mensaje.",
        "eliminaste este mensaje.",
        "ce message a été supprimé",
        "mensagem apagada",
        "questo messaggio è stato eliminato",
    }
)


@dataclass(slots=True)
class _Draft:
    """A message whose following lines are still being read."""

    line: int
    header: Header
    speaker: str
    lines: list[str]
    size: int = 0

    def add(self, text: str) -> None:
        """Take one more line; beyond the limit only the size grows, so that a broken file needs no memory."""
        self.size += len(text) + 1
        if self.size <= MAX_TEXT_BYTES:
            self.lines.append(text)


@dataclass(slots=True)
class _Ids:
    """Ids for messages that have none: a digest of conversation, time, speaker and text, and a number among equals.

    Equals are counted within one day, so that memory stays flat. The time is the one written in the file, so that
    another zone gives the same ids.
    """

    conversation: str
    _day: date | None = None
    _seen: Counter[str] = field(default_factory=Counter)

    def of(self, moment_text: str, day: date, speaker: str, text: str) -> str:
        if day != self._day:
            self._day = day
            self._seen.clear()
        parts = "\x1f".join((self.conversation, moment_text, speaker, text))
        digest = hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._seen[digest] += 1
        return digest if self._seen[digest] == 1 else f"{digest}-{self._seen[digest]}"


def read(source: Source, options: ReadOptions, tally: Tally) -> Iterator[Message | Rejected]:
    """Every message that a person wrote; the file is read twice, first for the order of day and month."""
    order = _order_of_days(source)
    day_first, note = order.decide(options.day_first)
    if note:
        tally.notes.append(note)
    ids = _Ids(options.conversation or conversation_name(source))
    for item in _drafts(source, tally):
        if isinstance(item, Rejected):
            yield item
            continue
        text = _what_was_said(item)
        if text is None:
            tally.skip("media or deleted message")
        elif item.size > MAX_TEXT_BYTES:
            limit = f"a message has at most {MAX_TEXT_BYTES} bytes"
            yield Rejected.at(item.line, InvalidInput("text", f"{item.size} characters", limit))
        else:
            yield _message_at(item, text, ids, options, day_first=day_first)


def _message_at(draft: _Draft, text: str, ids: _Ids, options: ReadOptions, *, day_first: bool) -> Message | Rejected:
    def build() -> Message:
        local = draft.header.moment(day_first=day_first)
        words, speaker = require_text(text, "text"), checked_name("speaker", draft.speaker)
        return Message(
            external_id=ids.of(local.isoformat(), local.date(), speaker, words),
            text=words,
            speaker=speaker,
            occurred_at=in_utc("time", draft.header.written, local, options.zone),
            conversation_id=checked_name("conversation", ids.conversation),
            line=draft.line,
        )

    return attempt(draft.line, build)


def conversation_name(source: Source) -> str:
    """The file's name without its extensions and without the number of a repeated download.

    iOS names every chat "_chat.txt" in a folder or archive with the chat's name; there the folder's name is taken.
    """
    stem = source.path.name.removesuffix(".gz").removesuffix(".txt")
    if stem == "_chat":
        stem = source.path.absolute().parent.name
    return _COPY_NUMBER.sub("", stem) or stem


def _order_of_days(source: Source) -> DayOrder:
    order = DayOrder()
    for _, text in _lines(source):
        header = parse_header(text) if text is not None else None
        if header:
            order.see(header)
    if not order.headers:
        limit = "no line begins like a WhatsApp message, as in `08.05.23, 13:56 - Ann: text`"
        raise InvalidInput("file", source.path.name, limit)
    return order


def _lines(source: Source) -> Iterator[tuple[int, str | None]]:
    """Raises InvalidInput at the first line that isn't UTF-8: then no line of the file can be trusted."""
    with source.open() as stream:
        for number, data in numbered_lines(stream):
            yield number, None if data is None else utf8_at(data, number)


def _drafts(source: Source, tally: Tally) -> Iterator[_Draft | Rejected]:
    draft: _Draft | None = None
    in_system_line = False
    for number, text in _lines(source):
        if text is None:
            yield line_too_long(number)
            continue
        header = parse_header(text)
        if header is None:
            if draft is not None:
                draft.add(text)
            elif text.strip() and not in_system_line:
                yield Rejected.at(
                    number, InvalidInput("line", text, "it belongs to no message: no head stands before it")
                )
            continue
        if draft is not None:
            yield draft
        draft = _begin(number, header)
        in_system_line = draft is None
        if draft is None:
            tally.skip("system line")
    if draft is not None:
        yield draft


def _begin(number: int, header: Header) -> _Draft | None:
    """The message that a head begins; None for what WhatsApp itself reports ("Ann added Ben")."""
    found = _NAMED.match(header.rest)
    if found is None or _QUOTED.search(found["name"]):
        return None
    name = found["name"].strip(f"{MARKS} \u00a0\u202f").removeprefix("~").strip(f"{MARKS} \u00a0\u202f")
    if not name:
        return None
    draft = _Draft(number, header, name, [])
    draft.add(found["text"])
    return draft


def _what_was_said(draft: _Draft) -> str | None:
    """The words without the notes that WhatsApp adds; None when nothing but such a note is there.

    iOS marks its own notes ("image omitted", "This message was deleted") with U+200E at their beginning.
    """
    first, *others = draft.lines or [""]
    if draft.header.bracketed and first.startswith("\u200e"):
        first = ""
    elif _ATTACHMENT.fullmatch(first.strip(MARKS)):
        first = ""  # Android puts the caption on the lines that follow
    text = "\n".join([first, *others])
    text = _EDITED.sub("", _IOS_TAIL.sub("", text)).strip()
    return None if not text.strip(MARKS) or text.casefold() in _PLACEHOLDERS else text
