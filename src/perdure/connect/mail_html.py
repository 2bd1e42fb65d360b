"""HTML mail as text: what a reader would see, a line per block, with quotations marked."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from selectolax.lexbor import LexborHTMLParser

from perdure.connect.mail_text import visible

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

MAX_HTML_CHARS: Final = 600_000
"""What is looked at of an HTML part: several times what the largest newsletters have."""

_MAX_DEPTH: Final = 2_000
"""Open elements up to which a document is parsed: the parser's time grows with the square (100,000 take 25 s)."""

_MAX_REBUILT: Final = 2_000_000
"""Elements that a parser may open once more, each of them for each tag that follows."""

QUOTE_BEGIN: Final = "\ue0f0"
QUOTE_END: Final = "\ue0f1"
"""Lines around what HTML marks as quoted, from a private area of Unicode; `mail_quotes` takes them out again."""

_BREAK: Final = "\ue0f2"
_EDGE: Final = "\ue0f3"
_GAP: Final = "\ue0f4"
_MARKS: Final = (QUOTE_BEGIN, QUOTE_END, _BREAK, _EDGE, _GAP)
_BETWEEN: Final = re.compile(f"[ {_BREAK}{_EDGE}{_GAP}]*[{_BREAK}{_EDGE}{_GAP}][ {_BREAK}{_EDGE}{_GAP}]*")

_NOT_SHOWN: Final = (
    "head, script, style, template, noscript, title, object, iframe, svg, math, select, textarea, [hidden], "
    "input, button[disabled]"
)
_SIGNATURES: Final = (
    ".gmail_signature, .gmail_signature_prefix, .moz-signature, #Signature, #signature, #ms-outlook-mobile-signature, "
    ".protonmail_signature_block, .yahoo-signature, #AppleMailSignature, .zmail_signature_below"
)
_QUOTES: Final = (
    "blockquote, .gmail_quote, .gmail_extra > .gmail_quote, .yahoo_quoted, .protonmail_quote, .tutanota_quote, "
    ".zmail_extra, div[name='quote'], #mail-app-auto-quote, .ms-outlook-mobile-reference-message"
)
_HIDING: Final = re.compile(
    r"display:none|visibility:hidden|mso-hide:all|font-size:0(?:px|pt|em|rem|%)?(?:!important)?(?:;|$)"
    r"|(?:max-height|opacity):0(?:\.0+)?(?:px|pt|em|%)?(?:!important)?(?:;|$)|text-indent:-\d{4,}|left:-\d{4,}"
)
_BLOCKS: Final = (
    "address, article, aside, center, dd, div, dl, dt, fieldset, figcaption, figure, footer, form, h1, h2, h3, h4, h5, "
    "h6, header, hr, main, nav, ol, p, pre, section, table, tr, ul"
)
_APART: Final = frozenset(("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol"))
_TAG_BEGIN: Final = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,20})")
_TAG: Final = re.compile(
    r"<(?:script|style)\b[^<]*(?:</(?:script|style)\s*>)?|</?[a-zA-Z][^<>]{0,4000}>", re.IGNORECASE
)
"""Where neither passes a second `<`, no text makes them look at a sign again and again."""
_MAX_RULES: Final = 200
_NEVER_CLOSED: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_ENDED_BY_OTHERS: Final = frozenset(("p", "li", "dt", "dd", "option", "optgroup", "rb", "rt", "rp", "rtc"))
_ENDED_BY_NEXT: Final = frozenset(("p", "li", "dt", "dd", "td", "th", "tr", "option"))
_CELLS: Final = frozenset(("td", "th", "tr", "tbody", "thead", "tfoot", "caption", "colgroup"))
_FORMATTING: Final = frozenset(
    ("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u")
)
"""What a parser opens once more in the next block if it was left open in this one."""
_RULE: Final = re.compile(r"([^{}]{1,500})\{([^{}]{0,2000})\}")
_SIMPLE_SELECTOR: Final = re.compile(r"[a-zA-Z]{0,12}([.#])(-?[_a-zA-Z][\w-]{0,80})")


def html_text(source: str) -> str:
    """The text of an HTML part; quoted parts stand between `QUOTE_BEGIN` and `QUOTE_END` lines."""
    return shown_text(source[:MAX_HTML_CHARS], besides=_SIGNATURES)


def shown_text(source: str, *, besides: str) -> str:
    """What a reader would see of HTML, without the elements that the selector `besides` names; quotations marked."""
    source = source.translate({ord(mark): None for mark in (*_MARKS, "\0")})
    if _too_much(source):
        return visible(html.unescape(_TAG.sub(" ", source)))
    tree = LexborHTMLParser(source)
    _drop_hidden(tree)
    body = tree.body
    if body is None:
        return ""
    for node in body.css(besides):
        node.decompose()
    _lay_out(body)
    text = " ".join(body.text(deep=True).split())
    return visible(_BETWEEN.sub(_line_ends, text))


