"""Secrets that stand beside a word that announces them, as in "my password is hunter2"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import regex

from perdure.text.folding import fold
from perdure.text.secret_kinds import CODE, PASSWORD, RECOVERY_PHRASE, Found, found_value
from perdure.text.secret_values import MIN_PASSWORD_CHARS, has_digit, is_ordinary, looks_random
from perdure.text.secret_words import ANNOUNCING, FOR, IS, OTHER_MEANINGS, OWN, SAID_OF_IT, SHORT_WORDS, TO, any_of
from perdure.text.stopwords import FUNCTION_CHARACTERS, STOP_WORDS

MIN_KEY_CHARS: Final = 8
_FIRST_UNSPACED: Final = "\u0e00"
"""Scripts up to here part words by spaces: Latin, Greek, Cyrillic, Hebrew, Arabic, those of India. In Korean,
as in Chinese, Japanese and Thai, what follows the word is written together with it."""
_FIRST_NOT_LATIN: Final = "\u0370"
_SHOUTED: Final = frozenset({"pin", "tan", "otp"})
"""Words that mean a secret number by themselves only where they are written in capitals."""

_STRONG: Final = r"[\"'`*]{0,3}\s{0,3}+(?:[:=：＝]{1,2}+|->|=>|→|⇒|—|–)\s{0,3}+"
_QUOTES: Final = "\"'“”„‚‘’«»「」『』`"
_IS_UNSPACED: Final = "是为為はが은는이가"

_ANNOUNCED: Final = regex.compile(
    rf"(?:\s(?:{any_of(OWN)}))?"
    rf"(?:(?:\s(?:{any_of(FOR)})(?:\s[^\s:=.!?]{{1,24}}+){{1,5}}?)?"
    rf"(?P<link>{_STRONG}|\s{{1,3}}(?:(?P<unsure>{any_of(TO)})|{any_of(IS)})\s{{0,2}}[:=]?\s{{1,3}}|(?P<unsure>['’]s)\s{{1,3}}"
    rf"|\s?(?:[{_IS_UNSPACED}]|คือ)\s?)|\s{{1,3}})"
    rf"(?:[{_QUOTES}](?P<quoted>[^\n{_QUOTES}]{{3,64}}+)[{_QUOTES}]|[{_QUOTES}*]{{0,3}}(?P<value>[^\s{_QUOTES}]{{1,512}}+))",
    regex.IGNORECASE,
)
_CODE_VALUE: Final = regex.compile(
    rf"(?:[^\d\n.:=]{{0,24}}?(?:{_STRONG}|\s(?:{any_of(IS)}|{any_of(TO)})\s|[{_IS_UNSPACED}])|)\s{{0,2}}"
    r"(?P<value>(?:G-)?\d{3}[ -]?\d{3}|\d{3,8})(?![\w/-])(?![.,:]\d)",
    regex.IGNORECASE,
)
_PHRASE_VALUE: Final = regex.compile(
    rf"[^\n:]{{0,40}}?(?::|\s(?:is|ist|es|est|è|é))\s{{1,3}}[{_QUOTES}]?"
    r"(?P<value>[a-z]{3,8}(?:[ ,\n]{1,2}[a-z]{3,8}){11,23})",
    regex.IGNORECASE,
)
_CODE_NAMES: Final = ("code", "pin", "passcode", "código", "codice", "otp")
_CODE_FIRST: Final = regex.compile(
    r"(?<![\w.,/-])(?P<value>(?:G-)?\d{4,8}) (?:is|ist|est|es|è|é) (?:your|the|ihr|dein|votre|ton|tu|su|il|o)\b"
    rf"[^\n.]{{0,40}}?(?:{'|'.join(_CODE_NAMES)})\b",
    regex.IGNORECASE,
)
WINDOW: Final = 800
"""How far behind an announcing word its secret may end, in characters."""
UNSPACED_WINDOW: Final = 200
"""The same behind a word of another script, in a text that may part nothing by spaces."""
MANY: Final = 200
CLOSE: Final = 40
"""So many announcing words, each so many characters behind the last, are no text but a list, or an attack."""
CODE_WINDOW: Final = 60
"""The same for a number."""

_TRAILING: Final = ".,;:!?)]}>…。，、！？；」』"
_CLAUSE_END: Final = regex.compile(rf"[{_QUOTES}]?(?:\s*$|\s*[.,;!?)\n]|\s+(?:and|but|und|aber|y|et|e|en)\s)")
_LINE_END: Final = regex.compile(rf"[{_QUOTES}]?[.,;!]?[^\S\n]*(?:\n|$|[,;/|])")
_ASCII_RUN: Final = regex.compile(r"[!-~]{4,}+")
_COLON: Final = regex.compile(r"[:：]")
_OWN_SCRIPT: Final = regex.compile(
    r"[\p{Cyrillic}\p{Greek}\p{N}!-~]{4,64}+|[\p{Han}\p{Hiragana}\p{Katakana}ー\p{N}!-+\-/-~]{4,16}+(?=$|[，。、；！？.,;!?])"
)
"""A secret in the script of the word that announces it: a word in Cyrillic, a few signs of Chinese or Japanese."""
_SAID_UNSPACED: Final = regex.compile(
    r"密[码碼]|口令|パスワード|[请請输輸错錯误誤确確忘不无無已未必须須位字符个個入力変更忘れです]|至少|必填"
)
"""What is said of a password in Chinese and Japanese, and in forms."""
_TICKET: Final = regex.compile(
    r"(?:boarding|ski|bus|day|season|month|monthly|annual|mountain|rail|train|travel|guest|visitor|museum|hall|gate|press"
    r"|parking|week|weekly|year|yearly|festival)[\s-]$",
    regex.IGNORECASE,
)
_WORD: Final = regex.compile(r"[\p{L}\p{M}'’-]+")
LEAST_WORDS: Final = 3
"""Words of a passphrase that ends its clause; one more where the sentence goes on."""
LEAST_SIGNS: Final = 7
"""Signs of Chinese from which on one that is also said of passwords proves nothing."""
_PHRASE: Final = regex.compile(r"\p{L}{2,16}+(?:[ -]\p{L}{2,16}+){2,9}+")
_PHRASE_UNSPACED: Final = regex.compile(r"\p{Han}{5,16}+(?=$|[，。、；！？.,;!?\s])")
_FUNCTION_WORDS: Final = frozenset[str]().union(*STOP_WORDS.values())


def announced_secrets(text: str) -> Iterator[Found]:
    """What stands behind a word that announces it, and the codes that stand before theirs."""
    lowered = _lowered(text)
    passed = 0
    for first, last in _stretches(text, _announcements(lowered)):
        if last is not None:
            yield Found(first[0] + len(first[1]), last, PASSWORD)
            continue
        at, word, kind = first
        # What stands within a secret announces nothing.
        if at >= passed and _stands_alone(text, at, at + len(word)):
            for found in _announced_by(text, at + len(word), word, kind):
                passed = found.end
                yield found
    if any(name in lowered for name in _CODE_NAMES):
        for match in _CODE_FIRST.finditer(text):
            yield found_value(match, CODE)


def _stretches(
    text: str, announcements: Sequence[tuple[int, str, str]]
) -> Iterator[tuple[tuple[int, str, str], int | None]]:
    """The announcing words one by one; of many close together only the first, with where the last one begins.

    Nobody writes so but who means no good, or lists passwords: all that stands between them counts as one secret.
    """
    place = 0
    while place < len(announcements):
        last = place + MANY
        if last < len(announcements) and announcements[last][0] - announcements[place][0] < MANY * CLOSE:
            while last + 1 < len(announcements) and announcements[last + 1][0] - announcements[last][0] < CLOSE:
                last += 1
            yield announcements[place], announcements[last][0]
            place = last
        yield announcements[place], None
        place += 1


def _announced_by(text: str, end: int, word: str, kind: str) -> Iterator[Found]:
    """The secret that a word announces which ends at `end`, if one."""
    if kind == CODE:
        yield from _code(text, end, word)
    elif kind == RECOVERY_PHRASE:
        if phrase := _PHRASE_VALUE.match(text, end, end + WINDOW):
            yield found_value(phrase, kind)
    elif match := _ANNOUNCED.match(text, end, end + (WINDOW if _latin(word) else UNSPACED_WINDOW)):
        yield from _announced(text, match, word, kind)


def _lowered(text: str) -> str:
    """`text` in lower case, letter by letter, so that places in it stay the same."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := sign.lower()) == 1 else sign for sign in text)


