"""API keys: what is stored of them, which is never the secret."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from perdure.acting import Scope
from perdure.errors import Conflict, NotFound
from perdure.store.audit import note_admin
from perdure.store.database import Transaction

MARK: Final = "perdure"
"""What every key begins with, so that scanners of code and logs can tell one."""
PREFIX_BYTES: Final = 5
SECRET_BYTES: Final = 32
"""256 random bits: a fast hash is enough for what can't be guessed."""
_TOKEN_PARTS: Final = 3
USED_EVERY: Final = timedelta(minutes=1)
"""How exact `last_used_at` is: a busy key doesn't write with every request."""


ANY_KEYS: Final = """
    SELECT EXISTS (SELECT FROM api_keys) AS found
"""

INSERT_KEY: Final = """
    INSERT INTO api_keys (prefix, name, secret_hash, scopes, spaces, created_at, expires_at)
    VALUES (%(prefix)s, %(name)s, %(secret_hash)s, %(scopes)s, %(spaces)s, %(now)s, %(expires_at)s)
    ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING
    RETURNING id, prefix, name, scopes, spaces, created_at, expires_at, rotated_at, former_until, last_used_at,
        revoked_at
"""

LIST_KEYS: Final = """
    SELECT id, prefix, name, scopes, spaces, created_at, expires_at, rotated_at, former_until, last_used_at, revoked_at
    FROM api_keys ORDER BY created_at, id
"""

FIND_BY_PREFIX: Final = """
    SELECT id, prefix, name, scopes, spaces, created_at, expires_at, rotated_at, former_until, last_used_at, revoked_at,
        secret_hash, former_hash
    FROM api_keys WHERE prefix = %(prefix)s
"""

ROTATE_KEY: Final = """
    UPDATE api_keys
    SET former_hash = secret_hash, former_until = %(until)s, secret_hash = %(secret_hash)s, rotated_at = %(now)s
    WHERE revoked_at IS NULL AND (name = %(wanted)s OR prefix = %(wanted)s)
    RETURNING id, prefix, name, scopes, spaces, created_at, expires_at, rotated_at, former_until, last_used_at,
        revoked_at
"""

REVOKE_KEY: Final = """
    UPDATE api_keys SET revoked_at = %(now)s
    WHERE revoked_at IS NULL AND (name = %(wanted)s OR prefix = %(wanted)s)
    RETURNING id, prefix, name, scopes, spaces, created_at, expires_at, rotated_at, former_until, last_used_at,
        revoked_at
"""

# A name that is free again may be somebody else's next, whom a key of the former must not reach.
REVOKE_KEYS_OF_SPACE: Final = """
    UPDATE api_keys
    SET revoked_at = CASE WHEN cardinality(array_remove(spaces, %(space)s)) = 0
            THEN coalesce(revoked_at, %(now)s) ELSE revoked_at END,
        spaces = CASE WHEN cardinality(array_remove(spaces, %(space)s)) = 0
            THEN ARRAY[''] ELSE array_remove(spaces, %(space)s) END
    WHERE %(space)s = ANY (spaces)
    RETURNING id
"""

MARK_USED: Final = """
    UPDATE api_keys SET last_used_at = %(now)s
    WHERE id = %(id)s AND (last_used_at IS NULL OR last_used_at < %(used_before)s)
"""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret. `spaces` are the names it reaches; None is all of them."""

    id: int
    prefix: str
    name: str
    scopes: tuple[Scope, ...]
    spaces: tuple[str, ...] | None
    created_at: datetime
    expires_at: datetime | None
    rotated_at: datetime | None
    former_until: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None

    def state(self, now: datetime) -> str:
        """`live`, `expired` or `revoked`."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "live"


@dataclass(frozen=True, slots=True)
class Admission:
    """A key that was found to be good, and how many seconds it stays so, as far as its own dates tell."""

    key: ApiKey
    seconds: float


async def any_keys(tx: Transaction) -> bool:
    """Whether there has ever been a key: one that ran out or was revoked doesn't open the doors again."""
    row = await tx.fetch_one(ANY_KEYS)
    assert row is not None
    return bool(row["found"])


