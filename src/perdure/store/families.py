"""Embedding families: the row, the check on the length of its vectors, and its index.

Only the owner connection may make them. Every step is idempotent and safe when two processes take it at once: they
queue up on the family's row.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np
import numpy.typing as npt
from psycopg import sql

from perdure.errors import FamilyMismatch
from perdure.store.crossing import BUILD_MEMORY
from perdure.store.database import Connection, Database, Transaction
from perdure.types import Family

MAX_INDEXED_DIMENSIONS: Final = 4000
"""pgvector's HNSW indexes halfvec up to 4,000 dimensions; a longer family works without an index."""

INSERT_FAMILY: Final = """
    INSERT INTO families (name, provider, model, dimensions, query_prefix, document_prefix, unrelated_similarity,
                          unrelated_spread, created_at)
    VALUES (%(name)s, %(provider)s, %(model)s, %(dimensions)s, %(query_prefix)s, %(document_prefix)s,
            %(unrelated_similarity)s, %(unrelated_spread)s, %(now)s)
    ON CONFLICT (name) DO NOTHING
"""

FIND_FAMILY: Final = """
    SELECT id, name, provider, model, dimensions, query_prefix, document_prefix, unrelated_similarity,
           unrelated_spread, index_name
    FROM families WHERE name = %(name)s
"""

READ_FAMILY: Final = """
    SELECT id, name, provider, model, dimensions, query_prefix, document_prefix, unrelated_similarity,
           unrelated_spread, index_name
    FROM families WHERE id = %(id)s
"""

LIST_FAMILIES: Final = """
    SELECT id, name, provider, model, dimensions, query_prefix, document_prefix, unrelated_similarity,
           unrelated_spread, index_name
    FROM families ORDER BY id
"""

LOCK_FAMILY: Final = """
    SELECT id FROM families WHERE id = %(id)s FOR UPDATE
"""

FIND_CHECK: Final = """
    SELECT 1 AS found FROM pg_catalog.pg_constraint
    WHERE conname = %(name)s AND conrelid = 'memory_vectors'::regclass
"""

ADD_CHECK: Final = """
    ALTER TABLE memory_vectors ADD CONSTRAINT {name}
        CHECK (family_id <> {id} OR vector_dims(embedding) = {dimensions}) NOT VALID
"""

DATABASE_TIME: Final = """
    SELECT now() AS now
"""

SET_BUILD_MEMORY: Final = """
    SET LOCAL maintenance_work_mem = {kilobytes}
"""

CREATE_INDEX: Final = """
    CREATE INDEX IF NOT EXISTS {name} ON memory_vectors
        USING hnsw ((embedding::halfvec({dimensions})) halfvec_cosine_ops) WHERE family_id = {id}
"""

NAME_INDEX: Final = """
    UPDATE families SET index_name = %(index_name)s WHERE id = %(id)s
"""


READ_SAMPLE_TURNS: Final = """
    SELECT sample_turns FROM families WHERE id = %(id)s AND sample_turns_digest = %(digest)s
"""

KEEP_SAMPLE_TURNS: Final = """
    UPDATE families SET sample_turns = %(vectors)s, sample_turns_digest = %(digest)s WHERE id = %(id)s
"""

IDENTITY: Final = ("name", "provider", "model", "dimensions", "query_prefix", "document_prefix")
"""What has to be the same for two embeddings to be comparable."""


@dataclass(frozen=True, slots=True)
class StoredFamily:
    """A family as the database knows it.

    `unrelated_similarity` and `unrelated_spread` are mean and standard deviation of the cosine similarity of unrelated
    texts (0 and 0: not calibrated). `index_name` is None while the family has no index.
    """

    id: int
    name: str
    provider: str
    model: str
    dimensions: int
    query_prefix: str = ""
    document_prefix: str = ""
    unrelated_similarity: float = 0.0
    unrelated_spread: float = 0.0
    index_name: str | None = None

    def require(self, asked: Family) -> None:
        """Raises FamilyMismatch where `asked` has this name and is another model, length or prefix."""
        if any(getattr(self, field) != getattr(asked, field) for field in IDENTITY):
            raise FamilyMismatch(
                f"The embedding family {self.name!r} exists with {self.model} at {self.dimensions} dimensions.",
                hint=f"Give the family of {asked.model} at {asked.dimensions} dimensions another name.",
            )