def _announcements(lowered: str) -> list[tuple[int, str, str]]:
    """Where which announcing word stands, in order; of words that begin at one place the longest."""
    found: dict[int, tuple[str, str]] = {}
    for word, kind in (one for stem, group in ANNOUNCING.items() if stem in lowered for one in group):
        at = lowered.find(word)
        while at >= 0:
            if at not in found or len(found[at][0]) < len(word):
                found[at] = word, kind
            at = lowered.find(word, at + len(word))
    return [(at, *found[at]) for at in sorted(found)]


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether no letter or digit goes on with the word, in scripts that part words by spaces."""
    before = not _spaced(text[start]) or start == 0 or not text[start - 1].isalnum()
    return before and (
        end == len(text) or not _spaced(text[end - 1]) or not (text[end].isalnum() and _spaced(text[end]))
    )


def _spaced(sign: str) -> bool:
    """Whether a sign is of a script that parts words by spaces."""
    return sign < _FIRST_UNSPACED


def _latin(word: str) -> bool:
    return word[0] < _FIRST_NOT_LATIN


def _code(text: str, end: int, word: str) -> Iterator[Found]:
    """The number behind a word for one, if something links the two or the word has no other meaning."""
    if not has_digit(text[end : end + CODE_WINDOW]):
        return
    match = _CODE_VALUE.match(text, end, end + CODE_WINDOW)
    if match is None:
        return
    between = text[end : match.start("value")].strip()
    shouted = text[end - len(word) : end].isupper()
    if between or (not word.endswith("code") and (shouted or word not in _SHOUTED)):
        yield found_value(match, CODE)


def _announced(text: str, match: regex.Match[str], word: str, kind: str) -> Iterator[Found]:
    """The secret behind an announcing word, if what stands there is one rather than something said of it."""
    name = "value" if match["quoted"] is None else "quoted"
    value, start = match[name], match.start(name)
    if not _latin(word):
        # Between words of another script, what is written in ASCII is the value; else what a colon leads to.
        run = _ASCII_RUN.match(value) or (_OWN_SCRIPT.match(value) if _COLON.search(match["link"] or "") else None)
        value = run[0] if run else ""
    if kind == PASSWORD and match["quoted"] is None and (end := _passphrase_end(text, match, word)):
        yield Found(start, end, kind)
        return
    if name == "value":
        value = value.rstrip(_TRAILING) or value
    if kind == PASSWORD:
        found = _is_password(text, match, word, value)
    else:
        found = len(value) >= MIN_KEY_CHARS and has_digit(value) and looks_random(value)
    if found:
        yield Found(start, start + len(value), kind)


def _passphrase_end(text: str, match: regex.Match[str], word: str) -> int | None:
    """Where several plain words end that are a password together, as in "correct horse battery staple".

    They are no sentence: among them is no function word, and hardly one that is said of passwords.
    """
    link = match["link"]
    if not link or match["unsure"] or word in OTHER_MEANINGS:
        return None
    start = match.start("value")
    if not _latin(word) and (signs := _PHRASE_UNSPACED.match(text, start)):
        short = len(signs[0]) < LEAST_SIGNS and _SAID_UNSPACED.search(signs[0])
        none = short or _COLON.search(link) or not FUNCTION_CHARACTERS.isdisjoint(signs[0])
        return None if none else signs.end()
    phrase = _PHRASE.match(text, start, start + WINDOW)
    if phrase is None or (word in SHORT_WORDS and not _COLON.search(link)):
        return None
    words = list(_WORD.finditer(text, start, phrase.end()))
    plain = [fold(each[0]) for each in words]
    sentence = next((place for place, each in enumerate(plain) if each in _FUNCTION_WORDS), None)
    many = len(words) if sentence is None else sentence
    said = sum(each[0].casefold() in SAID_OF_IT for each in words[:many])
    ended = many > 0 and _CLAUSE_END.match(text, words[many - 1].end()) is not None
    if (many >= LEAST_WORDS and not said and (ended or many > LEAST_WORDS)) or (
        many > LEAST_WORDS and said == 1 and ended
    ):
        return words[many - 1].end()
    return None


def _is_password(text: str, match: regex.Match[str], word: str, value: str) -> bool:  # noqa: PLR0911
    link = match["link"] or ""
    strong = any(sign in link for sign in ":=：＝→⇒>—–")
    if word in SHORT_WORDS:
        begin = match.start() - len(word)
        if not strong or _TICKET.search(text, max(0, begin - 16), begin):
            return False
    if looks_random(value):
        return bool(link) or has_digit(value)
    if not link or match["unsure"] or word in OTHER_MEANINGS:
        return False
    if match["quoted"] is not None:
        return len(value) >= MIN_PASSWORD_CHARS and value.casefold() not in SAID_OF_IT
    if not _may_be_password(value):
        return False
    spaced = _spaced(value[0]) and (strong or _latin(word))
    if not spaced and not value.isascii():
        return not _SAID_UNSPACED.search(value)
    ends = _LINE_END if strong else _CLAUSE_END
    return not spaced or ends.match(text, match.start("value") + len(value)) is not None


def _may_be_password(value: str) -> bool:
    """Whether a value is a word that people don't say of passwords."""
    return (
        len(value) >= MIN_PASSWORD_CHARS
        and not is_ordinary(value)
        and _WORD.fullmatch(value) is not None
        and value.casefold() not in SAID_OF_IT
    )
