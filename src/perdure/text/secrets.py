"""Secrets: what gives access is masked before anything of a text is stored, queued, hashed or logged.

Three things look: `redact_secret` for the formats of some 180 providers (keys, tokens, private keys, passwords in
addresses), the Luhn rule for card numbers, and what stands beside a word that announces a secret, as in "my password is
hunter2", in the languages people say it in. Names of things that merely look random (commits, UUIDs, orders, phone
numbers) stay. Every search is linear in the length of the text: what may repeat in a pattern is bounded or possessive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import redact_secret
import regex

from perdure.text.secret_words import (
    ANNOUNCING,
    API_KEY,
    CARD_NUMBER,
    CODE,
    FIELD_NAMES,
    FOR,
    IS,
    OTHER_MEANINGS,
    OWN,
    PASSWORD,
    PRIVATE_KEY,
    RECOVERY_PHRASE,
    SAID_OF_IT,
    SHORT_WORDS,
    TO,
    TOKEN,
    any_of,
)

_MASKED: Final = regex.compile(r"\[secret: [a-z ]{1,20}\]")
_HUMP: Final = regex.compile(r"(?<=[\p{Ll}\d])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})")
_NAME_PARTS: Final = regex.compile(r"[^\p{L}\p{M}\p{N}]+")
_NAME_ENDINGS: Final = frozenset({"value", "text", "plain", "hash", "old", "new", "current", "confirm", "confirmation"})
_DIGITS: Final = "0123456789"
_MAX_NAME_CHARS: Final = 200
MIN_PASSWORD_CHARS: Final = 4
MIN_KEY_CHARS: Final = 8
_FIRST_UNSPACED: Final = 0x0E00
"""Scripts up to here part words by spaces: Latin, Greek, Cyrillic, Hebrew, Arabic, those of India. In Korean,
as in Chinese, Japanese and Thai, what follows the word is written together with it."""
_FIRST_UNSPACED_SIGN: Final = chr(_FIRST_UNSPACED)
_FIRST_NOT_LATIN: Final = "\u0370"
_SHOUTED: Final = frozenset({"pin", "tan", "otp"})
"""Words that mean a secret number by themselves only where they are written in capitals."""

PIECE: Final = 32_768
"""The detector is handed so many characters at once: some of its searches are quadratic in what they are handed."""
MANY_JWT: Final = 64
_JWT_BEGIN: Final = "eyJ"
_WITHIN_TOKEN: Final = regex.compile(r"(?<=[A-Za-z0-9_-])eyJ")
"""Every web token begins like this; inside a long run of letters it begins none, but sends the detector looking."""
_LIMITS: Final = redact_secret.WholeInputLimits(max_input_bytes=64 * 2**20, max_findings=2**20)

# --- private keys ---------------------------------------------------------------------------------------------------

MAX_KEY_CHARS: Final = 16_384
_KEY_BEGIN: Final = regex.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END: Final = regex.compile(r"-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY: Final = regex.compile(r"(?:\s*+(?:[A-Z][A-Za-z-]{2,30}: [^\n]{1,200}+\n|[A-Za-z0-9+/=\\]{16,}+))*+")

# --- other forms ----------------------------------------------------------------------------------------------------

_FORMATS: Final = (
    (
        "sk-",
        regex.compile(r"(?<![\w-])(?P<value>sk-(?:(?:proj|svcacct|admin)-[\w-]{32,512}+|[A-Za-z0-9]{32,512}+))"),
        API_KEY,
    ),
    (
        "Key=",
        regex.compile(r"(?<![A-Za-z])(?:AccountKey|SharedAccessKey)=(?P<value>[A-Za-z0-9+/]{16,512}+={0,2})"),
        API_KEY,
    ),
    (
        "=",
        regex.compile(
            r"(?<![A-Za-z])(?:PG|REDIS|SMTP|DB|MYSQL_|ORACLE_)(?:PASSWORD|PASSWD|PASS|PWD)="
            r"[\"']?(?P<value>[^\s\"';&|<>$(){}\[\]]{1,256}+)"
        ),
        PASSWORD,
    ),
    (
        "</",
        regex.compile(
            r"<(?:[\w.-]{0,30}[:_.-])?(?:password|passwd|passwort|passphrase|secret|client_?secret|api_?key|access_?token"
            r"|auth_?token)(?:\s[^<>]{0,200}+)?>\s{0,8}+(?P<value>[^<\[\s](?:[^<]{0,255}+))</",
            regex.IGNORECASE,
        ),
        PASSWORD,
    ),
    ("://", regex.compile(r"(?<=://)[^\s:@/\[]{0,64}+:(?P<value>[^\s/@\[]{1,256}+)@"), PASSWORD),
)
"""What must stand in a text that holds such a secret, how it looks, and what it is; the detector knows none."""
_LOGIN: Final = regex.compile(
    r"(?<![\w.+/@:-])(?P<user>[\w.+-]{1,64}+):(?P<value>[^\s:@/\[]{4,128}+)@(?:[\w-]{1,63}\.){1,8}\w{2,24}(?![\w@])"
)
"""Name and password before a host without a scheme."""
_NO_USERS: Final = frozenset(
    {"mailto", "email", "e-mail", "mail", "to", "from", "cc", "bcc", "sip", "xmpp", "acct", "id"}
)
MAX_COOKIE_CHARS: Final = 4096
_COOKIE: Final = regex.compile(r"(?<![\w-])(?:set-)?cookie:\s", regex.IGNORECASE)
_COOKIE_PAIR: Final = regex.compile(r"(?<![\w.-])(?P<name>[\w.-]{1,64}+)=(?P<value>[^;,\s\[]{4,4096}+)")
_COOKIE_NAME: Final = regex.compile(r"sess|sid|token|auth|jwt|csrf|login", regex.IGNORECASE)

# --- words nobody sees ----------------------------------------------------------------------------------------------

_INVISIBLE: Final = regex.compile(r"[\u00ad\u034f\u180e\u200b-\u200f\u2060-\u2064\ufeff]")

# --- card numbers ---------------------------------------------------------------------------------------------------

_CARD: Final = regex.compile(
    r"(?<![\w.,+/=#-])(?:\d{13,19}|\d{4}([ .\u00a0\u2007\u2009\u202f-])\d{4}\1\d{4}\1\d{4}(?:\1\d{1,3})?"
    r"|\d{4}([ .\u00a0\u2007\u2009\u202f-])\d{6}\2\d{4,5})"
    r"(?![\w/=-])(?!\.\d)"
)
_BRANDS: Final = regex.compile(
    r"4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17}|9792\d{12}"
)
_OTHER_NUMBER: Final = regex.compile(
    r"order|invoice|tracking|ref|ticket|booking|customer|shipment|parcel|bestell|rechnung|auftrag|sendung|kunden|pedido"
    r"|factura|envío|commande|facture|colis|ordine|fattura|fatura|bestelling|factuur|zamówieni|faktur|sipariş|заказ|счет"
    r"|订单|訂單|运单|注文|주문|송장",
    regex.IGNORECASE,
)
MAX_PHONE_DIGITS: Final = 14
_PHONE: Final = regex.compile(
    r"phone|mobile|handy|telefon|téléphone|teléfono|whatsapp|\b(?:tel|cell|fax|call|sms)\b|телефон|电话|電話|전화",
    regex.IGNORECASE,
)
_LEAST_CARD: Final = 10**12
_LUHN_DOUBLED: Final = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)

# --- words that announce a secret -----------------------------------------------------------------------------------

_STRONG: Final = r"[\"'`*]{0,3}\s{0,3}+(?:[:=：＝]{1,2}+|->|=>|→|⇒|—|–)\s{0,3}+"
_QUOTES: Final = "\"'“”„‚‘’«»「」『』`"


_ANNOUNCED: Final = regex.compile(
    rf"(?P<own>(?:\s(?:{any_of(OWN)}))?)"
    rf"(?:(?P<bridge>(?:\s(?:{any_of(FOR)})(?:\s[^\s:=.!?]{{1,24}}+){{1,5}}?)?)"
    rf"(?P<link>{_STRONG}|\s{{1,3}}(?:(?P<unsure>{any_of(TO)})|{any_of(IS)})\s{{0,2}}[:=]?\s{{1,3}}|(?P<unsure>['’]s)\s{{1,3}}|\s?(?:是|为|為|は|が|은|는|이|가|คือ)\s?)"
    r"|(?P<bare>\s{1,3}))"
    rf"(?:[{_QUOTES}](?P<quoted>[^\n{_QUOTES}]{{3,64}}+)[{_QUOTES}]|[{_QUOTES}*]{{0,3}}(?P<value>[^\s{_QUOTES}]{{1,512}}+))",
    regex.IGNORECASE,
)
_CODE_VALUE: Final = regex.compile(
    rf"(?:[^\d\n.:=]{{0,24}}?(?:{_STRONG}|\s(?:{any_of(IS)}|{any_of(TO)})\s|[是为為はが은는이가])|)\s{{0,2}}"
    r"(?P<value>(?:G-)?\d{3}[ -]?\d{3}|\d{3,8})(?![\w/-])(?![.,:]\d)",
    regex.IGNORECASE,
)
_PHRASE_VALUE: Final = regex.compile(
    rf"[^\n:]{{0,40}}?(?::|\s(?:is|ist|es|est|è|é))\s{{1,3}}[{_QUOTES}]?"
    r"(?P<value>[a-z]{3,8}(?:[ ,\n]{1,2}[a-z]{3,8}){11,23})",
    regex.IGNORECASE,
)
_CODE_FIRST: Final = regex.compile(
    r"(?<![\w.,/-])(?P<value>(?:G-)?\d{4,8}) (?:is|ist|est|es|è|é) (?:your|the|ihr|dein|votre|ton|tu|su|il|o)\b"
    r"[^\n.]{0,40}?(?:code|pin|passcode|código|codice|otp)\b",
    regex.IGNORECASE,
)
WINDOW: Final = 800
"""How far behind an announcing word its secret may end, in characters."""
CODE_WINDOW: Final = 60
"""The same for a number."""


_TRAILING: Final = ".,;:!?)]}>…。，、！？；」』"
_ORDINARY: Final = regex.compile(
    r"\d+(?:st|nd|rd|th|h|am|pm|x|d|s|k|min|mins|days?|hours?|chars?|characters?|bit|bits|-.*)|\d{1,3}[%€$]?|[€$£¥]\d.*|.*://.*"
    r"|[^@\s]+@[^@\s]+\.\p{L}+|[\p{L}]+/[\p{L}/]+|1password|<[^>]*>?|\*+|[xX•.…_-]+|\$\{?.*|%[^%]+%|\{+.*|\[.*"
    r"|[a-z_][\w.]*[(\[].*|(?:self|this|config|settings|process|os|env|args|data|user)\.[\w.]+",
    regex.IGNORECASE,
)
_SYMBOL: Final = regex.compile(r"[!@#$%^&*_+=~|\\<>?]")
_INNER_CAPITAL: Final = regex.compile(r"\p{Ll}\p{Lu}")
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


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without its secrets, and what kinds of them were found, in order of first appearance."""

    text: str
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    kind: str


