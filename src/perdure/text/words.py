"""Words: how a text becomes the terms that documents and queries share (`docs/text.md` shows the rules by example)."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import regex

from perdure.text.dates import MAX_DATE_TERMS, query_date_terms
from perdure.text.door import EMOJI
from perdure.text.folding import fold, plain
from perdure.text.framing import without_frame
from perdure.text.relative_dates import relative_date_terms
from perdure.text.stopwords import FUNCTION_CHARACTERS, STOP_WORDS, function_words

if TYPE_CHECKING:
    from datetime import datetime

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
_THAI: Final = regex.compile(r"(\p{Script=Thai}++)")
_AM: Final = regex.compile("[ก-ฮ][\u0e48-\u0e4b]?\u0e33")

_DATE_PARTS: Final = 3
_YEAR_DIGITS: Final = 4
_PREFIX_LETTERS: Final = 3
_AFFIXED_LETTERS: Final = 3
_CONTRACTED: Final = frozenset(("", "t", "m", "d", "re", "ve", "ll"))
_HASH_CHARS: Final = 16
_THAI_CHARS: Final = 3
_ENGLISH: Final = STOP_WORDS["en"]

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


class Word(NamedTuple):
    """A folded word and what it is scored by: its stem, where it has one."""

    form: str
    term: str


class Token(NamedTuple):
    """What a token of a text gives."""

    word: str
    """The word itself, folded: what a list of function words may name."""
    terms: tuple[str, ...]
    forms: tuple[str, ...]
    """The unstemmed spellings that `terms` has only as stems."""
    length: int
    """How much text this is, in words, or in characters where words aren't told apart."""
    is_function_word: bool = False


class Analysis(NamedTuple):
    """A text as it is found by."""

    terms: tuple[str, ...]
    """What is scored, in order and with repetitions."""
    forms: tuple[str, ...]
    """Spellings that are in the text but not in its terms, in order and with repetitions."""
    length: int
    """The length by which scores are normalised, see `analyse`."""


def _stemmed(word: str) -> Word:
    """A folded word with its stem."""
    if len(word) > MAX_TERM_CHARS:
        return _whole(word)
    for first, last, algorithm in _ALGORITHMS:
        if first <= word[:1] <= last:
            return Word(word, _STEMMERS.stem(word, algorithm) or word)
    return Word(word, word)


def _whole(word: str) -> Word:
    """A word that has no stem: a number, an identifier, an address."""
    short = _short(word)
    return Word(short, short)


def _stems(*words: str) -> list[Word]:
    return [_stemmed(word) for word in words if word]


def _humped(written: str) -> list[Word]:
    """A word without joiners; `fooBar` also gives its parts."""
    found = _stems(fold(written))
    if _HUMP.search(written):
        for part in _HUMPS.findall(written):
            if len(part) > 1:
                found += _stems(fold(part))
    return found


def _apostrophes(written: str) -> list[Word]:
    """`John's` is John, `l'amour` also amour, `Ankara'da` also Ankara, `don't` only dont."""
    word = fold(written).removesuffix("'s")
    head, *_, tail = pieces = word.split("'") if "'" in word else (word, "")
    found = _stems("".join(pieces))
    if tail not in _CONTRACTED:
        for part in (head, tail):
            if len(part) >= _AFFIXED_LETTERS:
                found += _stems(part)
    return found


def _numbers(joiners: list[str], parts: list[str]) -> list[Word]:
    if set(joiners) == {","}:
        return [_whole("".join(parts))]
    whole = "".join(part + joiner for part, joiner in zip(parts, [*joiners, ""], strict=True))
    years = [part for part in parts if len(part) == _YEAR_DIGITS] if len(parts) == _DATE_PARTS else []
    return [_whole(whole), *map(_whole, years)]


def _joined(written: str) -> list[Word]:
    """A date, time, version, address, path, identifier or hyphenated word: whole, and those parts that are words."""
    pieces = _SPLIT.split(written)
    parts, joiners = pieces[::2], pieces[1::2]
    if set(joiners) == {"'"}:
        return _apostrophes(written)
    if all(part.isdecimal() for part in parts):
        return _numbers(joiners, parts)
    if all(len(part) == 1 and part.isalpha() for part in parts) and set(joiners) == {"."}:
        return [_whole(fold("".join(parts)))]
    found = [_whole(fold(written))]
    if set(joiners) == {"-"} and len(parts[0]) <= _PREFIX_LETTERS and parts[0].isalpha():
        found.append(_whole(fold("".join(parts))))
    for part in parts:
        if len(part) > 1:
            found += [word for word in _humped(part) if word.form not in _ENGLISH]
    return found


def _words(written: str) -> list[Word]:
    """The words of one space-delimited token; the first one is the token itself."""
    if written.endswith(("++", "#")):
        name = written.rstrip("+#")
        if written.endswith("++") or (len(name) == 1 and name.isalpha()):
            return [_whole(fold(written)), *(_words(name) if len(name) > 1 else ())]
        written = name
    return _joined(written) if _SPLIT.search(written) else _humped(written)


def _compound(written: str) -> Token:
    words = _words(written)
    if not words:
        return Token("", (), (), 0)
    terms = tuple(word.term for word in words)
    # Initials are no function word: the U.S., I.T.
    first = fold(written) if "." in written else words[0].form
    return Token(
        first,
        terms,
        tuple(form for form, term in words if form != term),
        len(terms),
        len(terms) == 1 and (first in _ENGLISH or _is_letter(first)),
    )


