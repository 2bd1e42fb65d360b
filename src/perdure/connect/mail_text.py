"""Mail text as a person sees it: charsets read leniently, and nothing kept that is there but not shown."""

from __future__ import annotations

import codecs
import re
from typing import Final

import regex

from perdure.text import clean

_AS_MEANT: Final = {
    "ascii": "cp1252",  # what isn't UTF-8 under these names is nearly always Windows text
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "iso2022_jp": "iso2022_jp_ext",
    "tis-620": "cp874",
    "iso8859-9": "cp1254",
}
"""Charsets that mailers name when they mean a larger one."""

_BY_OTHER_NAMES: Final = {
    "unicode-1-1-utf-7": "utf-7",
    "iso-8859-8-i": "iso8859-8",
    "iso-8859-6-i": "iso8859-6",
    "ks_c_5601-1987": "cp949",
    "x-sjis": "cp932",
    "x-gbk": "gb18030",
    "x-euc-jp": "euc_jp",
    "x-mac-roman": "mac_roman",
    "windows-874": "cp874",
    "utf8mb4": "utf-8",
    "cp-850": "cp850",
}

_NO_CHARSETS: Final = frozenset(
    {"punycode", "idna", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem", "utf-8-sig"}
)
"""Codecs that Python knows and mail doesn't; some of them take quadratic time."""

_UNSEEN: Final = regex.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\x80-\x84\x86-\x9f]"
)
"""Fillers, tags, marks of writing direction: what newsletters pad their preview with, and what hides words from readers
but not from a model. Joiners inside words and emoji stay (`_LOOSE_JOINERS` are those that join nothing)."""

_LOOSE_JOINERS: Final = regex.compile(r"(?<![^\s\u200c\u200d])[\u200c\u200d]+|[\u200c\u200d]+(?![^\s\u200c\u200d])")
_BLANKS: Final = re.compile("[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]+")
_EMPTY_LINES: Final = re.compile(r"\n{3,}")


def decoded(data: bytes, charset: str | None) -> str:
    """The text of bytes in the charset they are said to be in, or in the one they seem to be in; never an error."""
    codec = _codec(charset)
    if codec is None or codec.name in ("ascii", "utf-8"):
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            declared_utf8 = codec is not None and codec.name == "utf-8"
            return data.decode("utf-8" if declared_utf8 and _mostly_utf8(data) else "cp1252", "replace")
    try:
        return data.decode(_AS_MEANT.get(codec.name, codec.name), "replace")
    except (UnicodeError, LookupError, ValueError):  # some codecs fail whatever they are told to replace
        return data.decode("utf-8", "replace")


def _codec(charset: str | None) -> codecs.CodecInfo | None:
    name = (charset or "").strip(" \t\r\n\"';").lower()
    name = _BY_OTHER_NAMES.get(name, name)
    try:
        codec = codecs.lookup(name) if name else None
    except (LookupError, ValueError):  # ValueError: a NUL in the name
        return None
    if codec is None or codec.name in _NO_CHARSETS:
        return None
    try:
        b"".decode(codec.name)
    except LookupError:  # a codec from bytes to bytes, such as zip
        return None
    return codec


def _mostly_utf8(data: bytes) -> bool:
    wrong = data.decode("utf-8", "replace").count("\ufffd")
    return wrong * 4 <= sum(byte >= 0x80 for byte in data)  # noqa: PLR2004  # the first byte that isn't ASCII


def visible(text: str) -> str:
    """The text without what can't be seen, each run of blanks as one space, at most one empty line in a row."""
    text = clean(text)
    if not text.isascii():
        text = _LOOSE_JOINERS.sub("", _UNSEEN.sub("", text.replace("\u2028", "\n").replace("\u2029", "\n\n")))
    lines = (_BLANKS.sub(" ", line).strip() for line in text.split("\n"))
    return _EMPTY_LINES.sub("\n\n", "\n".join(lines)).strip()


def on_one_line(text: str) -> str:
    """The text as one line, as a header line is shown."""
    return " ".join(visible(text.replace("\t", " ")).split())
