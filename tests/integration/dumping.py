"""All that a database holds, as `pg_dump --data-only` writes it: every table that its catalogue knows."""

from __future__ import annotations

from psycopg import sql

from perdure import Memory

TABLES = """
    SELECT c.relname AS name FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 1
"""
OF_SPACES = """
    SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'space_id'
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 1
"""


async def dump(memory: Memory) -> dict[str, str]:
    """By table its rows in the text format of COPY."""
    found = {}
    async with memory.resources.database.owner() as owner:
        for row in await (await owner.execute(TABLES)).fetchall():
            statement = sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(row["name"]))
            async with owner.cursor() as cursor, cursor.copy(statement) as copy:
                found[row["name"]] = b"".join([bytes(part) async for part in copy]).decode()
    assert {"memories", "spaces", "pending_triage", "personal_memories"} <= found.keys()
    return found


async def tables_with(memory: Memory, word: str) -> list[str]:
    """Tables in which a word stands, in any case, also within bytes that are written in hexadecimal."""
    spelled = {word.casefold(), word.encode().hex()}
    tables = await dump(memory)
    return sorted(name for name, rows in tables.items() if any(each in rows.casefold() for each in spelled))


async def rows_of(memory: Memory, space_id: int) -> dict[str, int]:
    """How many rows each table of spaces holds of one space."""
    found = {}
    async with memory.resources.database.owner() as owner:
        for row in await (await owner.execute(OF_SPACES)).fetchall():
            query = sql.SQL("SELECT count(*) AS n FROM {} WHERE space_id = {}").format(
                sql.Identifier(row["name"]), sql.Literal(space_id)
            )
            counted = await (await owner.execute(query)).fetchone()
            assert counted is not None
            found[row["name"]] = int(counted["n"])
    return found
