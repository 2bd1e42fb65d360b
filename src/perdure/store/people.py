"""What is set about people and servers, and the lineages of personas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from perdure.fact_types import Person, Persona, Privacy
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.text import fold

READ_PEOPLE: Final = """
    SELECT w.user_id, p.name, p.aliases, p.privacy_level, p.consents, s.server_id, s.personalised
    FROM unnest(%(user_ids)s::text[]) AS w (user_id)
    LEFT JOIN people p ON p.space_id = %(space_id)s AND p.user_id = w.user_id
    LEFT JOIN server_people s ON s.space_id = %(space_id)s AND s.user_id = w.user_id
"""

LIST_PEOPLE: Final = """
    SELECT p.user_id FROM people p WHERE p.space_id = %(space_id)s
    UNION
    SELECT s.user_id FROM server_people s WHERE s.space_id = %(space_id)s
    ORDER BY user_id
"""

OTHERS_NAMES: Final = """
    SELECT p.user_id, p.name, p.aliases FROM people p
    WHERE p.space_id = %(space_id)s AND p.user_id <> %(user_id)s
"""

# What isn't given stays; of somebody new it is what counts for everybody.
SET_PERSON: Final = """
    INSERT INTO people (space_id, user_id, name, aliases, privacy_level, consents, updated_at)
    VALUES (%(space_id)s, %(user_id)s, %(name)s, coalesce(%(aliases)s::text[], '{}'),
            coalesce(%(privacy)s::text, 'minimal'), coalesce(%(consents)s::boolean, true), %(now)s)
    ON CONFLICT (space_id, user_id) DO UPDATE
    SET name = coalesce(excluded.name, people.name),
        aliases = coalesce(%(aliases)s::text[], people.aliases),
        privacy_level = coalesce(%(privacy)s::text, people.privacy_level),
        consents = coalesce(%(consents)s::boolean, people.consents),
        updated_at = excluded.updated_at
"""

SET_PERSONALISED: Final = """
    INSERT INTO server_people (space_id, server_id, user_id, personalised, updated_at)
    VALUES (%(space_id)s, %(server_id)s, %(user_id)s, %(personalised)s, %(now)s)
    ON CONFLICT (space_id, server_id, user_id) DO UPDATE
    SET personalised = excluded.personalised, updated_at = excluded.updated_at
"""

READ_SERVER: Final = """
    SELECT self_teaching_enabled FROM servers WHERE space_id = %(space_id)s AND server_id = %(server_id)s
"""

SET_SERVER: Final = """
    INSERT INTO servers (space_id, server_id, self_teaching_enabled, updated_at)
    VALUES (%(space_id)s, %(server_id)s, %(enabled)s, %(now)s)
    ON CONFLICT (space_id, server_id) DO UPDATE
    SET self_teaching_enabled = excluded.self_teaching_enabled, updated_at = excluded.updated_at
"""

MAKE_PERSONA: Final = """
    INSERT INTO personas (space_id, name, folded_name, created_at)
    VALUES (%(space_id)s, %(name)s, %(folded_name)s, %(now)s)
    ON CONFLICT (space_id, folded_name) DO NOTHING
"""

FIND_PERSONA: Final = """
    SELECT persona_lineage_id, name FROM personas WHERE space_id = %(space_id)s AND folded_name = %(folded_name)s
"""

LIST_PERSONAS: Final = """
    SELECT persona_lineage_id, name FROM personas WHERE space_id = %(space_id)s ORDER BY persona_lineage_id
"""


async def read_people(tx: SpaceTransaction, user_ids: Iterable[str]) -> dict[str, Person]:
    """What is set about these people, in one statement; about whom nothing is set is there, too."""
    found: dict[str, Person] = {}
    personalised: dict[str, dict[str, bool]] = {}
    for row in await tx.fetch_all(READ_PEOPLE, {"user_ids": sorted(set(user_ids))}):
        user_id = row["user_id"]
        servers = personalised.setdefault(user_id, {})
        if row["server_id"] is not None:
            servers[row["server_id"]] = row["personalised"]
        found.setdefault(user_id, _person(row, servers))
    return found


async def list_people(tx: SpaceTransaction) -> list[Person]:
    """Everybody about whom something is set, by id."""
    ids = [row["user_id"] for row in await tx.fetch_all(LIST_PEOPLE)]
    people = await read_people(tx, ids)
    return [people[user_id] for user_id in ids]


async def set_person(
    tx: SpaceTransaction,
    user_id: str,
    *,
    name: str | None,
    aliases: Sequence[str] | None,
    privacy: Privacy | None,
    consents: bool | None,
) -> None:
    """Sets what is given, and leaves the rest as it is."""
    params = {
        "user_id": user_id,
        "name": name,
        "aliases": None if aliases is None else list(aliases),
        "privacy": None if privacy is None else privacy.value,
        "consents": consents,
    }
    await tx.execute(SET_PERSON, params)


async def set_personalised(tx: SpaceTransaction, server_id: str, user_id: str, *, personalised: bool) -> None:
    """Whether what is known of a person is used in this server."""
    params = {"server_id": server_id, "user_id": user_id, "personalised": personalised}
    await tx.execute(SET_PERSONALISED, params)


async def self_teaching_enabled(tx: SpaceTransaction, server_id: str) -> bool:
    """Whether an assistant may teach itself in this server; it may where nobody has said anything."""
    row = await tx.fetch_one(READ_SERVER, {"server_id": server_id})
    return bool(row["self_teaching_enabled"]) if row else True


async def set_server(tx: SpaceTransaction, server_id: str, *, enabled: bool) -> None:
    """Whether an assistant may teach itself in this server."""
    await tx.execute(SET_SERVER, {"server_id": server_id, "enabled": enabled})


async def make_persona(tx: SpaceTransaction, name: str, folded_name: str) -> Persona:
    """The persona of this name, with a lineage of its own; made if it isn't there, also by two at once."""
    found = await find_persona(tx, folded_name)
    if found is None:
        if await tx.execute(MAKE_PERSONA, {"name": name, "folded_name": folded_name}):
            await note(tx, "persona", touched=1)
        found = await find_persona(tx, folded_name)
        assert found is not None
    return found


async def find_persona(tx: SpaceTransaction, folded_name: str) -> Persona | None:
    row = await tx.fetch_one(FIND_PERSONA, {"folded_name": folded_name})
    return Persona(row["persona_lineage_id"], row["name"]) if row else None


async def list_personas(tx: SpaceTransaction) -> list[Persona]:
    """All personas, by lineage."""
    return [Persona(row["persona_lineage_id"], row["name"]) for row in await tx.fetch_all(LIST_PERSONAS)]


def _person(row: Mapping[str, Any], personalised: Mapping[str, bool]) -> Person:
    if row["privacy_level"] is None:
        return Person(row["user_id"], personalised=personalised)
    return Person(
        row["user_id"],
        row["name"],
        tuple(row["aliases"]),
        Privacy(row["privacy_level"]),
        row["consents"],
        personalised,
    )


async def shared_names(tx: SpaceTransaction, user_id: str, names: Sequence[str]) -> tuple[str, ...]:
    """Those of these names that somebody else bears, too, in whatever case."""
    borne = {
        fold(name)
        for row in await tx.fetch_all(OTHERS_NAMES, {"user_id": user_id})
        for name in (row["user_id"], row["name"], *row["aliases"])
        if name
    }
    return tuple(name for name in names if fold(name) in borne)
