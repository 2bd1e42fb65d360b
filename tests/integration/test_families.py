"""Families: made once, whoever comes first, and held to their length by the database."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator

import numpy as np
import psycopg
import pytest
from pgvector import HalfVector

from perdure.clock import DatabaseClock
from perdure.errors import FamilyMismatch
from perdure.store.database import Database
from perdure.store.families import build_index, create_family, find_family, list_families
from perdure.types import Family
from tests.integration.conftest import prepares


@pytest.fixture
async def database(fresh_database) -> AsyncIterator[Database]:
    database = Database(fresh_database, DatabaseClock(), prepare=prepares())
    await database.open()
    yield database
    await database.close()


def family(dimensions: int = 8, **changes: str) -> Family:
    return Family(
        **{"name": f"family {dimensions}", "provider": "test", "model": "m", **changes}, dimensions=dimensions
    )


async def indexes(database: Database) -> set[str]:
    async with database.owner() as owner:
        rows = await owner.execute("SELECT indexname FROM pg_indexes WHERE tablename = 'memory_vectors'")
        return {row["indexname"] for row in await rows.fetchall()}


async def test_a_family_made_ten_times_at_once_is_one_family_with_one_index(database: Database) -> None:
    made = await asyncio.gather(*(create_family(database, family()) for _ in range(10)))
    assert len({stored.id for stored in made}) == 1
    assert {stored.index_name for stored in made} == {f"memory_vectors_family_{made[0].id}_hnsw"}
    assert made[0].index_name in await indexes(database)
    assert await database.across(list_families) == [made[0]]


async def test_different_families_may_be_made_at_once(database: Database) -> None:
    made = await asyncio.gather(*(create_family(database, family(n)) for n in range(8, 16)))
    assert {stored.index_name for stored in made} <= await indexes(database)


async def test_a_family_is_found_by_name(database: Database) -> None:
    stored = await create_family(database, family(query_prefix="query: "), unrelated_similarity=0.7)
    assert await database.across(lambda tx: find_family(tx, "family 8")) == stored
    assert (stored.query_prefix, stored.unrelated_similarity) == ("query: ", 0.7)
    assert await database.across(lambda tx: find_family(tx, "nobody")) is None


async def test_a_name_stands_for_one_model(database: Database) -> None:
    await create_family(database, family())
    with pytest.raises(FamilyMismatch, match="exists with m at 8 dimensions"):
        await create_family(database, family(model="another"))


async def test_an_index_can_wait_until_after_the_load(database: Database) -> None:
    stored = await create_family(database, family(), index=False)
    assert stored.index_name is None
    built = await asyncio.gather(*(build_index(database, stored) for _ in range(3)))
    assert {one.index_name for one in built} == {f"memory_vectors_family_{stored.id}_hnsw"}
    assert await database.across(lambda tx: find_family(tx, stored.name)) == built[0]


async def test_vectors_too_long_for_an_index_work_without_one(database: Database) -> None:
    stored = await create_family(database, family(4001))
    assert stored.index_name is None


async def test_the_database_refuses_vectors_of_another_length_or_norm(database: Database, fresh_database) -> None:
    stored = await create_family(database, family())
    async with await psycopg.AsyncConnection.connect(fresh_database.owner, autocommit=True) as owner:
        await owner.execute(
            "INSERT INTO memories (space_id, id, summary, search_text, source, trust)"
            " VALUES (1, 1, 'a', 'a', 'user', 'user')"
        )
        for vector in (np.ones(9) / 3, np.ones(8), np.zeros(8)):
            with pytest.raises(psycopg.errors.CheckViolation):
                await owner.execute(
                    "INSERT INTO memory_vectors (space_id, family_id, memory_id, embedding) VALUES (1, %s, 1, %s)",
                    (stored.id, HalfVector(vector).to_text()),
                )


async def test_the_application_role_cannot_make_a_family(fresh_database) -> None:
    async with await psycopg.AsyncConnection.connect(fresh_database.app, autocommit=True) as app:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await app.execute(
                "INSERT INTO families (name, provider, model, dimensions, created_at) VALUES (%s, 'p', 'm', 8, now())",
                (secrets.token_hex(4),),
            )
