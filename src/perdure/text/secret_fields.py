"""Fields of data that hold a secret by their name, whatever their value looks like."""

from __future__ import annotations

from string import digits
from typing import Final

import regex

from perdure.text.secret_kinds import ACCOUNT_NUMBER, API_KEY, ID_NUMBER, PASSWORD, TOKEN
from perdure.text.secret_words import ANNOUNCING, OTHER_MEANINGS

_HUMP: Final = regex.compile(r"(?<=[\p{Ll}\d])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})")
_NAME_PARTS: Final = regex.compile(r"[^\p{L}\p{M}\p{N}]+")
_NAME_ENDINGS: Final = frozenset({"value", "text", "plain", "hash", "old", "new", "current", "confirm", "confirmation"})
_MAX_NAME_CHARS: Final = 200


def _field_names() -> dict[str, str]:
    plain = ("tan", *OTHER_MEANINGS)
    named = {word: kind for group in ANNOUNCING.values() for word, kind in group if word not in plain}
    found = {" ".join(word.replace("-", " ").replace("_", " ").split()): kind for word, kind in named.items()}
    others = {
        API_KEY: ("secret", "secrets", "account key", "credential", "credentials"),
        TOKEN: ("authorization", "authorisation", "authtoken", "cookie", "sessionid", "session id", "jwt"),
        PASSWORD: ("pgpassword", "userpass", "dbpass"),
        ACCOUNT_NUMBER: ("iban",),
        ID_NUMBER: ("ssn", "social security number", "passport number", "national id", "tax id"),
    }
    return found | {word: kind for kind, words in others.items() for word in words}


_FIELD_NAMES: Final = _field_names()
"""What a field that holds a secret may be called at its end, with the kind; in lower case, words parted by a space."""


def kind_of_field(name: str) -> str | None:
    """The kind of secret that a field of this name holds, if one; `dbPassword`, `db_password` and `DB-PASSWORD` do."""
    if len(name) > _MAX_NAME_CHARS:
        return None
    words = _NAME_PARTS.sub(" ", _HUMP.sub(" ", name)).casefold().split()
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in _NAME_ENDINGS):
        words.pop()
    ends = [" ".join(words[-many:]) for many in (1, 2, 3)]
    return next((_FIELD_NAMES[end] for one in ends for end in (one, one.rstrip(digits)) if end in _FIELD_NAMES), None)
