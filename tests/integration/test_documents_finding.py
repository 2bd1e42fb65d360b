"""Documents: found where they belong and nowhere else, and never by vectors of another embedder."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from perdure.document_types import AddedStatus
from perdure.documents import any_in_scope, search
from perdure.errors import NotFound
from perdure.fact_types import Persona
from tests.doubles.embedder import CALIBRATION, HashedEmbedder
from tests.integration.conftest import open_memory
from tests.integration.documents import BREAD, FERRY, QUESTION, Planned, found

if TYPE_CHECKING:
    from perdure import Memory, Space
    from perdure.store.embedded import ServerUrls


async def test_the_threshold_comes_before_the_limit_and_exactly_at_it_counts(urls: ServerUrls) -> None:
    async with open_memory(urls, Planned(64)) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        for angle in (10, 59, 60, 61, 89):
            await space.add_document(f"{angle} degrees away", name=f"{angle}.txt")
        assert await found(space) == ["10.txt", "59.txt", "60.txt"]
        for angle in range(20, 28):
            await space.add_document(f"{angle} degrees away", name=f"{angle}.txt")
        assert await found(space) == ["10.txt", *(f"{angle}.txt" for angle in range(20, 25))]
        assert len(await found(space, limit=100)) == 11


async def test_the_threshold_is_that_of_the_embedding_family(urls: ServerUrls) -> None:
    for least, names in ((0.9, ["10.txt"]), (0.2, ["10.txt", "60.txt"])):
        family = Planned(64, f"planned-{least}", replace(CALIBRATION, document_similarity=least))
        async with open_memory(urls, family) as memory:
            space = memory.space(f"space-{secrets.token_hex(6)}")
            for angle in (10, 60, 89):
                await space.add_document(f"{angle} degrees away", name=f"{angle}.txt")
            assert await found(space) == names


async def test_what_is_only_the_nearest_is_not_found(space: Space) -> None:
    await space.add_document(BREAD * 30, name="bread.txt")
    assert await found(space) == []


SERVERS = (None, "S1", "S2")
PERSONAS = (None, Persona(10_000, "Kit"), Persona(10_001, "Nox"))
CHANNELS = (None, "c1", "c2")
AUDIENCES = (None, "family", "work")


async def test_a_document_is_found_in_its_scope_and_leaks_into_no_other(memory: Memory, urls: ServerUrls) -> None:
    """81 documents, asked for from 81 places: each is found where its four dimensions say so, and nowhere else."""
    name = f"space-{secrets.token_hex(6)}"
    scopes = [(s, p, c, a) for s in SERVERS for p in PERSONAS for c in CHANNELS for a in AUDIENCES]
    for number, (server, persona, channel, audience) in enumerate(scopes):
        space = memory.space(name, audience=audience)
        channels = [] if channel is None else [channel]
        await space.add_document(FERRY, name=f"{number}.txt", server=server, persona=persona, channels=channels)
    for server, persona, channel, audience in scopes:
        asking = memory.space(name, audience=audience)
        names = await found(asking, FERRY, server=server, persona=persona, channel=channel, limit=100)
        here = (server, persona, channel, audience)
        expected = [
            f"{number}.txt"
            for number, scope in enumerate(scopes)
            if all(one is None or one == other for one, other in zip(scope, here, strict=True))
        ]
        assert sorted(names) == sorted(expected)
        row = await memory.find_space(name)
        assert row is not None
        lineage = persona.lineage if persona else 0
        assert await any_in_scope(
            memory.resources, row, server_id=server, lineage=lineage, channel_id=channel, audience=audience
        )


async def test_documents_of_another_audience_are_not_listed_shown_replaced_or_deleted(memory: Memory) -> None:
    name = f"space-{secrets.token_hex(6)}"
    theirs = (await memory.space(name, audience="family").add_document(FERRY, name="ferry.txt")).document
    for audience in (None, "work"):
        space = memory.space(name, audience=audience)
        assert await space.documents() == ()
        for call in (
            space.document(theirs.id),
            space.delete_document(theirs.id),
            space.replace_document(theirs.id, "x"),
        ):
            with pytest.raises(NotFound):
                await call
    assert await found(memory.space(name, audience="family")) == ["ferry.txt"]


async def test_documents_of_one_space_are_nowhere_in_another(memory: Memory) -> None:
    one, other = (memory.space(f"space-{secrets.token_hex(6)}") for _ in range(2))
    added = await one.add_document(FERRY, name="ferry.txt")
    await other.add_document(BREAD, name="bread.txt")
    assert await found(other) == []
    with pytest.raises(NotFound):
        await other.document(added.document.id)


async def test_where_nothing_can_be_found_nothing_is_embedded(space: Space, embedder: HashedEmbedder) -> None:
    assert await found(space) == []
    await space.add_document(FERRY, name="ferry.txt", server="S1")
    calls = embedder.calls
    assert await found(space) == []
    assert await found(space, server="S2") == []
    assert embedder.calls == calls


async def test_a_query_is_cut_to_a_thousand_characters(space: Space) -> None:
    await space.add_document(FERRY, name="ferry.txt")
    assert await found(space, FERRY * 12 + "z" * 100_000) == ["ferry.txt"]


# --- other embedders --------------------------------------------------------------------------------------------------


async def test_after_a_change_of_the_embedder_documents_are_filled_and_no_old_vector_is_compared(
    urls: ServerUrls,
) -> None:
    name = f"space-{secrets.token_hex(6)}"
    async with open_memory(urls, HashedEmbedder()) as memory:
        parts = (await memory.space(name).add_document(FERRY * 60, name="ferry.txt")).document.parts
    async with open_memory(urls, HashedEmbedder(128)) as memory:
        space = memory.space(name)
        assert await found(space) == []
        (document,) = await space.documents()
        assert (document.parts, document.embedded) == (parts, 0)
        told: list[tuple[int, int]] = []
        assert await space.embed_documents(limit=2) == 2
        assert await space.embed_documents(progress=lambda done, total: told.append((done, total))) == parts - 2
        assert told[-1] == (parts - 2, parts - 2)
        assert await space.embed_documents() == 0
        assert set(await found(space)) == {"ferry.txt"}
    async with open_memory(urls, HashedEmbedder()) as memory:
        assert set(await found(memory.space(name))) == {"ferry.txt"}


async def test_the_same_file_handed_in_after_a_change_of_the_embedder_is_embedded_anew(urls: ServerUrls) -> None:
    name = f"space-{secrets.token_hex(6)}"
    async with open_memory(urls, HashedEmbedder()) as memory:
        await memory.space(name).add_document(FERRY * 60, name="ferry.txt")
    async with open_memory(urls, HashedEmbedder(128)) as memory:
        again = await memory.space(name).add_document(FERRY * 60, name="ferry.txt")
        assert again.status is AddedStatus.ALREADY_KNOWN
        assert again.document.embedded == again.document.parts
        assert set(await found(memory.space(name))) == {"ferry.txt"}


async def test_a_search_with_a_vector_reads_no_more_than_it_needs(space: Space, embedder: HashedEmbedder) -> None:
    await space.add_document(FERRY * 100, name="ferry.txt")
    row = await space._memory.find_space(space.name)
    assert row is not None
    (vector,) = await embedder.embed([QUESTION], "query")
    hits = await search(space._memory.resources, row, vector)
    assert len(hits) == 6
    assert list(hits) == sorted(hits, key=lambda hit: (-hit.cosine, hit.document_id, hit.position))


MAKE_OTHERS = """
    WITH others AS (
        INSERT INTO documents (space_id, server_id, persona_lineage_id, audience, name, media_type, bytes, content_hash,
                               parts, state, created_at, updated_at)
        SELECT %(space)s, 'other-' || n, 0, '', 'rules.txt', 'text/plain', 1, '\\x00', 20, 'complete', now(), now()
        FROM generate_series(1, 1000) AS n
        RETURNING id
    ), passages AS (
        INSERT INTO document_chunks (space_id, document_id, position, content, starts, ends)
        SELECT %(space)s, o.id, n, 'words', 0, 5 FROM others o, generate_series(1, 20) AS n
        RETURNING id
    )
    INSERT INTO document_vectors (space_id, family_id, chunk_id, embedding)
    SELECT %(space)s, %(family)s, p.id, v.embedding
    FROM passages p, (SELECT embedding FROM document_vectors WHERE space_id = %(space)s LIMIT 1) v