async def create_family(
    database: Database,
    family: Family,
    *,
    unrelated_similarity: float = 0.0,
    unrelated_spread: float = 0.0,
    index: bool = True,
) -> StoredFamily:
    """The family of this name, made with its length check and index if it is not there.

    With `index=False` the index waits for `build_index`, which is faster after a large import into an empty family.
    Raises FamilyMismatch when the name is taken by a family of another model or length.
    """
    now = database.clock.now()
    async with database.owner() as owner:
        if now is None:
            row = await (await owner.execute(DATABASE_TIME)).fetchone()
            assert row is not None
            now = row["now"]
        stored = await _insert(owner, family, unrelated_similarity, unrelated_spread, now)
        await _check_length(owner, stored)
        if index:
            stored = await _build_index(owner, stored)
    return stored


async def build_index(database: Database, family: StoredFamily) -> StoredFamily:
    """Makes the family's index if it has none. Writers of vectors wait until it stands; readers don't."""
    async with database.owner() as owner:
        return await _build_index(owner, family)


async def find_family(tx: Transaction, name: str) -> StoredFamily | None:
    row = await tx.fetch_one(FIND_FAMILY, {"name": name})
    return StoredFamily(**row) if row else None


async def list_families(tx: Transaction) -> list[StoredFamily]:
    return [StoredFamily(**row) for row in await tx.fetch_all(LIST_FAMILIES)]


class SampleTurnShelf:
    """Keeps the embedded sample turns of one family, in half precision, for all processes and spaces."""

    def __init__(self, database: Database, family: StoredFamily) -> None:
        self._database, self._family = database, family

    async def read(self, digest: str) -> npt.NDArray[np.float32] | None:
        """The vectors of the turns that `digest` names, one a row; None where these aren't kept."""

        async def read(tx: Transaction) -> npt.NDArray[np.float32] | None:
            row = await tx.fetch_one(READ_SAMPLE_TURNS, {"id": self._family.id, "digest": digest})
            if row is None or len(row["sample_turns"]) % (2 * self._family.dimensions):
                return None
            found = np.frombuffer(row["sample_turns"], np.float16).astype(np.float32)
            return found.reshape(-1, self._family.dimensions)

        return await self._database.across(read)

    async def keep(self, digest: str, vectors: npt.NDArray[np.float32]) -> None:
        kept = vectors.astype(np.float16).tobytes()

        async def write(tx: Transaction) -> None:
            await tx.execute(KEEP_SAMPLE_TURNS, {"id": self._family.id, "digest": digest, "vectors": kept})

        await self._database.across(write)


async def _insert(
    owner: Connection, family: Family, unrelated_similarity: float, unrelated_spread: float, now: datetime
) -> StoredFamily:
    asked = {field: getattr(family, field) for field in IDENTITY}
    calibration = {"unrelated_similarity": unrelated_similarity, "unrelated_spread": unrelated_spread}
    await owner.execute(INSERT_FAMILY, {**asked, **calibration, "now": now.astimezone(UTC)})
    row = await (await owner.execute(FIND_FAMILY, {"name": family.name})).fetchone()
    assert row is not None
    stored = StoredFamily(**row)
    stored.require(family)
    return stored


async def _check_length(owner: Connection, family: StoredFamily) -> None:
    name = f"memory_vectors_family_{family.id}"
    async with owner.transaction():
        await owner.execute(LOCK_FAMILY, {"id": family.id})
        if await (await owner.execute(FIND_CHECK, {"name": name})).fetchone():
            return
        statement = sql.SQL(ADD_CHECK).format(
            name=sql.Identifier(name), id=sql.Literal(family.id), dimensions=sql.Literal(family.dimensions)
        )
        await owner.execute(statement)


async def _build_index(owner: Connection, family: StoredFamily) -> StoredFamily:
    if family.dimensions > MAX_INDEXED_DIMENSIONS:
        return family
    name = f"memory_vectors_family_{family.id}_hnsw"
    slots = {"name": sql.Identifier(name), "id": sql.Literal(family.id), "dimensions": sql.Literal(family.dimensions)}
    async with owner.transaction():
        await owner.execute(LOCK_FAMILY, {"id": family.id})
        row = await (await owner.execute(READ_FAMILY, {"id": family.id})).fetchone()
        assert row is not None
        if row["index_name"] is None:
            memory = await (await owner.execute(sql.SQL(BUILD_MEMORY).format(**slots))).fetchone()
            assert memory is not None
            await owner.execute(sql.SQL(SET_BUILD_MEMORY).format(kilobytes=sql.Literal(memory["kilobytes"])))
            await owner.execute(sql.SQL(CREATE_INDEX).format(**slots))
            await owner.execute(NAME_INDEX, {"id": family.id, "index_name": name})
    return StoredFamily(**{**row, "index_name": name})
