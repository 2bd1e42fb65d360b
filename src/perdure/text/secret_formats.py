"""Secrets that are known by their form: keys and tokens of providers, private keys, passwords in addresses, cookies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import redact_secret
import regex

from perdure.text.secret_kinds import API_KEY, PASSWORD, PRIVATE_KEY, TOKEN, Found, found_value
from perdure.text.secret_values import is_ordinary, looks_random


def secrets_by_form(text: str) -> Iterator[Found]:
    """What the detector finds, and what has a form that it doesn't know."""
    yield from _detected(text)
    yield from _other_forms(text)
    yield from _cookies(text)
    yield from _private_keys(text)


# --- what the detector finds ------------------------------------------------------------------------------------------

PIECE: Final = 8192
"""The detector is handed so many characters at once: some of its searches are quadratic in what they are handed."""
MANY_JWT: Final = 64
_JWT_BEGIN: Final = "eyJ"
_WITHIN_TOKEN: Final = regex.compile(r"(?<=[A-Za-z0-9_-])eyJ")
"""Every web token begins like this; inside a long run of letters it begins none, but sends the detector looking."""
_LIMITS: Final = redact_secret.WholeInputLimits(max_input_bytes=64 * 2**20, max_findings=2**20)


def _detected(text: str) -> Iterator[Found]:
    if text.count(_JWT_BEGIN) > MANY_JWT:
        text = _WITHIN_TOKEN.sub("eyj", text)
    for start, piece in _pieces(text):
        for finding in redact_secret.scan(piece, limits=_LIMITS):
            if finding.action in {"redact", "block"}:
                yield Found(start + finding.start, start + finding.end, _kind_of(finding.type))


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
    """Our kind for what the detector calls its finding."""
    if "private_key" in name:
        return PRIVATE_KEY
    if "password" in name:
        return PASSWORD
    if any(word in name for word in ("token", "jwt", "authorization", "bearer", "cookie", "session")):
        return TOKEN
    return API_KEY


# --- other forms ------------------------------------------------------------------------------------------------------

_FORMS: Final = (
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


def _other_forms(text: str) -> Iterator[Found]:
    for mark, pattern, kind in _FORMS:
        for match in pattern.finditer(text) if mark in text else ():
            if not is_ordinary(match["value"]):
                yield found_value(match, kind)
    for match in _LOGIN.finditer(text) if "@" in text else ():
        if looks_random(match["value"]) and match["user"].casefold() not in _NO_USERS:
            yield found_value(match, PASSWORD)


# --- cookies ----------------------------------------------------------------------------------------------------------

MAX_COOKIE_CHARS: Final = 4096
_COOKIE: Final = regex.compile(r"(?<![\w-])(?:set-)?cookie:\s", regex.IGNORECASE)
_COOKIE_PAIR: Final = regex.compile(r"(?<![\w.-])(?P<name>[\w.-]{1,64}+)=(?P<value>[^;,\s\[]{4,4096}+)")
_COOKIE_NAME: Final = regex.compile(r"sess|sid|token|auth|jwt|csrf|login", regex.IGNORECASE)


def _cookies(text: str) -> Iterator[Found]:
    at = 0
    while begin := _COOKIE.search(text, at):
        end = text.find("\n", begin.end(), begin.end() + MAX_COOKIE_CHARS)
        at = end if end >= 0 else min(len(text), begin.end() + MAX_COOKIE_CHARS)
        for match in _COOKIE_PAIR.finditer(text, begin.end(), at):
            if _COOKIE_NAME.search(match["name"]):
                yield found_value(match, TOKEN)


# --- private keys -----------------------------------------------------------------------------------------------------

MAX_KEY_CHARS: Final = 16_384
_KEY_NAME: Final = r"(?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_KEY_BEGIN: Final = regex.compile(f"-----BEGIN {_KEY_NAME}")
_KEY_END: Final = regex.compile(f"-----END {_KEY_NAME}")
_KEY_BODY: Final = regex.compile(r"(?:\s*+(?:[A-Z][A-Za-z-]{2,30}: [^\n]{1,200}+\n|[A-Za-z0-9+/=\\]{16,}+))*+")


def _private_keys(text: str) -> Iterator[Found]:
    """Also those whose end was cut off."""
    at = 0
    ends = _KEY_END.finditer(text)
    end = next(ends, None)
    while begin := _KEY_BEGIN.search(text, at):
        while end is not None and end.start() < begin.end():
            end = next(ends, None)
        # No memory is worth what stands between; a key that ends further away than keys are long has no end.
        ended = end is not None and end.end() <= begin.end() + MAX_KEY_CHARS
        body = None if ended else _KEY_BODY.match(text, begin.end(), begin.end() + MAX_KEY_CHARS)
        at = (end if ended and end is not None else body or begin).end()
        yield Found(begin.start(), at, PRIVATE_KEY)
