"""Web pages as text: what a reader would see, without the menus, under the title of the page."""

from __future__ import annotations

import html
import re
from typing import Final

from perdure.connect.mail_html import QUOTE_BEGIN, QUOTE_END, shown_text
from perdure.connect.mail_text import decoded, on_one_line

_MENUS: Final = "nav, [role=navigation], [role=menu], [aria-hidden=true]"
_HEAD_BYTES: Final = 4096
"""Where a page may name its charset; browsers look at the first 1024."""
_CHARSET: Final = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([\w:.-]{1,40})", re.IGNORECASE)
_TITLE: Final = re.compile(r"<title[^>]{0,200}>([^<]{0,1000})</title", re.IGNORECASE)
_QUOTES: Final = re.compile(f"\n?(?:{QUOTE_BEGIN}|{QUOTE_END})")
_BYTE_ORDER_MARKS: Final = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def page_text(data: bytes) -> str:
    """The text of an HTML page, a line per block; the charset is the one it names, or seems to be in."""
    source = _decoded(data)
    text = _QUOTES.sub("", shown_text(source, besides=_MENUS)).strip()
    named = _TITLE.search(source)
    title = on_one_line(html.unescape(named[1])) if named else ""
    return text if not title or title in text.split("\n", 3)[:3] else f"{title}\n\n{text}".strip()


def _decoded(data: bytes) -> str:
    for mark, codec in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            return data.decode(codec, "replace")
    named = _CHARSET.search(data[:_HEAD_BYTES])
    return decoded(data, named[1].decode("ascii", "replace") if named else None)
