"""Erasing facts: no word of them is left, in what they were before neither, and nothing that points at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.fact_types import FactId, FactKind, FactScope
from perdure.store.database import SpaceTransaction
from perdure.store.fact_tables import of_kind
from perdure.store.tally import Tally

# They would go with their facts by themselves, uncounted.
ERASE_VECTORS: Final = """
    DELETE FROM {fact_vectors} WHERE space_id = %(space_id)s AND memory_id = ANY(%(ids)s)
"""

ERASE_FACTS: Final = """
    DELETE FROM {facts} WHERE space_id = %(space_id)s AND id = ANY(%(ids)s)
"""

ERASE_ARCHIVED: Final = """
    DELETE FROM fact_archive WHERE space_id = %(space_id)s AND kind = %(kind)s AND memory_id = ANY(%(ids)s)
"""

ERASE_CHANGES: Final = """
    DELETE FROM fact_history WHERE space_id = %(space_id)s AND kind = %(kind)s AND memory_id = ANY(%(ids)s)
"""

FORGET_SUCCESSORS: Final = """
    UPDATE fact_archive SET replaced_by = NULL
    WHERE space_id = %(space_id)s AND kind = %(kind)s AND replaced_by = ANY(%(ids)s)
"""

FACTS_OF: Final = """
    SELECT m.id
    FROM unnest(%(owners)s::text[], %(lineages)s::bigint[]) AS w (owner, lineage)
    JOIN {facts} m
      ON m.space_id = %(space_id)s AND m.{owner} = w.owner AND m.persona_lineage_id = w.lineage
    UNION
    SELECT a.memory_id
    FROM unnest(%(owners)s::text[], %(lineages)s::bigint[]) AS w (owner, lineage)
    JOIN fact_archive a
      ON a.space_id = %(space_id)s AND a.kind = %(kind)s AND a.owner = w.owner AND a.persona_lineage_id = w.lineage
    ORDER BY id
"""

# What a person has taught of others stays; that it was them, and when, goes.
FORGET_TEACHER: Final = """
    UPDATE {facts}
    SET taught_by = CASE WHEN taught_by = %(user_id)s THEN NULL ELSE taught_by END,
        evidence = CASE WHEN evidence ->> 'speaker' = %(user_id)s THEN evidence - 'speaker' - 'message_id'
                   ELSE evidence END
    WHERE space_id = %(space_id)s AND (taught_by = %(user_id)s OR evidence ->> 'speaker' = %(user_id)s)
"""

FORGET_ARCHIVED_TEACHER: Final = """
    UPDATE fact_archive
    SET taught_by = CASE WHEN taught_by = %(user_id)s THEN NULL ELSE taught_by END,
        evidence = CASE WHEN evidence ->> 'speaker' = %(user_id)s THEN evidence - 'speaker' - 'message_id'
                   ELSE evidence END,
        archived_by = CASE WHEN archived_by = %(asked_by)s THEN %(nobody)s ELSE archived_by END
    WHERE space_id = %(space_id)s
      AND (taught_by = %(user_id)s OR evidence ->> 'speaker' = %(user_id)s OR archived_by = %(asked_by)s)
"""

FORGET_UPLOADER: Final = """
    UPDATE documents SET uploaded_by = NULL WHERE space_id = %(space_id)s AND uploaded_by = %(user_id)s
"""

FORGET_WHO_ASKED: Final = """
    UPDATE fact_history SET changed_by = %(nobody)s
    WHERE space_id = %(space_id)s AND changed_by = %(asked_by)s
"""

ERASE_PERSON: Final = """
    DELETE FROM people WHERE space_id = %(space_id)s AND (%(user_id)s::text IS NULL OR user_id = %(user_id)s)
"""

ERASE_PERSON_IN_SERVERS: Final = """
    DELETE FROM server_people WHERE space_id = %(space_id)s AND (%(user_id)s::text IS NULL OR user_id = %(user_id)s)
