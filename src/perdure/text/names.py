"""Names: entities as keys, whether a text mentions one, and which keys a message could mention."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import regex

from perdure.text.folding import fold
from perdure.text.stopwords import STOP_WORDS
from perdure.text.words import NO_SPACES

MAX_ENTITY_KEYS: Final = 512
"""The most keys that one message is looked up by; of a longer message the first and shortest ones."""

_MAX_WORDS: Final = 5
_MAX_UNSPACED: Final = 12
_MAX_GAP: Final = 3
_CHARS_PER_KEY: Final = 16
_SINGLE_UNSPACED_PRIORITY: Final = 5
_FIRST_NAME_LETTERS: Final = 2

ASSISTANT: Final = "assistant"
"""The speaker of a reply in a captured exchange."""
ASSISTANTS: Final = frozenset((ASSISTANT, "chatgpt", "gpt", "bot", "ai", "model"))
"""What the speaker of a model's words is called, folded."""
ROLES: Final = ASSISTANTS | {"user", "human", "me", "you", "system", "tool"}
"""Speakers that say which part somebody has in a conversation and not who it is, folded."""

_ATOM: Final = regex.compile(
    rf"(?V1)(?P<unspaced>(?={NO_SPACES})\X)|(?P<hangul>\p{{Script=Hangul}}++)"
    rf"|(?:[[\p{{L}}\p{{M}}\p{{N}}]--{NO_SPACES}--\p{{Script=Hangul}}])++(?P<suffix>\+\+|\#)?+"
)
_SPACE: Final = regex.compile(r"\s+")
_EDGES: Final = regex.compile(r"^[^\p{L}\p{N}]+|[^\p{L}\p{M}\p{N}+#]+$")
_PARTICLES: Final = """
    은 는 이 가 을 를 의 에 도 만 와 과 로 랑 야 아 씨 님 께 에서 에게 한테 으로 이랑 하고 부터 까지 처럼 보다
    이가 이는 이를 이도 에는 에도 에서는 에서도 에게는 에게도 한테는 한테서 으로는 까지는 까지도
    씨가 씨는 씨를 씨의 님이 님은 님을 님의
    """
"""What sticks to the end of a Korean name: case particles, topic markers, honorifics, and their common pairs."""
_ENDINGS: Final = tuple(_PARTICLES.split())


@dataclass(frozen=True, slots=True)
class _Atom:
    """A word, or one character of a script without spaces, with the offsets where a name ending here may end."""

    start: int
    ends: tuple[int, ...]
    unspaced: bool


def _atoms(folded: str) -> Iterator[_Atom]:
    for match in _ATOM.finditer(folded):
        start, end = match.span()
        ends = [end]
        if match.lastgroup == "suffix":
            ends.append(match.start("suffix"))
        elif match.lastgroup == "hangul":
            word = match[0]
            ends += [end - len(tail) for tail in _ENDINGS if len(tail) < len(word) and word.endswith(tail)]
        yield _Atom(start, tuple(ends), match.lastgroup == "unspaced")


@lru_cache(maxsize=8)
def _places(folded: str) -> tuple[frozenset[int], frozenset[int]]:
    """Where a name may start and end in this text; kept, because many entities are tried on one message."""
    atoms = list(_atoms(folded))
    return frozenset(atom.start for atom in atoms), frozenset(end for atom in atoms for end in atom.ends)


def entity_key(entity: str) -> str:
    """An entity as it is stored and compared: folded, single spaces, no punctuation around it.

    >>> entity_key("  Zoë   Müller, ")
    'zoe muller'
    """
    folded = _SPACE.sub(" ", fold(entity)).strip()
    return _EDGES.sub("", folded) or folded


def is_role(speaker: str) -> bool:
    """Whether a speaker is a role and no name: user, assistant, tool, me and the like.

    >>> is_role("User"), is_role("Ada")
    (True, False)
    """
    return fold(speaker).strip() in ROLES


def is_assistant(speaker: str) -> bool:
    """Whether a speaker is a role that a language model has."""
    return fold(speaker).strip() in ASSISTANTS


def name_keys(name: str) -> list[str]:
    """The keys of a person's name: all of it, and its first word when it has several and that one is a name too.

    >>> name_keys("Zoë Müller"), name_keys("Dr. Smith")
    (['zoe muller', 'zoe'], ['dr. smith'])
    """
    whole = entity_key(name)
    first, *others = whole.split(" ")
    first = entity_key(first)
    known = [whole] if whole else []
    if others and len(first) >= _FIRST_NAME_LETTERS and not _is_no_name(first):
        known.append(first)
    return known


def phrase_in(entity: str, text: str) -> bool:
    """Whether `text` mentions `entity` as a whole word or phrase, folded; in scripts without spaces as a substring.

    A Korean name may carry a particle.
    """
    key, folded = entity_key(entity), _SPACE.sub(" ", fold(text))
    if not key or key not in folded:
        return False
    starts, ends = _places(folded)
    at = folded.find(key)
    while at >= 0:
        if at in starts and at + len(key) in ends:
            return True
        at = folded.find(key, at + 1)
    return False


def entity_keys(text: str, limit: int = MAX_ENTITY_KEYS) -> list[str]:
    """Every key (see `entity_key`) that `text` could mention: up to 5 words, or 12 characters without spaces.

    At most `limit`; where there are more, short phrases at the beginning of the text come first.
    """
    folded = _SPACE.sub(" ", fold(text[: limit * _CHARS_PER_KEY]))
    atoms = []
    for atom in _atoms(folded):
        atoms.append(atom)
        if len(atoms) == limit:
            break
    found: dict[str, int] = {}
    for first, start in enumerate(atoms):
        words = unspaced = 0
        for place in range(first, len(atoms)):
            atom = atoms[place]
            if place > first and atom.start - atoms[place - 1].ends[0] > _MAX_GAP:
                break
            words, unspaced = words + (not atom.unspaced), unspaced + atom.unspaced
            if words > _MAX_WORDS or unspaced > _MAX_UNSPACED:
                break
            priority = 2 * words + unspaced if (words, unspaced) != (0, 1) else _SINGLE_UNSPACED_PRIORITY
            for end in atom.ends:
                key = folded[start.start : end]
                found[key] = min(priority, found.get(key, priority))
    return sorted(found, key=found.__getitem__)[:limit]


_CAPITALISED: Final = """
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august
    september october november december today tomorrow yesterday ok okay hi hello hey thanks thank yes yeah yep nope
    oh wow maybe great good nice happy sorry sure well also actually anyway congrats morning hola gracias bueno
    mr mrs ms dr prof
    """
"""Words that are often capitalised and are nobody's name."""
_NOT_NAMES: Final = STOP_WORDS["en"] | STOP_WORDS["es"] | frozenset(_CAPITALISED.split())


def _is_no_name(word: str) -> bool:
    return fold(word).replace("'", "") in _NOT_NAMES or fold(word).startswith("i'")
