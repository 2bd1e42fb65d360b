"""Whether a text ends as a question."""

from __future__ import annotations

from typing import Final

import regex

from perdure.text.door import EMOJI

# Greek writes its question mark like a semicolon, which in other scripts ends no question.
_QUESTION: Final = regex.compile(r"[?？؟⁇⁈⁉\u037e]|(?<=\p{Script=Greek});")
_AFTER: Final = regex.compile(r"(?V1)[[\p{Z}\p{Cc}\p{Cf}\p{Pe}\p{Pf}\p{Pi}\p{So}\p{Sk}\p{M}\"'*_~!！]--[?？؟]]")
_EMOTICON: Final = regex.compile(r"\s[:;=xX8][-'^]?[()\[\]DPpOo/\\|3*]+\s*\Z")
_TAIL_CHARS: Final = 200


def is_question(text: str) -> bool:
    """Whether `text` ends with a question mark, quotes, brackets, emoji, exclamation marks and spaces behind it aside.

    >>> is_question("Where is she? 🙂"), is_question('"Why?" he asked.')
    (True, False)
    """
    tail = _EMOTICON.sub("", text[-_TAIL_CHARS:])
    if not tail.isascii():
        tail = EMOJI.sub("", tail)
    end = len(tail)
    while end and _AFTER.match(tail, end - 1, end):
        end -= 1
    return end > 0 and _QUESTION.match(tail, end - 1, end) is not None