"""


async def test_documents_of_other_servers_are_not_even_looked_at(
    space: Space, urls: ServerUrls, embedder: HashedEmbedder
) -> None:
    """A thousand servers with twenty passages each, and one with a few: only those few are compared."""
    import psycopg
    from pgvector import HalfVector

    from perdure.document_types import DocumentScope
    from perdure.store.document_search import SEARCH_DOCUMENTS
    from perdure.store.documents import reach_of

    added = await space.add_document(FERRY * 100, name="ferry.txt", server="S1")
    row = await space._memory.find_space(space.name)
    assert row is not None
    resources = space._memory.resources
    with psycopg.connect(urls.owner, autocommit=True) as owner:
        owner.execute(MAKE_OTHERS, {"space": row.id, "family": resources.family.id})
    (vector,) = await embedder.embed([QUESTION], "query")
    params = {
        **reach_of(DocumentScope("S1")),
        "family_id": resources.family.id,
        "vector": HalfVector(vector),
        "channel_id": None,
        "least": 0.0,
        "limit": 6,
    }

    async def explain(tx: Any) -> dict[str, Any]:
        (plan,) = await tx.fetch_all(f"EXPLAIN (ANALYZE, FORMAT JSON) {SEARCH_DOCUMENTS}", params, prepare=False)
        top: dict[str, Any] = plan["QUERY PLAN"][0]["Plan"]
        return top

    plan = await resources.database.in_space(row.id, explain, ranks=True)
    assert max(_rows(plan)) == added.document.parts
    assert set(await found(space, server="S1")) == {"ferry.txt"}


def _rows(node: dict[str, Any]) -> list[float]:
    """How many passages and vectors each step of a plan went through."""
    looked = node.get("Relation Name") in {"document_chunks", "document_vectors"}
    own = [node["Actual Rows"] * node["Actual Loops"] + node.get("Rows Removed by Filter", 0)] if looked else []
    return [*own, *(rows for child in node.get("Plans", ()) for rows in _rows(child))]
