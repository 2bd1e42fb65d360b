"""The file of an export: a manifest, a line for each row, and a last line by which a file that was cut is known.

It is JSON Lines in UTF-8, compressed with gzip where its name ends so. Each line but the first and the last is
`{"table": …, "row": {…}}`, tables in an order in which none refers to a later one.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from perdure.errors import InvalidInput

VERSION: Final = 1
MAX_LINE_BYTES: Final = 64 * 1024 * 1024
MAGIC: Final = b'{"perdure_export": '
_GZIP: Final = b"\x1f\x8b"

LEFT_OUT: Final[Mapping[str, str]] = {
    "memory_terms": "spelled out again from the memories",
    "memory_entities": "spelled out again from the memories",
    "memory_facets": "spelled out again from the memories",
    "space_counts": "counted again",
    "space_state": "counted again",
    "space_calibrations": "measured again, with the embedder that is there then",
    "audit_log": "says who changed what in this installation, and stays with it",
}
"""Tables of a space that an export doesn't hold, and why."""
VECTORS: Final = "family_id"
"""The column that vectors have: they come along only where that is asked for, and by the name of their family."""
LEASES: Final = ("lease_holder", "lease_until")
"""What somebody is at work on when the space is exported is nobody's in its copy."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The first line: what is in the file.

    `columns` are those of each table, `counts` how many rows each has; `families` the names of vectors that are there.
    """

    space: str
    time_zone: str
    created_at: str
    exported_at: str
    perdure: str
    vectors: bool
    columns: Mapping[str, list[str]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    perdure_export: int = VERSION

    @property
    def rows(self) -> int:
        return sum(self.counts.values())


class Writer:
    """Writes lines, and what they come to."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.lines = 0

    def write(self, line: Mapping[str, Any]) -> None:
        data = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        self._digest.update(data)
        self._file.write(data)
        self.lines += 1

    def manifest(self, manifest: Manifest) -> None:
        told = asdict(manifest)
        version = told.pop("perdure_export")
        data = MAGIC + json.dumps(version).encode() + b", " + json.dumps(told, ensure_ascii=False).encode()[1:] + b"\n"
        self._digest.update(data)
        self._file.write(data)
        self.lines += 1

    def end(self) -> None:
        """The last line: how many there were, and their digest."""
        last = {"end": True, "lines": self.lines, "sha256": self._digest.hexdigest()}
        self._file.write(json.dumps(last).encode() + b"\n")


@dataclass(frozen=True, slots=True)
class Checked:
    """A file that is whole: its manifest, and the digest of all its lines, by which it is known again."""

    path: Path
    manifest: Manifest
    digest: str

    def rows(self, after: int) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """Rows behind line `after`, each with the number of its line and its table."""
        with _opened(self.path) as file:
            for number, line in enumerate(_lines(file), 1):
                told = json.loads(line)
                if number > max(1, after) and "table" in told:
                    yield number, told["table"], told["row"]


def is_export(path: Path) -> bool:
    """Whether a file begins as an export does."""
    try:
        with _opened(path) as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, EOFError, gzip.BadGzipFile):
        return False


def check(path: Path, progress: Callable[[int], None] | None = None) -> Checked:
    """Reads a file to its end before anything is made of it.

    Raises:
        InvalidInput: it is none, is newer than this, was cut or changed; the error names the line.
    """
    digest = hashlib.sha256()
    manifest: Manifest | None = None
    number = 0
    try:
        with _opened(path) as file:
            for number, line in enumerate(_lines(file), 1):
                told = _object(line, number)
                if manifest is None:
                    manifest = _manifest(told)
                elif told.get("end") is True:
                    _require_end(told, number, digest.hexdigest())
                    return Checked(path, manifest, digest.hexdigest())
                else:
                    _require_row(told, manifest, number)
                digest.update(line)
                if progress is not None:
                    progress(number)
    except (EOFError, gzip.BadGzipFile) as error:
        raise InvalidInput("file", path.name, f"its compressed data are damaged ({error})", line=number + 1) from None
    except OSError as error:
        raise InvalidInput("file", str(path), f"it can't be read ({error.strerror or error})") from None
    raise InvalidInput("file", path.name, "it ends in the midst; the last line of an export says so", line=number + 1)


def writing(path: Path) -> IO[bytes]:
    """The file to write an export to, compressed where its name ends in .gz."""
    return gzip.open(path, "wb") if path.name.endswith((".gz", ".gz.part")) else path.open("wb")  # type: ignore[return-value]


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        compressed = file.read(len(_GZIP)) == _GZIP
    return gzip.open(path, "rb") if compressed else path.open("rb")  # type: ignore[return-value]


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise InvalidInput("line", "", f"it has more than {MAX_LINE_BYTES:,} bytes", line=number)
        yield line


def _object(line: bytes, number: int) -> dict[str, Any]:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise InvalidInput("line", line[:40], "it has to be a JSON object", line=number)
    return told


def _manifest(told: Mapping[str, Any]) -> Manifest:
    version = told.get("perdure_export")
    if not isinstance(version, int):
        raise InvalidInput("perdure_export", version, "this is no export of Perdure", line=1)
    if version > VERSION:
        raise InvalidInput("perdure_export", version, f"this Perdure reads up to {VERSION}; update it", line=1)
    try:
        manifest = Manifest(**told)
        sound = all(isinstance(getattr(manifest, name), str) for name in ("space", "time_zone", "created_at"))
        sound &= all(isinstance(each, list) for each in manifest.columns.values())
        sound &= all(isinstance(each, int) and each >= 0 for each in manifest.counts.values())
    except (TypeError, AttributeError):
        sound = False
    if not sound:
        raise InvalidInput("manifest", "", "it lacks what an export says of itself", line=1)
    return manifest


def _require_row(told: Mapping[str, Any], manifest: Manifest, number: int) -> None:
    table, row = told.get("table"), told.get("row")
    if not isinstance(table, str) or table not in manifest.columns or not isinstance(row, dict):
        raise InvalidInput("table", table, "it has to be one that the manifest names, with its row", line=number)
    unknown = sorted(set(row) - set(manifest.columns[table]))
    if unknown:
        raise InvalidInput(f"{table}.{unknown[0]}", "", "the manifest knows no such column", line=number)


def _require_end(told: Mapping[str, Any], number: int, digest: str) -> None:
    if told.get("lines") != number - 1 or told.get("sha256") != digest:
        raise InvalidInput("file", "", "it is not what was exported: a line is missing or was changed", line=number)
