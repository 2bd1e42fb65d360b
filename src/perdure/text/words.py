"""Words: how a text becomes the terms that documents and queries share (`docs/text.md` shows the rules by example)."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import regex

from perdure.text.door import EMOJI
from perdure.text.folding import fold, plain
from perdure.text.stopwords import FUNCTION_CHARACTERS, function_words

if TYPE_CHECKING:
    import Stemmer

MAX_TERM_CHARS: Final = 64
"""The longest term, in characters; a longer one is cut and ends in a hash, so that equal words stay equal."""

MAX_QUERY_TERMS: Final = 400
"""The most terms a query has; of a longer text the first ones count."""

NO_SPACES: Final = (
    r"[[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}"
    r"\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]&&[\p{L}\p{M}\p{Nl}]]"
)
"""Characters of the scripts that are written without spaces between words."""
_OTHERS: Final = rf"[[\p{{L}}\p{{M}}\p{{N}}]--{NO_SPACES}--\p{{Script=Hangul}}]"
_FIRST: Final = rf"[[\p{{L}}\p{{N}}]--{NO_SPACES}--\p{{Script=Hangul}}]"
_JOINER: Final = r"(?:_++|://|::|(?<=[0-9]),(?=[0-9]{3}(?![0-9]))|[./@\-'&#+:])"
# Every alternative takes what it can get and gives nothing back, so that the scan is linear in any text.
_TOKEN: Final = regex.compile(
    rf"(?V1)(?P<run>{NO_SPACES}++)|(?P<hangul>\p{{Script=Hangul}}++)"
    rf"|{_FIRST}{_OTHERS}*+(?:{_JOINER}{_OTHERS}++)*+(?:(?:\+\+|\#)(?!{_OTHERS}))?+"
)
_SPLIT: Final = regex.compile(rf"({_JOINER})")
_HUMPS: Final = regex.compile(r"\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{N}+")
_HUMP: Final = regex.compile(r"\p{Ll}\p{Lu}")
_MARK: Final = regex.compile(r"\p{M}")
_ALONE: Final = regex.compile("\\p{Script=Han}|[ก-ฮ][\u0e48-\u0e4b]?\u0e33|[ກ-ຮ][\u0ec8-\u0ecb]?\u0eb3")

_DATE_PARTS: Final = 3
_YEAR_DIGITS: Final = 4
_PREFIX_LETTERS: Final = 3
_AFFIXED_LETTERS: Final = 3
_CONTRACTED: Final = frozenset(("", "t", "m", "d", "re", "ve", "ll"))
_HASH_CHARS: Final = 16

_ALGORITHMS: Final = (
    ("\u0000", "\u024f", "english"),
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)
"""The stemmer that a script stands for. Latin script means English: the stemmers of other languages would harm it."""


class _Stemmers(threading.local):
    """One set of stemmers per thread, made when first needed: a stemmer is not safe between threads."""

    def __init__(self) -> None:
        self.loaded: dict[str, Stemmer.Stemmer] = {}

    def stem(self, word: str, algorithm: str) -> str:
        stemmer = self.loaded.get(algorithm)
        if stemmer is None:
            import Stemmer  # noqa: PLC0415 - not needed before the first word is stemmed

            stemmer = self.loaded[algorithm] = Stemmer.Stemmer(algorithm)
        stem: str = stemmer.stemWord(word)
        return stem


_STEMMERS: Final = _Stemmers()


def _short(term: str) -> str:
    if len(term) <= MAX_TERM_CHARS:
        return term
    digest = hashlib.blake2b(term.encode(), digest_size=_HASH_CHARS // 2).hexdigest()
    return f"{term[: MAX_TERM_CHARS - _HASH_CHARS]}{digest}"


def _with_stem(word: str) -> list[str]:
    """A folded word and, where it differs, its stem."""
    if len(word) > MAX_TERM_CHARS:
        return [_short(word)]
    for first, last, algorithm in _ALGORITHMS:
        if first <= word[:1] <= last:
            stem = _STEMMERS.stem(word, algorithm)
            return [word, stem] if stem != word and stem else [word]
    return [word] if word else []


def _humped(written: str) -> list[str]:
    """A word without joiners; `fooBar` also gives its parts."""
    found = _with_stem(fold(written))
    if _HUMP.search(written):
        for part in _HUMPS.findall(written):
            if len(part) > 1:
                found += _with_stem(fold(part))
    return found


def _apostrophes(written: str) -> list[str]:
    """`John's` is John, `l'amour` also amour, `Ankara'da` also Ankara, `don't` only dont."""
    word = fold(written).removesuffix("'s")
    head, *_, tail = pieces = word.split("'") if "'" in word else (word, "")
    found = _with_stem("".join(pieces))
    if tail not in _CONTRACTED:
        for part in (head, tail):
            if len(part) >= _AFFIXED_LETTERS:
                found += _with_stem(part)
    return found


def _numbers(joiners: list[str], parts: list[str]) -> list[str]:
    if set(joiners) == {","}:
        return [_short("".join(parts))]
    whole = "".join(part + joiner for part, joiner in zip(parts, [*joiners, ""], strict=True))
    years = [part for part in parts if len(part) == _YEAR_DIGITS] if len(parts) == _DATE_PARTS else []
    return [_short(whole), *years]


def _joined(written: str) -> list[str]:
    """A date, time, version, address, path, identifier or hyphenated word: whole, and those parts that are words."""
    pieces = _SPLIT.split(written)
    parts, joiners = pieces[::2], pieces[1::2]
    if set(joiners) == {"'"}:
        return _apostrophes(written)
    if all(part.isdecimal() for part in parts):
        return _numbers(joiners, parts)
    if all(len(part) == 1 and part.isalpha() for part in parts) and set(joiners) == {"."}:
        return [_short(fold("".join(parts)))]
    found = [_short(fold(written))]
    if set(joiners) == {"-"} and len(parts[0]) <= _PREFIX_LETTERS and parts[0].isalpha():
        found.append(_short(fold("".join(parts))))
    for part in parts:
        if len(part) > 1:
            found += _humped(part)
    return found


def _compound(written: str) -> tuple[str, ...]:
    """The terms of one space-delimited token; the first one is the word that a list of function words may name."""
    if written.endswith(("++", "#")):
        name = written.rstrip("+#")
        if written.endswith("++") or (len(name) == 1 and name.isalpha()):
            return (_short(fold(written)), *(_compound(name) if len(name) > 1 else ()))
        written = name
    found = _joined(written) if _SPLIT.search(written) else _humped(written)
    return tuple(found)


_remembered = lru_cache(maxsize=1 << 16)(_compound)


def _bigrams(run: str) -> list[str]:
    """Overlapping pairs of user-perceived characters; a single one alone."""
    units = regex.findall(r"\X", run) if _MARK.search(run) else run
    if len(units) == 1:
        return [units[0]]
    return [first + second for first, second in pairwise(units)]


def _unspaced(run: str) -> tuple[str, ...]:
    """A run without spaces as pairs, and what is a word of one character by itself too: 猫, 茶, น้ำ, ดำ."""
    pairs = _bigrams(run)
    return (*pairs, *(single for single in _ALONE.findall(run) if pairs != [single]))


def _hangul(word: str) -> tuple[str, ...]:
    """A Korean word whole, and its pairs of syllables: particles stick to nouns, so 서울에서 must contain 서울."""
    return (_short(word), *_bigrams(word)) if len(word) > 2 else (word,)  # noqa: PLR2004 - a pair


def tokens(text: str) -> Iterator[tuple[str, ...]]:
    """The groups of terms that the tokens of `text` give, in order."""
    if not text.isascii():
        text = plain(EMOJI.sub(" ", text))
    for match in _TOKEN.finditer(text):
        token = match[0]
        if match.lastgroup == "run":
            yield _unspaced(token)
        elif match.lastgroup == "hangul":
            yield _hangul(token)
        else:
            yield _remembered(token) if len(token) <= MAX_TERM_CHARS else _compound(token)


def terms(text: str) -> list[str]:
    """All terms of `text`, in order and with repetitions: for documents and queries alike.

    Deterministic, linear in the length of any text; every term has 1 to `MAX_TERM_CHARS` characters and no white space.

    >>> terms("Ada's running, in Zürich!")
    ['ada', 'running', 'run', 'in', 'zurich']
    """
    return [term for group in tokens(text) for term in group]


def search_text(found: Iterable[str]) -> str:
    """Terms as the one string that is stored beside a memory."""
    return " ".join(found)


def query_terms(text: str) -> list[str]:
    """The distinct terms of a query, without the function words of its language, at most `MAX_QUERY_TERMS`.

    A query of nothing but function words keeps them; it is empty only if `terms(text)` is.

    >>> query_terms("When did she move to Berlin?")
    ['move', 'berlin']
    """
    groups = list(tokens(text))
    stop = function_words([group[0] for group in groups if group]) | FUNCTION_CHARACTERS
    kept = dict.fromkeys(
        term for group in groups if group and group[0] not in stop for term in group if term not in FUNCTION_CHARACTERS
    )
    if not kept:
        kept = dict.fromkeys(term for group in groups for term in group)
    return list(kept)[:MAX_QUERY_TERMS]