def _is_letter(word: str) -> bool:
    return len(word) == 1 and word.isascii() and word.isalpha()


_remembered = lru_cache(maxsize=1 << 16)(_compound)


def _unspaced(run: str) -> Token:
    """A run without spaces: Thai by threes, other scripts by single characters and pairs."""
    if "\u0e00" <= run[0] <= "\u0e7f":
        return _thai(run)
    units = regex.findall(r"\X", run) if _MARK.search(run) else run
    if len(units) == 1:
        return Token(run, (run,), (), 1)
    pairs = [first + second for first, second in pairwise(units)]
    # The single characters are in the pairs already: a text is as long as it has pairs.
    return Token(run, (*pairs, *units), (), len(pairs))


def _thai(run: str) -> Token:
    """Overlapping triples of characters, and a syllable with ำ by itself: น้ำ, ดำ. About three make a syllable."""
    if len(run) <= _THAI_CHARS:
        return Token(run, (run,), (), 1)
    triples = [run[at : at + _THAI_CHARS] for at in range(len(run) - _THAI_CHARS + 1)]
    alone = [syllable for syllable in _AM.findall(run) if len(syllable) < _THAI_CHARS]
    return Token(run, (*triples, *alone), (), -(-len(triples) // _THAI_CHARS))


def _hangul(word: str) -> Token:
    """A Korean word whole, and its pairs of syllables: particles stick to nouns, so 서울에서 must contain 서울."""
    if len(word) <= 2:  # noqa: PLR2004 - a pair
        return Token(word, (word,), (), 1)
    pairs = [first + second for first, second in pairwise(regex.findall(r"\X", word))]
    return Token(word, (_short(word), *pairs), (), max(1, len(pairs)))


def _tokens(text: str) -> Iterator[Token]:
    """The tokens of `text`, in order."""
    if not text.isascii():
        text = plain(EMOJI.sub(" ", text))
    for match in _TOKEN.finditer(text):
        token = match[0]
        if match.lastgroup == "run":
            yield from (_unspaced(run) for run in _THAI.split(token) if run)
        elif match.lastgroup == "hangul":
            yield _hangul(token)
        else:
            yield _remembered(token) if len(token) <= MAX_TERM_CHARS else _compound(token)


def analyse(text: str) -> Analysis:
    """The terms of a text, the spellings beside them, and its length.

    English function words and single Latin letters are left out, unless nothing else is there. The length counts
    words; of Chinese, Japanese, Korean, Lao, Khmer and Burmese pairs of characters, of Thai a third of its triples, so
    that a text is about as long in any script. Deterministic, linear in the length of any text; every term has 1 to
    `MAX_TERM_CHARS` characters and no white space.

    >>> analyse("Ada's running, in Zürich!")
    Analysis(terms=('ada', 'run', 'zurich'), forms=('running',), length=3)
    """
    found = list(_tokens(text))
    kept = [token for token in found if not token.is_function_word] or found
    return Analysis(
        tuple([term for token in kept for term in token.terms]),
        tuple([form for token in kept for form in token.forms]),
        sum([token.length for token in kept]),
    )


def terms(text: str) -> list[str]:
    """What a text is scored by: its terms, in order and with repetitions; see `analyse`.

    >>> terms("Ada's running, in Zürich!")
    ['ada', 'run', 'zurich']
    """
    return list(analyse(text).terms)


def forms(text: str) -> list[str]:
    """The spellings of a text that are no terms because their stem is one.

    >>> forms("Ada's running, in Zürich!")
    ['running']
    """
    return list(analyse(text).forms)


def query_terms(text: str, asked_at: datetime | None = None) -> list[str]:
    """The distinct terms of what a query is about, and those of the dates it names.

    The function words of its language and the frame of a request ("can you recommend") are left out.

    What is named from today (yesterday, last month) is understood where it is said when the query was asked, and no
    other date is named beside it: "the week before May 3" is not counted from today.

    At most `MAX_QUERY_TERMS`. A query of nothing but function words keeps them; it is empty only if `terms(text)` is.

    >>> query_terms("When did she move to Berlin?")
    ['move', 'berlin']
    >>> query_terms("Who ran in May?")
    ['ran', 'may', '@m5']
    """
    found, topic = list(_tokens(text)), without_frame(text)
    stop = function_words([token.word for token in found]) | FUNCTION_CHARACTERS
    kept = (
        _telling(found if topic == text else _tokens(topic), stop)
        or _telling(found, stop)
        or dict.fromkeys(term for token in found for term in token.terms)
    )
    dates = query_date_terms(text)
    if asked_at is not None and not dates:
        dates = relative_date_terms(text, asked_at)[:MAX_DATE_TERMS]
    return [*list(kept)[: MAX_QUERY_TERMS - len(dates)], *dates]


def _telling(tokens: Iterable[Token], stop: frozenset[str]) -> dict[str, None]:
    """The distinct terms of those tokens that are no function words."""
    return dict.fromkeys(
        term
        for token in tokens
        if not token.is_function_word and token.word not in stop
        for term in token.terms
        if term not in FUNCTION_CHARACTERS
    )
