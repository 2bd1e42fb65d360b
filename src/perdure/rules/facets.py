"""Facets: what a filter asks for by equality, spelled as one key each, so that a btree answers it.

The same function spells the keys of a stored memory and those of a filter; texts come in already folded.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final

MAX_VALUE_BYTES: Final = 400
"""What follows the kind of a key (`tag:`) is spelled out up to so many bytes; PostgreSQL indexes keys up to 2,704."""

DIGEST_BYTES: Final = 20
"""A longer one is a digest of 160 bits: two that differ meet by chance once in 2**80 values."""


def facet_keys(
    *,
    tags: Iterable[str] = (),
    source: str | None = None,
    speaker: str | None = None,
    metadata: Mapping[str, object] | None = None,
) -> tuple[str, ...]:
    """Sorted distinct facet keys: `tag:…`, `source:…`, `speaker:…`, `meta:<key>=<JSON value>`.

    `tags` and `speaker` are folded by the caller. Metadata values are compared as JSON scalars, 1 and 1.0 being the
    same number as they are in the database; nested values have no key, since filters ask for equality of scalars only.
    """
    keys = {_key("tag", tag) for tag in tags if tag}
    if source is not None:
        keys.add(_key("source", source))
    if speaker is not None:
        keys.add(_key("speaker", speaker))
    for name, value in (metadata or {}).items():
        if value is None or isinstance(value, str | int | float | bool):
            keys.add(_key("meta", f"{name}={_spelled(value)}"))
    return tuple(sorted(keys))


def _key(kind: str, value: str) -> str:
    encoded = value.encode()
    if len(encoded) <= MAX_VALUE_BYTES:
        return f"{kind}:{value}"
    # No stored text has a control character, so no short value is ever spelled like this.
    return f"{kind}:\x1f{hashlib.blake2b(encoded, digest_size=DIGEST_BYTES).hexdigest()}"


def _spelled(value: object) -> str:
    # The database hands 1e300 back as a whole number and -0.0 as 0: a row must be spelled as its draft was.
    plain = int(Decimal(repr(value))) if isinstance(value, float) and value.is_integer() else value
    return json.dumps(plain, ensure_ascii=False)
