"""What a memory says, taken apart for `rules.alike`."""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from typing import Final

import regex

from perdure.rules.alike import Said
from perdure.text import fold, terms
from perdure.types import MemoryType, StoredMemory

MOST_CHARS: Final = 1200
"""Of a memory's text; a chunk has hardly more."""

_WORD: Final = regex.compile(
    r"(?V1)[\p{Han}\p{Hiragana}\p{Katakana}]|[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}--\p{M}]\p{M}*+|[\p{L}\p{M}\p{N}'’]++"
)
_UNSPACED_NEGATION: Final = regex.compile("[不没沒無无未别別]|ない|ません|ไม่")
_DENYING: Final = """
    not no never nobody nothing none nor neither cannot without nicht kein keine keinen keinem keiner nie niemals
    nichts niemand ohne nunca nadie nada sin ningun ninguna ninguno jamas tampoco pas jamais rien sans aucun aucune не
    нет ни никогда никто ничего без nao nem sem jamais nunca non mai senza nessuno niente
    """
_NEGATIONS: Final = frozenset(_DENYING.split())
_HAPPENS_AGAIN: Final = frozenset({MemoryType.EVENT, MemoryType.CALENDAR, MemoryType.EMAIL})


def said_by(memory: StoredMemory) -> tuple[str, date | None]:
    """Who said it, and for what happens more than once the day: of others it is something else."""
    day = memory.source_date.date() if memory.memory_type in _HAPPENS_AGAIN else None
    return fold(memory.speaker or ""), day


def said(memory: StoredMemory) -> Said:
    """What the memory says, as far as another one may say the same."""
    return _taken_apart(memory.summary[:MOST_CHARS], said_by(memory))


# The turns of a talk bring up the same memories again and again.
@lru_cache(maxsize=1024)
def _taken_apart(text: str, by: tuple[str, date | None]) -> Said:
    written = _WORD.findall(text)
    words = tuple(fold(word).replace("’", "'").removesuffix("'s") for word in written)
    content = tuple(terms(text))
    known = set(content)
    return Said(
        words=words,
        content=content,
        numbers=frozenset(word for word in (*words, *content) if any(map(str.isnumeric, word))),
        names=tuple(term for word in written if word[0].isupper() for term in terms(word) if term in known),
        cased=text.upper() != text.lower(),
        negated=_negates(text, words),
        by=by,
    )


def _negates(text: str, words: tuple[str, ...]) -> bool:
    return any(word in _NEGATIONS or word.endswith("n't") for word in words) or bool(_UNSPACED_NEGATION.search(text))
