"""Bytes of a text file as text: by its byte order mark, as UTF-8, as UTF-16 without a mark, or as the caller says."""

from __future__ import annotations

import codecs
from typing import Final

from perdure.documents.refusing import Refused

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NO_TEXTS: Final = frozenset({"punycode", "idna", "undefined", "unicode_escape", "raw_unicode_escape"})
"""Codecs that Python knows and files aren't written in; some of them take quadratic time."""
_SAMPLE: Final = 4096
_MOSTLY: Final = 0.5
"""Of every other byte of UTF-16 text with spaces, line ends and Latin letters, more than this are zero."""


def decode_text(data: bytes, encoding: str | None = None) -> str:
    """The text of a file.

    Raises:
        Refused: it is in no encoding that can be told, or not in the one that is given.
    """
    if encoding is not None:
        return _as(data, encoding)
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return _as(data, codec)
    if b"\0" not in data[:_SAMPLE]:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            limit = f"byte {error.start + 1:,} is not UTF-8; name its encoding, such as cp1252 or gb18030"
            raise Refused(limit) from None
    return _as(data, _without_mark(data[:_SAMPLE]))


def _as(data: bytes, encoding: str) -> str:
    try:
        known = codecs.lookup(encoding).name not in _NO_TEXTS
        text = data.decode(encoding) if known else None
    except UnicodeError:
        raise Refused(f"it is not in the encoding {encoding}") from None
    except (LookupError, ValueError):
        text = None
    if text is None:
        raise Refused(f"there is no encoding {encoding!r} of text")
    return text


def _without_mark(sample: bytes) -> str:
    half = max(len(sample) // 2, 1)
    if sample[1::2].count(0) > _MOSTLY * half:
        return "utf-16-le"
    if sample[0::2].count(0) > _MOSTLY * half:
        return "utf-16-be"
    raise Refused("it is no text")
