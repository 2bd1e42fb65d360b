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
_SAMPLE: Final = 4096
_MOSTLY: Final = 0.3
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
        text = codecs.decode(data, encoding)
    except LookupError:
        raise Refused(f"there is no encoding {encoding!r}") from None
    except (UnicodeError, ValueError, TypeError):
        raise Refused(f"it is not in the encoding {encoding}") from None
    if not isinstance(text, str):
        raise Refused(f"{encoding} is no encoding of text")
    return text


def _without_mark(sample: bytes) -> str:
    half = max(len(sample) // 2, 1)
    if sample[1::2].count(0) > _MOSTLY * half:
        return "utf-16-le"
    if sample[0::2].count(0) > _MOSTLY * half:
        return "utf-16-be"
    raise Refused("it is no text")
