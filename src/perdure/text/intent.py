"""Intent: whether a message asks outright that something is kept in mind, in the languages people ask it in.

"Remember that I'm vegan" and "don't forget, I'm allergic to nuts" do; "do you remember?", "I don't remember", "my
notebook" and what somebody else is quoted with don't. A phrase counts where a clause begins and only as a whole. Who
asks that something is *not* remembered (`consent`) is heard first.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Literal

import regex

from perdure.text.consent import asks_to_forget_this
from perdure.text.folding import fold
from perdure.text.intent_phrases import ANYWHERE, IN_ORDER, SAID

LOOKED_AT: Final = 2000
"""Characters at either end of a message that are looked at, as for consent."""

_BEGIN: Final = r"(?:^|[;,、،(…]|\s[-–—])[\s¿¡*_-]{0,4}+(?:@[^\s]{1,40}\s)?"
_END: Final = r"(?:(?<=[':])|(?![\w\p{M}]))"
_QUOTED: Final = regex.compile(
    r"(?m)^\s*>.*$|\"[^\"\n]{0,500}\"|“[^”\n]{0,500}”|„[^“”\n]{0,500}[“”]|«[^»\n]{0,500}»|「[^」\n]{0,500}」|『[^』\n]{0,500}』"
)
_SENTENCE: Final = regex.compile(r"([^.!?。؟।\n]+)([.!?。؟।]*)")
_GOES_ON: Final = regex.compile(r"&\n\s*")
_SPACES: Final = regex.compile(r"\s+")
# "Remember that I'm vegan, ok?" is no question.
_TAG: Final = regex.compile(
    r",?\s(?:ok(?:ay|e)?|alright|all right|will you|please|right|ja|gut|d'accord|vale|si|va bene|esta bem|ta|goed"
    r"|dobrze|хорошо|ладно|добре|tamam mi|olur mu|حسنا|ठीक है|nhe|duoc khong|ya)\s*$"
    r"|(?:好吗|好嗎|好不好|行吗|可以吗|알았지|알겠지|いい)\s*$"
)


def _phrases(laid_out: str) -> str:
    """One group of the phrases as `intent_phrases` lays them out."""
    return fold("(?:" + "|".join(_GOES_ON.sub("", laid_out).split()).replace("~", " ") + ")")


# Compiling these takes longer than most commands do, and few of them need it.
@cache
def _pattern(kind: Literal["orders", "questions"]) -> regex.Pattern[str]:
    led_to = [
        rf"(?:{_phrases(asking.first)}[\s,:]{{1,3}}){{0,3}}{_phrases(getattr(asking, kind))}"
        for asking in IN_ORDER.values()
    ]
    anywhere = [_phrases(getattr(asking, kind)) for asking in ANYWHERE.values()]
    return regex.compile(rf"{_BEGIN}(?:{'|'.join(led_to)}){_END}|{'|'.join(anywhere)}")


_SAID: Final = regex.compile(rf"(?<!\w){_phrases(SAID)}(?!\w)")


def has_memory_intent(text: str) -> bool:
    """Whether a message asks that what it says is remembered.

    >>> has_memory_intent("Please remember that I'm vegan."), has_memory_intent("Do you remember that I'm vegan?")
    (True, False)
    """
    parts = [text] if len(text) <= 2 * LOOKED_AT else [text[:LOOKED_AT], text[-LOOKED_AT:]]
    return any(_asks(_QUOTED.sub('"', fold(part))) for part in parts) and not asks_to_forget_this(text)


def _asks(folded: str) -> bool:
    for sentence, ending in _SENTENCE.findall(folded):
        clauses = _SPACES.sub(" ", sentence).strip()
        asked = ("?" in ending or "؟" in ending) and _TAG.search(clauses) is None
        if _is_asked("questions", clauses) or (not asked and _is_asked("orders", clauses)):
            return True
    return False


def _is_asked(kind: Literal["orders", "questions"], clauses: str) -> bool:
    """Whether a phrase stands in a sentence, and isn't the end of what somebody is said to have asked."""
    found = _pattern(kind).search(clauses)
    return found is not None and _SAID.search(clauses[: found.start()]) is None