def _line_ends(between: re.Match[str]) -> str:
    """One line end where blocks meet, two around a paragraph, and each `<br>`, which in a block of its own is empty."""
    ended, _, own = between[0].partition(_EDGE)
    count = ended.count(_BREAK) + (own.count(_BREAK) + 1 if _BREAK in own else 0)
    return "\n" * max(2 if _GAP in between[0] else 1, count)


def _too_much(source: str) -> bool:
    """Whether parsing would take more than its share, by what stays open as far as that can be told.

    An end tag ends only what was opened last, and what its own end implies: a parser ends as much, or more.
    """
    opened: list[str] = []
    formatting = rebuilt = 0
    for slash, written in _TAG_BEGIN.findall(source):
        name = written.lower()
        rebuilt += formatting
        if slash:
            kept = _ended(opened, name)
            formatting -= sum(each in _FORMATTING for each in opened[kept:])
            del opened[kept:]
        elif name not in _NEVER_CLOSED:
            if name in _ENDED_BY_NEXT and opened[-1:] == [name]:
                continue
            opened.append(name)
            formatting += name in _FORMATTING
        if len(opened) > _MAX_DEPTH or rebuilt > _MAX_REBUILT:
            return True
    return False


def _ended(opened: Sequence[str], name: str) -> int:
    """How many of the open elements an end tag leaves open."""
    implied = _ENDED_BY_OTHERS | _CELLS if name == "table" or name in _CELLS else _ENDED_BY_OTHERS
    place = len(opened) - 1
    while place >= 0 and opened[place] != name and opened[place] in implied:
        place -= 1
    return place if place >= 0 and opened[place] == name else len(opened)


def _drop_hidden(tree: LexborHTMLParser) -> None:
    hidden = _hidden_by_rules("\n".join(node.text(deep=True) for node in tree.css("style")))
    for node in tree.css(", ".join([_NOT_SHOWN, *hidden])):
        if node.tag not in ("body", "html"):
            node.decompose()
    for node in tree.css("[style]"):
        style = re.sub(r"\s+", "", node.attributes.get("style") or "").lower()
        if node.tag not in ("body", "html") and _HIDING.search(style):
            node.decompose()


def _hidden_by_rules(css: str) -> list[str]:
    """Classes and ids that a style sheet always hides; what it hides on some screens (`@media`) is seen on others."""
    css = re.sub(r"/\*.{0,5000}?\*/", "", css, flags=re.DOTALL)
    plain, depth, start = [], 0, 0
    while (at := css.find("@", start)) >= 0:
        plain.append(css[start:at])
        opened = css.find("{", at)
        ended = css.find(";", at)
        if opened < 0 or 0 <= ended < opened:
            start = len(css) if ended < 0 else ended + 1
            continue
        depth, start = 1, opened + 1
        while depth and start < len(css):
            depth += {"{": 1, "}": -1}.get(css[start], 0)
            start += 1
    plain.append(css[start:])
    found: list[str] = []
    for selectors, declarations in _RULE.findall("".join(plain)):
        if _HIDING.search(re.sub(r"\s+", "", declarations).lower()):
            simple = (_SIMPLE_SELECTOR.fullmatch(selector.strip()) for selector in selectors.split(","))
            found += [f"{match[1]}{match[2]}" for match in simple if match]
    return found[:_MAX_RULES]


def _lay_out(body: LexborNode) -> None:
    for node in body.css("pre"):
        for line_break in node.css("br"):
            line_break.replace_with("\n")
        node.replace_with(_GAP + node.text(deep=True).replace("\n", _BREAK) + _GAP)
    for node in body.css("br"):
        node.replace_with(_BREAK)
    for node in body.css("td, th"):
        node.insert_after(" ")
    for node in body.css("li"):
        node.insert_before(f"{_EDGE}- ")
        node.insert_after(_EDGE)
    for node in body.css(_QUOTES):
        node.insert_before(f"{_EDGE}{QUOTE_BEGIN}{_EDGE}")
        node.insert_after(f"{_EDGE}{QUOTE_END}{_EDGE}")
    for node in body.css("img"):
        alternative = (node.attributes.get("alt") or "").strip()
        node.replace_with(f" {alternative} " if alternative else " ")
    for node in body.css(_BLOCKS):
        edge = _GAP if node.tag in _APART else _EDGE
        node.insert_before(edge)
        node.insert_after(edge)
