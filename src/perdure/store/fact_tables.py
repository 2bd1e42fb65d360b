"""Facts of servers and of people lie in two tables of one shape: one statement serves both, with slots for names."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, LiteralString

from psycopg import sql

from perdure.fact_types import FactKind
from perdure.rules.placeholders import expand
from perdure.store.statements import kept
from perdure.text import fold

KEY_BYTES: Final = 16

_NAMES: Final[Mapping[FactKind, Mapping[str, sql.Composable]]] = {
    FactKind.SERVER: {
        "facts": sql.Identifier("server_memories"),
        "fact_vectors": sql.Identifier("server_memory_vectors"),
        "owner": sql.Identifier("server_id"),
    },
    FactKind.PERSONAL: {
        "facts": sql.Identifier("personal_memories"),
        "fact_vectors": sql.Identifier("personal_memory_vectors"),
        "owner": sql.Identifier("user_id"),
    },
}


@lru_cache(maxsize=128)
def of_kind(statement: LiteralString, kind: FactKind) -> sql.SQL:
    """A statement with the tables of a kind in `{facts}` and `{fact_vectors}`, its column of owners in `{owner}`."""
    return kept(sql.SQL(statement).format(**_NAMES[kind]))


def content_key(content: str) -> bytes:
    """A digest that two facts share which say the same: in any case, spelling and spacing, and of placeholders."""
    plain = expand(content, user="{user}", bot="{bot}")
    return hashlib.blake2b(" ".join(fold(plain).split()).encode(), digest_size=KEY_BYTES).digest()
