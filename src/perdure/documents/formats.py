"""What kind of file a document is, told by its name and its first bytes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePath
from typing import Final

from perdure.errors import InvalidInput


class MediaType(StrEnum):
    """The formats that are read."""

    TEXT = "text/plain"
    MARKDOWN = "text/markdown"
    HTML = "text/html"
    PDF = "application/pdf"


_BY_ENDING: Final = {
    ".txt": MediaType.TEXT,
    ".text": MediaType.TEXT,
    ".log": MediaType.TEXT,
    ".csv": MediaType.TEXT,
    ".md": MediaType.MARKDOWN,
    ".markdown": MediaType.MARKDOWN,
    ".html": MediaType.HTML,
    ".htm": MediaType.HTML,
    ".xhtml": MediaType.HTML,
    ".pdf": MediaType.PDF,
}
_PDF: Final = b"%PDF-"
_PDF_WITHIN: Final = 1024
"""Readers look for the beginning of a PDF in so many bytes."""
_HTML: Final = (b"<!doctype html", b"<html")
_OTHERS: Final = {
    b"PK\x03\x04": "a ZIP archive, as DOCX, ODT and EPUB files are",
    b"\xd0\xcf\x11\xe0": "an old Office file",
    b"{\\rtf": "an RTF file",
    b"\x1f\x8b": "a gzip archive",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
}
READ: Final = "text, Markdown, HTML and PDF are read"


def media_type_of(name: str, data: bytes, given: object = None) -> MediaType:
    """The format of a file: as given, by its first bytes, by the ending of its name, or plain text.

    Raises:
        InvalidInput: `given` is no format that is read, or the file is recognised as something else.
    """
    if given is not None:
        if not isinstance(given, str) or given not in set(MediaType):
            raise InvalidInput("media_type", given, f"it has to be one of {', '.join(MediaType)}")
        return MediaType(given)
    if _PDF in data[:_PDF_WITHIN]:
        return MediaType.PDF
    for mark, what in _OTHERS.items():
        if data.startswith(mark):
            raise InvalidInput("document", name, f"it is {what}; {READ}")
    if data[:_PDF_WITHIN].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_HTML):
        return MediaType.HTML
    return _BY_ENDING.get(PurePath(name).suffix.lower(), MediaType.TEXT)