def mask(text: str) -> Masked:
    """`text` with every secret replaced by its kind, as in "[secret: api key]"; masking twice changes nothing more.

    Args:
        text: as it came through the door (`require_text`).

    >>> mask("my password is hunter2, my card 4111 1111 1111 1111").text
    'my password is [secret: password], my card [secret: card number]'
    """
    found = _apart([*_all(text), *_through_invisible(text)], text)
    if not found:
        return Masked(text)
    pieces: list[str] = []
    at = 0
    for one in found:
        pieces += text[at : one.start], f"[secret: {one.kind}]"
        at = one.end
    return Masked("".join([*pieces, text[at:]]), tuple(dict.fromkeys(one.kind for one in found)))


def _all(text: str) -> Iterator[_Found]:
    yield from _known_formats(text)
    yield from _other_formats(text)
    yield from _cookies(text)
    yield from _private_keys(text)
    yield from _cards(text)
    yield from _announced_secrets(text)


def _through_invisible(text: str) -> Iterator[_Found]:
    """What is found once the signs that nobody sees are left out, at its places in the text with them."""
    if not _INVISIBLE.search(text):
        return
    places = [place for place, sign in enumerate(text) if not _INVISIBLE.match(sign)]
    for one in _all("".join(text[place] for place in places)):
        yield _Found(places[one.start], places[one.end - 1] + 1, one.kind)


