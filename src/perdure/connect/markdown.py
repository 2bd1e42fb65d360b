"""A folder of Markdown notes, or one of them: each section is a message, dated by what the note says of itself."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from perdure.connect.reading import Progress, Rejected, Source, Tally
from perdure.connect.values import checked_id, checked_time, optional_name
from perdure.errors import InvalidInput
from perdure.text import has_letter_or_digit, require_text, truncate_bytes
from perdure.types import Message

if TYPE_CHECKING:
    from collections import Counter
    from datetime import datetime
    from pathlib import Path

    from perdure.connect.reading import ReadOptions

SUFFIXES: Final = (".md", ".markdown")
MAX_NOTE_BYTES: Final = 8 * 1024 * 1024
MAX_NAME_BYTES: Final = 200
_HEADING: Final = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_FIELD: Final = re.compile(r"([A-Za-z_-]+):[ \t]*(.*?)[ \t]*$")
_DATES: Final = ("date", "created", "created_at", "updated", "modified")


@dataclass(frozen=True, slots=True)
class Section:
    """A piece of a note: the headings above it, its words, and the line it begins on."""

    headings: tuple[str, ...]
    text: str
    line: int


def is_markdown(path: Path) -> bool:
    """Whether a path is a note, or a folder that holds some."""
    if path.is_dir():
        return next(_notes(path), None) is not None
    return path.is_file() and path.suffix.lower() in SUFFIXES


class MarkdownReader(Iterator[Message | Rejected]):
    """The sections of all notes below a path, in the order of their names; hidden files and folders are left out."""

    format = "markdown"

    def __init__(self, path: Path, options: ReadOptions) -> None:
        """Raises InvalidInput for a path that holds no note, and for one note that can't be read."""
        self._root = path if path.is_dir() else path.parent
        self._paths = list(_notes(path)) if path.is_dir() else [path]
        if not self._paths or not path.exists():
            raise InvalidInput("path", str(path), "there is no note (.md) in it")
        if not path.is_dir():
            _text(path)
        self._options, self._tally = options, Tally()
        self._total = sum(each.stat().st_size for each in self._paths)
        self._read = 0
        self._items = self._messages()

    def __next__(self) -> Message | Rejected:
        return next(self._items)

    @property
    def progress(self) -> Progress:
        return Progress(self._read, max(1, self._total))

    @property
    def skipped(self) -> Counter[str]:
        return self._tally.skipped

    @property
    def notes(self) -> list[str]:
        return self._tally.notes

    def close(self) -> None:
        """Nothing stays open between notes."""

    def _messages(self) -> Iterator[Message | Rejected]:
        for path in self._paths:
            name = path.relative_to(self._root).as_posix()
            try:
                text = _text(path)
                fields, sections = read_note(text)
                date = self._date(fields)
            except InvalidInput as error:
                yield Rejected(None, InvalidInput(name, error.value, error.limit))
                continue
            finally:
                self._read += path.stat().st_size
            title = fields.get("title") or path.stem
            for section in sections:
                if has_letter_or_digit(section.text):
                    yield _message(name, title, section, date)
                else:
                    self._tally.skip("section without words")

    def _date(self, fields: dict[str, str]) -> datetime | None:
        written = next((fields[name] for name in _DATES if fields.get(name)), None)
        return None if written is None else checked_time("date", written, self._options.zone)


def read_note(text: str) -> tuple[dict[str, str], list[Section]]:
    """The front matter of a note, as far as it is plain `name: value`, and its sections; code is no heading."""
    lines = text.splitlines()
    fields: dict[str, str] = {}
    begin = 0
    if lines and lines[0].strip() == "---" and "---" in (line.strip() for line in lines[1:]):
        begin = 2 + next(number for number, line in enumerate(lines[1:]) if line.strip() == "---")
        found = (_FIELD.match(line) for line in lines[1 : begin - 1])
        fields = {match[1].lower(): match[2].strip("'\"") for match in found if match}
    return fields, list(_sections(lines, begin))


def _sections(lines: list[str], begin: int) -> Iterator[Section]:
    headings: list[tuple[int, str]] = []
    words: list[str] = []
    starts, fence = begin + 1, ""
    for number, line in enumerate(lines[begin:], begin + 1):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        heading = None if fence else _HEADING.match(line)
        if heading is None:
            words.append(line)
            continue
        yield Section(tuple(name for _, name in headings), "\n".join(words).strip(), starts)
        headings = [each for each in headings if each[0] < len(heading[1])] + [(len(heading[1]), heading[2])]
        words, starts = [], number
    yield Section(tuple(name for _, name in headings), "\n".join(words).strip(), starts)


def _message(name: str, title: str, section: Section, date: datetime | None) -> Message | Rejected:
    above = [heading for heading in section.headings if heading != title]
    text = f"{' › '.join([title, *above])}: {section.text}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    try:
        return Message(
            external_id=checked_id("path", f"{truncate_bytes(name, 900)}#{digest}"),
            text=require_text(text, "section"),
            occurred_at=date,
            conversation_id=optional_name("path", truncate_bytes(name, MAX_NAME_BYTES)),
            line=section.line,
        )
    except InvalidInput as error:
        return Rejected(section.line, InvalidInput(name, error.value, error.limit, line=section.line))


def _notes(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() in SUFFIXES and not hidden and path.is_file():
            yield path


def _text(path: Path) -> str:
    source = Source(path)
    with source.open() as stream:
        data = stream.read(MAX_NOTE_BYTES + 1)
    if len(data) > MAX_NOTE_BYTES:
        raise InvalidInput("file", path.name, f"a note has at most {MAX_NOTE_BYTES // 1024**2} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput("file", path.name, "it has to be UTF-8") from None