async def create_key(
    tx: Transaction,
    name: str,
    scopes: Sequence[Scope],
    *,
    spaces: Sequence[str] | None = None,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its token, which is told this once.

    Raises Conflict if a key of this name is not revoked.
    """
    prefix, secret = secrets.token_hex(PREFIX_BYTES), secrets.token_urlsafe(SECRET_BYTES)
    row = await tx.fetch_one(
        INSERT_KEY,
        {
            "prefix": prefix,
            "name": name,
            "secret_hash": _hashed(secret),
            "scopes": [scope.value for scope in scopes],
            "spaces": None if spaces is None else list(spaces),
            "expires_at": expires_at,
        },
    )
    if row is None:
        raise Conflict(
            f"There is a key named {name!r} already.",
            hint=f"Give the new one another name, or `perdure keys rotate {name}` for a new secret.",
        )
    key = _key(row)
    await note_admin(tx, "create_key", [key.id])
    return key, _token(prefix, secret)


async def list_keys(tx: Transaction) -> list[ApiKey]:
    """All keys, revoked ones included, oldest first."""
    return [_key(row) for row in await tx.fetch_all(LIST_KEYS)]


async def rotate_key(tx: Transaction, wanted: str, grace: timedelta) -> tuple[ApiKey, str]:
    """A new secret for the key of this name or prefix; the one before holds for `grace` more.

    Raises NotFound for a key that isn't there, or is revoked.
    """
    secret = secrets.token_urlsafe(SECRET_BYTES)
    row = await tx.fetch_one(ROTATE_KEY, {"wanted": wanted, "secret_hash": _hashed(secret), "until": tx.now + grace})
    key = _found(row, wanted)
    await note_admin(tx, "rotate_key", [key.id])
    return key, _token(key.prefix, secret)


async def revoke_key(tx: Transaction, wanted: str) -> ApiKey:
    """Ends the key of this name or prefix for good. Raises NotFound for one that isn't there, or is revoked."""
    key = _found(await tx.fetch_one(REVOKE_KEY, {"wanted": wanted}), wanted)
    await note_admin(tx, "revoke_key", [key.id])
    return key


async def let_go_of_space(tx: Transaction, space: str) -> list[int]:
    """Takes an erased space from the keys that reach it; one that reaches no other is revoked. Returns their ids.

    The name is gone from all of them, revoked ones included.
    """
    rows = await tx.fetch_all(REVOKE_KEYS_OF_SPACE, {"space": space})
    ids = sorted(int(row["id"]) for row in rows)
    if ids:
        await note_admin(tx, "limit_keys", ids)
    return ids


async def admit(tx: Transaction, token: str) -> Admission | None:
    """The key that `token` is of, if it is good now; that it was used is kept to the minute."""
    prefix, secret = read_token(token) or ("", "")
    row = await tx.fetch_one(FIND_BY_PREFIX, {"prefix": prefix})
    given = _hashed(secret)
    current, former = (row["secret_hash"], row["former_hash"]) if row else (bytes(32), None)
    # All of it is compared whatever is found, in a time that tells nothing of how much is right.
    is_current = hmac.compare_digest(given, current)
    is_former = hmac.compare_digest(given, former or bytes(32)) and former is not None
    if row is None or not (is_current or is_former):
        return None
    key = _key(row)
    ends = [end for end in (key.expires_at, None if is_current else key.former_until) if end is not None]
    left = min(((end - tx.now).total_seconds() for end in ends), default=float("inf"))
    if key.revoked_at is not None or left <= 0:
        return None
    await tx.execute(MARK_USED, {"id": key.id, "used_before": tx.now - USED_EVERY})
    return Admission(key, left)


def read_token(token: str) -> tuple[str, str] | None:
    """Prefix and secret of what may be a key; None for what can't be one."""
    parts = token.split("_", 2)
    if len(parts) != _TOKEN_PARTS or parts[0] != MARK or not token.isascii() or not token.isprintable():
        return None
    return parts[1], parts[2]


def _token(prefix: str, secret: str) -> str:
    return f"{MARK}_{prefix}_{secret}"


def _hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _found(row: dict[str, object] | None, wanted: str) -> ApiKey:
    if row is None:
        raise NotFound(f"There is no key {wanted!r} that holds.", hint="`perdure keys list` shows them.")
    return _key(row)


def _key(row: dict[str, object]) -> ApiKey:
    values = {name: row[name] for name in ApiKey.__dataclass_fields__}
    scopes, spaces = values["scopes"], values["spaces"]
    assert isinstance(scopes, list)
    values["scopes"] = tuple(Scope(scope) for scope in scopes)
    values["spaces"] = tuple(spaces) if isinstance(spaces, list) else None
    return ApiKey(**values)  # type: ignore[arg-type]
