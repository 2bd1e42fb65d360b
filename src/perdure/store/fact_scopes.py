"""One row per scope of facts: what its writers queue up on, and what tells rendered text from stale text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from perdure.fact_types import FactKind, FactScope
from perdure.store.database import SpaceTransaction

LOCK_SCOPE: Final = """
    SELECT revision FROM fact_scopes
    WHERE space_id = %(space_id)s AND kind = %(kind)s AND owner = %(owner)s AND persona_lineage_id = %(lineage)s
    FOR UPDATE
"""

MAKE_SCOPE: Final = """
    INSERT INTO fact_scopes (space_id, kind, owner, persona_lineage_id, revision)
    VALUES (%(space_id)s, %(kind)s, %(owner)s, %(lineage)s, %(revision)s)
    ON CONFLICT (space_id, kind, owner, persona_lineage_id) DO NOTHING
"""

TOUCH_SCOPE: Final = """
    UPDATE fact_scopes SET revision = revision + 1
    WHERE space_id = %(space_id)s AND kind = %(kind)s AND owner = %(owner)s AND persona_lineage_id = %(lineage)s
"""


LOCK_SCOPES_OF: Final = """
    SELECT kind, owner, persona_lineage_id AS lineage FROM fact_scopes
    WHERE space_id = %(space_id)s
      AND (%(owner)s::text IS NULL OR (kind = 'personal' AND owner = %(owner)s))
    ORDER BY kind, owner, persona_lineage_id
    FOR UPDATE
"""

READ_SCOPES_OF: Final = """
    SELECT kind, owner, persona_lineage_id AS lineage FROM fact_scopes
    WHERE space_id = %(space_id)s AND kind = 'personal' AND owner = %(owner)s
    ORDER BY persona_lineage_id
"""


async def lock_scope(tx: SpaceTransaction, scope: FactScope, *, make: bool = False) -> bool:
    """Locks a scope until the transaction ends; whoever changes one of its facts calls this first.

    Returns:
        Whether there is such a scope: it is made with its first fact (`make`).
    """
    params = scope_params(scope)
    while await tx.fetch_one(LOCK_SCOPE, params) is None:
        if not make:
            return False
        # A scope that was erased and comes again must not have a revision that text was rendered for before.
        await tx.execute(MAKE_SCOPE, {**params, "revision": int(tx.now.timestamp() * 1e6)})
    return True


async def lock_scopes_of(tx: SpaceTransaction, owner: str | None = None) -> list[FactScope]:
    """Locks all scopes of a person, or all there are, in one order; what was made meanwhile is not among them."""
    rows = await tx.fetch_all(LOCK_SCOPES_OF, {"owner": owner})
    return [FactScope(FactKind(row["kind"]), row["owner"], row["lineage"]) for row in rows]


async def scopes_of(tx: SpaceTransaction, owner: str) -> list[FactScope]:
    """All scopes of a person."""
    rows = await tx.fetch_all(READ_SCOPES_OF, {"owner": owner})
    return [FactScope(FactKind(row["kind"]), row["owner"], row["lineage"]) for row in rows]


async def touch(tx: SpaceTransaction, scope: FactScope) -> None:
    """Says that what the scope holds has changed: whatever was rendered of it is stale once this is committed."""
    await tx.execute(TOUCH_SCOPE, scope_params(scope))


def scope_params(scope: FactScope) -> Mapping[str, object]:
    """What a statement needs to know of a scope: kind, owner, lineage."""
    return {"kind": scope.kind.value, "owner": scope.owner, "lineage": scope.lineage}
