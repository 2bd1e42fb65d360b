"""The program that reads one PDF, run in a process of its own: a small file can ask for hours and gigabytes.

It gets a line of JSON with its limits and then the file, and answers with the text of each page, or with the reason why
there is none. It imports nothing of Perdure, so that it is ready in a moment and needs little memory.
"""

from __future__ import annotations

import io
import json
import logging
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pypdf import PdfReader

MAX_PAGES: Final = 5000
"""More pages than any 4 MB of text have; each costs some milliseconds even if it is empty."""

LOCKED: Final = "it is encrypted; save a copy without a password"
BROKEN: Final = "it is damaged, or no PDF"
SCANNED: Final = "there is no text in it, only pictures; let a program recognise the text (OCR) first"
TOO_MUCH: Final = "reading it takes too much memory or time"


class Unreadable(Exception):
    """The reason is the end of a sentence."""


def main() -> None:
    """Answers on stdout. Whatever goes wrong is an answer, but for what the system ends."""
    asked = json.loads(sys.stdin.buffer.readline())
    limit_process(asked["seconds"], asked["memory_bytes"])
    print(json.dumps(answer(sys.stdin.buffer.read(), asked["most_chars"])))  # noqa: T201 - this is the answer


def answer(data: bytes, most_chars: int) -> dict[str, Any]:
    """`pages` with the text of each page, up to one beyond `most_chars` characters, or `refused` with the reason."""
    from pypdf.errors import PyPdfError  # noqa: PLC0415 - not needed by those who only run the program

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        return {"pages": _pages(data, most_chars)}
    except Unreadable as error:
        return {"refused": str(error)}
    except MemoryError:
        return {"refused": TOO_MUCH}
    except (PyPdfError, RecursionError, ArithmeticError, LookupError, ValueError, TypeError, AttributeError, OSError):
        # What a damaged file makes the library trip over has no end.
        return {"refused": BROKEN}


def _pages(data: bytes, most_chars: int) -> list[str]:
    from pypdf import PdfReader  # noqa: PLC0415

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted:
        _unlock(reader)
    count = len(reader.pages)
    if count > MAX_PAGES:
        raise Unreadable(f"it has {count:,} pages, at most {MAX_PAGES:,} are read")
    texts: list[str] = []
    chars = 0
    for page in reader.pages:
        texts.append(page.extract_text())
        chars += len(texts[-1])
        if chars > most_chars:
            break
    if not any(map(str.strip, texts)):
        raise Unreadable(SCANNED)
    return texts


def _unlock(reader: PdfReader) -> None:
    """Many PDFs are encrypted without a password, only to forbid printing: those can be read."""
    from pypdf.errors import DependencyError  # noqa: PLC0415

    try:
        opened = bool(reader.decrypt(""))
    except (DependencyError, NotImplementedError):
        opened = False
    if not opened:
        raise Unreadable(LOCKED)


def limit_process(seconds: int, memory_bytes: int) -> None:
    """Has the system end this process if it takes too much; where it can't, whoever waits still ends it."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not on Windows

    for what, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_CORE, 0)):
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


if __name__ == "__main__":
    main()