def masked_json(value: object) -> object:
    """JSON with the secrets in it masked: those of every text and name, card numbers that are numbers, and whatever
    stands under a name that announces a secret, as in {"pin": 4921}.

    >>> masked_json({"dbPassword": "fish", "cards": [4111111111111111]})
    {'dbPassword': '[secret: password]', 'cards': ['[secret: card number]']}
    """
    if isinstance(value, str):
        return mask(value).text
    if isinstance(value, Mapping):
        return masked_fields({str(name): item for name, item in value.items()})
    if isinstance(value, list | tuple):
        return [masked_json(item) for item in value]
    if isinstance(value, int) and abs(value) >= _LEAST_CARD:
        return next((f"[secret: {kind}]" for kind in mask(str(value)).kinds), value)
    return value


def masked_fields(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields of a JSON object, masked as by `masked_json`; two names that were secrets stay two."""
    masked: dict[str, object] = {}
    for name, value in fields.items():
        plain = kept = mask(name).text
        number = 1
        while kept in masked:
            number += 1
            kept = f"{plain} {number}"
        if kind := _announced_kind(name):
            masked[kept] = _hidden(value, kind)
        else:
            other = isinstance(value, int) and _OTHER_NUMBER.search(name)
            masked[kept] = value if other else masked_json(value)
    return masked


def _hidden(value: object, kind: str) -> object:
    """A value that is a secret whatever it looks like; only what holds nothing stays, and what says yes or no."""
    if isinstance(value, Mapping):
        return {name: _hidden(item, kind) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(item, kind) for item in value]
    if value is None or isinstance(value, bool) or value == "" or (isinstance(value, str) and _MASKED.fullmatch(value)):
        return value
    return f"[secret: {kind}]"


def _announced_kind(name: str) -> str | None:
    """The kind of secret that a field of this name holds, if one; `dbPassword`, `db_password` and `DB-PASSWORD` do."""
    if len(name) > _MAX_NAME_CHARS:
        return None
    words = _NAME_PARTS.sub(" ", _HUMP.sub(" ", name)).casefold().split()
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in _NAME_ENDINGS):
        words.pop()
    ends = [" ".join(words[-many:]) for many in (1, 2, 3)]
    return next((FIELD_NAMES[end] for one in ends for end in (one, one.rstrip(_DIGITS)) if end in FIELD_NAMES), None)


def passes_luhn(digits: str) -> bool:
    """Whether the last digit checks the others (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        total += _LUHN_DOUBLED[int(digit)] if place % 2 else int(digit)
    return total % 10 == 0


def _apart(found: Iterable[_Found], text: str) -> list[_Found]:
    """In order, without overlaps; what two saw is one, named by who saw more. What is masked already is left alone."""
    masks = [(match.start(), match.end()) for match in _MASKED.finditer(text)] if "[secret: " in text else []
    kept: list[_Found] = []
    passed = 0
    for one in sorted(found, key=lambda each: (each.start, -each.end)):
        while passed < len(masks) and masks[passed][1] <= one.start:
            passed += 1
        if passed < len(masks) and masks[passed][0] < one.end:
            continue
        if kept and one.start < kept[-1].end:
            last = kept[-1]
            kept[-1] = _Found(last.start, max(last.end, one.end), last.kind)
        else:
            kept.append(one)
    return kept


def _known_formats(text: str) -> Iterator[_Found]:
    if text.count(_JWT_BEGIN) > MANY_JWT:
        text = _WITHIN_TOKEN.sub("eyj", text)
    for start, piece in _pieces(text):
        for finding in redact_secret.scan(piece, limits=_LIMITS):
            if finding.action in {"redact", "block"}:
                yield _Found(start + finding.start, start + finding.end, _kind_of(finding.type))


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The text in pieces, cut behind a line or at least a word where there is one; each with where it begins."""
    at = 0
    while len(text) - at > PIECE:
        cut = max(text.rfind("\n", at + PIECE // 2, at + PIECE), 0) or text.rfind(" ", at + PIECE // 2, at + PIECE)
        end = cut + 1 if cut > at else at + PIECE
        yield at, text[at:end]
        at = end
    yield at, text[at:]


def _kind_of(name: str) -> str:
    if "private_key" in name:
        return PRIVATE_KEY
    if "password" in name:
        return PASSWORD
    if any(word in name for word in ("token", "jwt", "authorization", "bearer", "cookie", "session")):
        return TOKEN
    return API_KEY


def _other_formats(text: str) -> Iterator[_Found]:
    for mark, pattern, kind in _FORMATS:
        for match in pattern.finditer(text) if mark in text else ():
            if not _ORDINARY.fullmatch(match["value"]):
                yield _Found(match.start("value"), match.end("value"), kind)
    for match in _LOGIN.finditer(text) if "@" in text else ():
        if _looks_random(match["value"]) and match["user"].casefold() not in _NO_USERS:
            yield _Found(match.start("value"), match.end("value"), PASSWORD)


def _cookies(text: str) -> Iterator[_Found]:
    at = 0
    while begin := _COOKIE.search(text, at):
        end = text.find("\n", begin.end(), begin.end() + MAX_COOKIE_CHARS)
        at = end if end >= 0 else min(len(text), begin.end() + MAX_COOKIE_CHARS)
        for match in _COOKIE_PAIR.finditer(text, begin.end(), at):
            if _COOKIE_NAME.search(match["name"]):
                yield _Found(match.start("value"), match.end("value"), TOKEN)


def _private_keys(text: str) -> Iterator[_Found]:
    """Also those whose end was cut off."""
    at = 0
    while begin := _KEY_BEGIN.search(text, at):
        # No memory is worth what stands between; a key that ends further away than keys are long has no end.
        end = _KEY_END.search(text, begin.end(), begin.end() + MAX_KEY_CHARS)
        body = None if end else _KEY_BODY.match(text, begin.end(), begin.end() + MAX_KEY_CHARS)
        at = (end or body or begin).end()
        yield _Found(begin.start(), at, PRIVATE_KEY)


def _cards(text: str) -> Iterator[_Found]:
    for match in _CARD.finditer(text):
        digits = "".join(str(int(sign)) for sign in match[0] if sign.isdigit())
        if len(set(digits)) == 1 or not _BRANDS.fullmatch(digits) or not passes_luhn(digits):
            continue
        before = max(0, match.start() - 24), match.start()
        if len(digits) <= MAX_PHONE_DIGITS and _PHONE.search(text, *before):
            continue
        if len(digits) == len(match[0]) and _OTHER_NUMBER.search(text, *before):
            continue
        yield _Found(match.start(), match.end(), CARD_NUMBER)


def _announced_secrets(text: str) -> Iterator[_Found]:
    lowered = _lowered(text)
    for at, word, kind in _announcements(lowered):
        end = at + len(word)
        if not _stands_alone(text, at, end):
            continue
        if kind == CODE:
            yield from _code(text, end, word)
        elif kind == RECOVERY_PHRASE:
            if phrase := _PHRASE_VALUE.match(text, end, end + WINDOW):
                yield _Found(phrase.start("value"), phrase.end("value"), kind)
        elif match := _ANNOUNCED.match(text, end, end + WINDOW):
            yield from _announced(text, match, word, kind)
    if "code" in lowered or "pin" in lowered or "otp" in lowered or "codice" in lowered or "código" in lowered:
        for match in _CODE_FIRST.finditer(text):
            yield _Found(match.start("value"), match.end("value"), CODE)


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
    return ord(sign) < _FIRST_UNSPACED


def _code(text: str, end: int, word: str) -> Iterator[_Found]:
    """The number behind a word for one, if something links the two or the word has no other meaning."""
    if not any(map(str.isdigit, text[end : end + CODE_WINDOW])):
        return
    match = _CODE_VALUE.match(text, end, end + CODE_WINDOW)
    if match is None:
        return
    between = text[end : match.start("value")].strip()
    shouted = text[end - len(word) : end].isupper()
    if between or (not word.endswith("code") and (shouted or word not in _SHOUTED)):
        yield _Found(match.start("value"), match.end("value"), CODE)


def _announced(text: str, match: regex.Match[str], word: str, kind: str) -> Iterator[_Found]:
    """The secret behind an announcing word, if what stands there is one rather than something said of it."""
    name = "value" if match["quoted"] is None else "quoted"
    value, start = match[name], match.start(name)
    if not (word.isascii() or word[0] < _FIRST_NOT_LATIN):
        # Between words of another script, what is written in ASCII is the value; else what a colon leads to.
        run = _ASCII_RUN.match(value) or (_OWN_SCRIPT.match(value) if _COLON.search(match["link"] or "") else None)
        value = run[0] if run else ""
    value = _trimmed(value) if name == "value" else value
    if kind == PASSWORD:
        found = _is_password(text, match, word, value)
    else:
        found = len(value) >= MIN_KEY_CHARS and any(map(str.isdigit, value)) and _looks_random(value)
    if found:
        yield _Found(start, start + len(value), kind)


def _is_password(text: str, match: regex.Match[str], word: str, value: str) -> bool:  # noqa: PLR0911
    link = match["link"] or ""
    strong = any(sign in link for sign in ":=：＝→⇒>—–")
    if word in SHORT_WORDS and not (strong and not _TICKET.search(text, *_before(match.start() - len(word)))):
        return False
    if _looks_random(value):
        return bool(link) or any(map(str.isdigit, value))
    if not link or match["unsure"] or word in OTHER_MEANINGS:
        return False
    if match["quoted"] is not None:
        return len(value) >= MIN_PASSWORD_CHARS and value.casefold() not in SAID_OF_IT
    if not _may_be_password(value):
        return False
    spaced = value[0] < _FIRST_UNSPACED_SIGN and (strong or word.isascii() or word[0] < _FIRST_NOT_LATIN)
    if not spaced and not value.isascii():
        return not _SAID_UNSPACED.search(value)
    return (
        not spaced or (_LINE_END if strong else _CLAUSE_END).match(text, match.start("value") + len(value)) is not None
    )


def _before(at: int) -> tuple[int, int]:
    return max(0, at - 16), at


def _trimmed(value: str) -> str:
    return value.rstrip(_TRAILING) or value


def _looks_random(value: str) -> bool:
    """Whether a value is no word: digits among letters, signs among them, capitals inside, or four digits and more."""
    if len(value) < MIN_PASSWORD_CHARS or _ORDINARY.fullmatch(value):
        return False
    digits, letters = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if digits and not letters:
        return sum(map(str.isdigit, value)) >= MIN_PASSWORD_CHARS
    return letters and (digits or bool(_SYMBOL.search(value)) or bool(_INNER_CAPITAL.search(value)))


def _may_be_password(value: str) -> bool:
    return (
        len(value) >= MIN_PASSWORD_CHARS
        and not _ORDINARY.fullmatch(value)
        and _WORD.fullmatch(value) is not None
        and value.casefold() not in SAID_OF_IT
    )
