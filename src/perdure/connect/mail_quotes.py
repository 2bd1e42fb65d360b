"""What somebody wrote themselves in a mail: without what they quote, and without their signature.

Judged line by line, so that no text can make it slow. Where it isn't clear that words are quoted, they stay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from perdure.connect.mail_html import QUOTE_BEGIN, QUOTE_END
from perdure.connect.mail_words import CLOSINGS, DEVICES, FORWARDS, LABELS, ORIGINALS, WROTE
from perdure.text import has_letter_or_digit

_LEAST_LABELS: Final = 3
_HEADER_BLOCK_LINES: Final = 12
_HEADER_CHARS: Final = 200
_HEAD_LINES: Final = 3  # lines over which mailers wrap "On … Ann wrote:"
_HEAD_CHARS: Final = 320
_SIGNATURE_LINES: Final = 12
_SIGNATURE_CHARS: Final = 90
_LONG_SIGNATURE_LINES: Final = 25
_LAST_LINES: Final = 2 * _LONG_SIGNATURE_LINES + 1  # an empty one between any two
_DEVICE_CHARS: Final = 80
_FOOTER_LINES: Final = 8

_QUOTE_MARKS: Final = re.compile(r"(?:> ?)+")
_RULED: Final = re.compile(r"[-_=*—–]{2,} ?([^-_=*—–]{4,60}?) ?[-_=*—–]{2,}")
_NAMED: Final = re.compile(r"\*?([^\W\d_][^:：*]{0,24})\*?[:：]\*?(?: .*)?")
_UNDERSCORES: Final = re.compile(r"_{20,}|-{40,}")
_RULE: Final = re.compile(r"[-_=*—–]{3,}")
_FOOTER: Final = re.compile(
    r"unsubscribe|mailing list|https?://|abmelden|désabonner|darse de baja|отписаться|退订", re.IGNORECASE
)
_POSTSCRIPT: Final = re.compile(r"p\.? ?s\.?\b|n\.b\.|з\.ы|附[:：]", re.IGNORECASE)
_OPENS_HEAD: Final = re.compile(
    r"(?:On|Am|Le|El|Il giorno|Em|Op|Den|Pe|Dnia|W dniu|Dne|Dňa|Ngày|Pada|În|Στις|В|У) (?=.{0,30}\d)|\d{1,4}[-./年]\d"
)
_BEGINS_HEAD: Final = re.compile(r"\d|@")
_ENDS_SENTENCE: Final = re.compile(r"[.!?。！？…]$")
_A_SENTENCE: Final = re.compile(r", (?!an? )|[?!]|\. \w")
_SOMEWHEN: Final = re.compile(r"\d")
_ADDRESS: Final = re.compile(r"[^\s@<>]+@[^\s@<>]+\.\w")
_WITHOUT_ACCENTS: Final = str.maketrans("áàâãäåçéèêëíìîïñóòôõöúùûüý", "aaaaaaceeeeiiiinooooouuuuy")


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    depth: int

    @property
    def empty(self) -> bool:
        return not self.text


def own_words(text: str, *, forwarded: bool = False) -> str:
    """The text without quoted replies and signature.

    `text` is a body as `visible` leaves it. What was passed on ("---- Forwarded message ----") is kept, because it is
    new to whoever gets it; `forwarded` says that the subject marks the mail as passed on, where no line in it does.
    """
    lines = _lines(text)
    passed_on = _forward_at(lines)
    tail = lines[passed_on:] if passed_on is not None else []
    own = lines[:passed_on] if passed_on is not None else lines
    if not forwarded:
        own = _without_history(own)
    own = _without_signature(_without_quotes(own, keep=forwarded and not _unquoted(own)))
    if tail:
        depth = tail[0].depth
        tail = [_Line("", 0), *(line for line in tail if line.depth <= depth)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.text for line in (*own, *tail))).strip()


def _lines(text: str) -> list[_Line]:
    lines, open_quotes = [], 0
    for line in text.split("\n"):
        if line == QUOTE_BEGIN:
            open_quotes += 1
        elif line == QUOTE_END:
            open_quotes -= 1
        else:
            marks = _QUOTE_MARKS.match(line)
            levels = marks[0].count(">") if marks else 0
            lines.append(_Line(line[marks.end() :] if marks else line, open_quotes + levels))
    return lines


def _unquoted(lines: list[_Line]) -> bool:
    return any(line.depth == 0 and has_letter_or_digit(line.text) for line in lines)


def _forward_at(lines: list[_Line]) -> int | None:
    for number, line in enumerate(lines):
        words = _between_rules(line.text) or (line.text[:-1] if line.text.endswith((":", "：")) else "")
        if words and words.strip().casefold() in FORWARDS:
            return number
    return None


def _between_rules(text: str) -> str:
    found = _RULED.fullmatch(text)
    return found[1] if found else ""


def _without_history(lines: list[_Line]) -> list[_Line]:
    """Cut from the place where an earlier mail begins without being marked as quoted (Outlook's way)."""
    for number, line in enumerate(lines):
        if line.depth or line.empty:
            continue
        begins = _between_rules(line.text).casefold() in ORIGINALS or _is_header_block(lines, number)
        if begins or _is_unmarked_reply(lines, number):
            rule = number - 1
            while rule >= 0 and lines[rule].empty:
                rule -= 1
            return lines[: rule if rule >= 0 and _UNDERSCORES.fullmatch(lines[rule].text) else number]
    return lines


def _is_header_block(lines: list[_Line], start: int) -> bool:
    """At least three header lines of another mail, its sender among them, with no more than an empty line between."""
    found: set[str] = set()
    gap = 0
    for line in lines[start : start + _HEADER_BLOCK_LINES]:
        if line.empty:
            gap += 1
            if gap > 1:
                break
            continue
        named = _NAMED.fullmatch(line.text[:_HEADER_CHARS])
        label = LABELS.get(named[1].strip().casefold()) if named else None
        if label is None:
            if not found or gap:
                break
            continue  # a wrapped list of addresses
        gap = 0
        found.add(label)
    return len(found) >= _LEAST_LABELS and "from" in found


def _is_unmarked_reply(lines: list[_Line], start: int) -> bool:
    """Whether a head ("On Monday, Ann wrote:") has only unmarked words after it; else the marked ones are quoted."""
    size = _head_size(lines, start)
    if not size or not _says_wrote(" ".join(line.text for line in lines[start : start + size])):
        return False
    after = [line for line in lines[start + size :] if not line.empty]
    return bool(after) and not any(line.depth for line in after)


def _head_size(lines: list[_Line], start: int) -> int:
    """How many lines from here on are the head of a quotation; 0 if none are."""
    text = ""
    for size, line in enumerate(lines[start : start + _HEAD_LINES], 1):
        if line.empty:
            return 0
        text += f" {line.text}"
        if len(text) > _HEAD_CHARS or (size > 1 and _OPENS_HEAD.match(line.text)):
            return 0  # what stands above "On Monday, Ann wrote:" is none of it
        bare = text.rstrip(" -_")
        if bare.endswith((":", "：")) and _SOMEWHEN.search(bare):
            return size if _says_wrote(bare) or _ADDRESS.search(bare) else 0
        if size == 1 and (_ENDS_SENTENCE.search(line.text) or not _BEGINS_HEAD.search(line.text)):
            return 0
    return 0


def _says_wrote(text: str) -> bool:
    folded = text.casefold()
    return _SOMEWHEN.search(folded) is not None and any(verb in folded for verb in WROTE)


def _without_quotes(lines: list[_Line], *, keep: bool) -> list[_Line]:
    """Drop marked lines and the heads above them; keep them all when a mail that passes on holds nothing else."""
    if keep:
        return [_Line(line.text, 0) for line in lines]
    kept: list[_Line] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        size = 0 if line.depth or line.empty else _head_size(lines, number)
        if size and _quote_follows(lines, number + size):
            number += size
        else:
            if not line.depth:
                kept.append(line)
            number += 1
    return kept


def _quote_follows(lines: list[_Line], start: int) -> bool:
    following = next((line for line in lines[start:] if not line.empty), None)
    return following is None or following.depth > 0


def _without_signature(lines: list[_Line]) -> list[_Line]:
    lines = _without_trailing_blanks(lines)
    for number in range(max(0, len(lines) - _LAST_LINES), len(lines)):
        line = lines[number]
        rest = [other for other in lines[number + 1 :] if not other.empty]
        if _begins_signature(line.text, rest, alone=not any(other.text for other in lines[:number])):
            return [*_without_trailing_blanks(lines[:number]), *_postscript(lines[number + 1 :])]
    return lines


def _begins_signature(text: str, rest: list[_Line], *, alone: bool) -> bool:
    if text == "--":
        return len(rest) <= _LONG_SIGNATURE_LINES
    if _UNDERSCORES.fullmatch(text):
        return len(rest) <= _FOOTER_LINES and any(_FOOTER.search(line.text) for line in rest)
    short = len(rest) <= _SIGNATURE_LINES and all(len(line.text) <= _SIGNATURE_CHARS for line in rest)
    if not short:
        return False
    if text in ("—", "__", "---", "–"):
        return bool(rest)
    folded = text.casefold().translate(_WITHOUT_ACCENTS)
    if len(text) <= _DEVICE_CHARS and DEVICES.match(folded):
        return len(rest) <= 2 and not _A_SENTENCE.search(folded)  # noqa: PLR2004  # a name or a link may follow
    return not alone and folded.strip(" ,.!;，。！-–—*") in CLOSINGS  # a mail may say nothing but "Thanks"


def _postscript(lines: list[_Line]) -> list[_Line]:
    for number, line in enumerate(lines):
        if _POSTSCRIPT.match(line.text):
            return [_Line("", 0), *lines[number:]]
    return []


def _without_trailing_blanks(lines: list[_Line]) -> list[_Line]:
    end = len(lines)
    while end and (lines[end - 1].empty or _RULE.fullmatch(lines[end - 1].text)):
        end -= 1
    return lines[:end]