"""

ERASE_SCOPES: Final = """
    DELETE FROM fact_scopes s
    USING unnest(%(kinds)s::text[], %(owners)s::text[], %(lineages)s::bigint[]) AS w (kind, owner, lineage)
    WHERE s.space_id = %(space_id)s AND s.kind = w.kind AND s.owner = w.owner AND s.persona_lineage_id = w.lineage
"""

ERASE_SERVERS: Final = """
    DELETE FROM servers WHERE space_id = %(space_id)s
"""

ERASE_PERSONAS: Final = """
    DELETE FROM personas WHERE space_id = %(space_id)s
"""


async def erase_facts(tx: SpaceTransaction, kind: FactKind, numbers: Sequence[int]) -> Tally:
    """Removes facts with their vectors, their history and what is archived of them. Needs their scopes' locks."""
    params = {"kind": kind.value, "ids": list(numbers)}
    tally = Tally()
    for table, statement in (
        (f"{kind.value}_memory_vectors", of_kind(ERASE_VECTORS, kind)),
        (f"{kind.value}_memories", of_kind(ERASE_FACTS, kind)),
        ("fact_archive", ERASE_ARCHIVED),
        ("fact_history", ERASE_CHANGES),
    ):
        tally.removed[table] += await tx.execute(statement, params)
    tally.rewritten["fact_archive"] += await tx.execute(FORGET_SUCCESSORS, params)
    return tally


async def facts_of(tx: SpaceTransaction, scopes: Sequence[FactScope]) -> list[FactId]:
    """All facts of these scopes, archived ones too."""
    found: list[FactId] = []
    for kind in FactKind:
        own = [scope for scope in scopes if scope.kind is kind]
        params = {
            "kind": kind.value,
            "owners": [scope.owner for scope in own],
            "lineages": [scope.lineage for scope in own],
        }
        found += [FactId(kind, row["id"]) for row in await tx.fetch_all(of_kind(FACTS_OF, kind), params)]
    return found


async def erase_person(tx: SpaceTransaction, user_id: str, *, asked_by: str, nobody: str) -> Tally:
    """Removes what is set about a person, and their id from what they taught of others.

    `asked_by` is what changes that answered them are put down to, `nobody` what is written there instead. Their own
    facts and scopes are the caller's to erase.
    """
    params = {"user_id": user_id, "asked_by": asked_by, "nobody": nobody}
    tally = Tally()
    for kind in FactKind:
        tally.rewritten[f"{kind.value}_memories"] += await tx.execute(of_kind(FORGET_TEACHER, kind), params)
    for table, statement in (
        ("fact_archive", FORGET_ARCHIVED_TEACHER),
        ("documents", FORGET_UPLOADER),
        ("fact_history", FORGET_WHO_ASKED),
    ):
        tally.rewritten[table] += await tx.execute(statement, params)
    tally.removed["people"] += await tx.execute(ERASE_PERSON, params)
    tally.removed["server_people"] += await tx.execute(ERASE_PERSON_IN_SERVERS, params)
    return tally


async def erase_settings(tx: SpaceTransaction) -> None:
    """Removes what is set about people and servers, and the personas of the space."""
    for statement in (ERASE_PERSON, ERASE_PERSON_IN_SERVERS, ERASE_SERVERS, ERASE_PERSONAS):
        await tx.execute(statement, {"user_id": None})


async def erase_scopes(tx: SpaceTransaction, scopes: Sequence[FactScope]) -> int:
    """Removes scopes that are empty; returns how many.

    Needs their locks: one that somebody else makes meanwhile is not among them.
    """
    params = {
        "kinds": [scope.kind.value for scope in scopes],
        "owners": [scope.owner for scope in scopes],
        "lineages": [scope.lineage for scope in scopes],
    }
    return await tx.execute(ERASE_SCOPES, params)
