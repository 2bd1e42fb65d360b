"""Placeholders: `{user}` and `{bot}` stand in what a fact says, names in what is shown, so that names may change.

A word is a letter followed by letters, digits and underscores. What stands in braces and is no word ("{}", "{2 cups}",
JSON) is left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

KNOWN: Final = frozenset({"user", "bot", "char"})
"""What is filled in, in any case of letters, in one pair of braces or two; "char" is the bot (mission)."""

SERVER_USER: Final = "User"
"""What `{user}` reads as in the memories of a server: always the same, so that a cached prompt stays as it is."""

_SEEN: Final = max(map(len, KNOWN)) + 1
_PART: Final = re.compile(r"[{}]|[^{}]+")
_WORD: Final = re.compile(r"[^\W\d_]\w*")
_REST_OF_WORD: Final = re.compile(r"\w+")
_NAME: Final = r"\s*+(?ai:(user|bot|char))\s*+"
_FILLED_IN: Final = re.compile(rf"\{{\{{{_NAME}\}}\}}|\{{{_NAME}\}}")


@dataclass(slots=True)
class _Opened:
    """An open brace: its place, whether what follows it is one word so far, and how that word begins."""

    place: int
    word: bool = True
    begins: str = ""

    def read(self, part: str) -> None:
        self.word = self.word and bool((_REST_OF_WORD if self.begins else _WORD).fullmatch(part))
        self.begins = (self.begins + part)[:_SEEN]

    def unknown(self) -> bool:
        return self.word and self.begins != "" and not (self.begins.isascii() and self.begins.lower() in KNOWN)


def sanitise(text: str) -> str:
    """`text` in which every word in braces that is no placeholder has lost the braces; nothing else is lost.

    What comes out goes in again unchanged, however deep the braces are nested. Takes time in proportion to the text.

    >>> sanitise("{user} met {name} at {{place}}, says {{Bot}} {as is}")
    '{user} met name at place, says {{Bot}} {as is}'
    """
    parts = _PART.findall(text)
    opened: list[_Opened] = []
    for place, part in enumerate(parts):
        if part == "{":
            opened.append(_Opened(place))
        elif part == "}" and opened:
            inner = opened.pop()
            unknown = inner.unknown()
            if unknown:
                parts[inner.place] = parts[place] = ""
            if opened:
                opened[-1].read(inner.begins if unknown else part)
        elif opened:
            opened[-1].read(part)
    return "".join(parts)


def expand(text: str, *, user: str, bot: str) -> str:
    """`text` as it is shown: with names for `{user}`, `{bot}` and `{char}`; spaces inside the braces don't matter.

    A name that itself looks like a placeholder is shown as it is. For a memory of a server `user` is `SERVER_USER`.

    >>> expand("{user} calls {{ Bot }} friend", user="{bot}", bot="Momo")
    '{bot} calls Momo friend'
    """
    return _FILLED_IN.sub(lambda found: user if (found[1] or found[2]).lower() == "user" else bot, text)
