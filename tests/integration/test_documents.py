"""Documents: taken in as a whole or not at all, replaced in one step, and gone on with after any interruption."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from perdure.document_types import AddedStatus, DocumentState
from perdure.errors import Conflict, EmbeddingUnavailable, InvalidInput, NotFound, ScopeFull
from perdure.fact_types import Persona
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory
from tests.integration.documents import BREAD, FERRY, QUESTION, found

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from perdure import Memory, Space
    from perdure.embedding import Kind, Matrix
    from perdure.store.embedded import ServerUrls

# --- taking in --------------------------------------------------------------------------------------------------------


async def test_a_text_is_found_as_soon_as_it_is_in(space: Space) -> None:
    added = await space.add_document(FERRY * 30, name="ferry.txt", uploaded_by="Ada")
    assert added.status is AddedStatus.ADDED
    assert added.document.state is DocumentState.COMPLETE
    assert added.document.parts == added.document.embedded > 1
    assert added.document.uploaded_by == "Ada"
    hits = await space.search_documents(QUESTION)
    assert {hit.name for hit in hits} == {"ferry.txt"}
    text = await space.document(added.document.id)
    for hit in hits:
        part = text.parts[hit.position - 1]
        assert (hit.text, hit.starts, hit.ends, hit.parts) == (part.text, part.starts, part.ends, len(text.parts))
        assert hit.similarity >= 0.4


async def test_a_file_is_read_from_its_path_under_its_own_name(space: Space, tmp_path: Path) -> None:
    path = tmp_path / "Fähre.md"
    path.write_text(f"# Ferry\n\n{FERRY}", encoding="utf-16")
    added = await space.add_document(path)
    assert (added.document.name, added.document.media_type) == ("Fähre.md", "text/markdown")
    assert added.document.size == path.stat().st_size


async def test_the_same_file_again_changes_nothing_and_embeds_nothing(space: Space, embedder: HashedEmbedder) -> None:
    first = await space.add_document(FERRY * 30, name="ferry.txt")
    calls = embedder.calls
    again = await space.add_document(FERRY * 30, name="ferry.txt")
    assert again.status is AddedStatus.ALREADY_KNOWN
    assert again.document == first.document
    assert embedder.calls == calls


async def test_the_same_file_for_other_channels_is_not_embedded_again(space: Space, embedder: HashedEmbedder) -> None:
    await space.add_document(FERRY * 30, name="ferry.txt")
    calls = embedder.calls
    changed = await space.add_document(FERRY * 30, name="ferry.txt", channels=["travel"])
    assert (changed.status, changed.document.revision) == (AddedStatus.CHANGED, 2)
    assert embedder.calls == calls
    assert await found(space) == []
    assert set(await found(space, channel="travel")) == {"ferry.txt"}


async def test_another_file_of_the_name_takes_the_place_and_the_id_of_the_one_before(space: Space) -> None:
    first = await space.add_document(FERRY * 30, name="notes.txt")
    second = await space.add_document(BREAD * 10, name="notes.txt")
    assert second.status is AddedStatus.REPLACED
    assert (second.document.id, second.document.revision) == (first.document.id, 2)
    assert second.document.created_at == first.document.created_at
    assert await found(space) == []
    assert set(await found(space, BREAD)) == {"notes.txt"}
    assert "ferry" not in "".join(part.text for part in (await space.document(first.document.id)).parts)


async def test_replacing_by_id_keeps_name_scope_and_channels(space: Space) -> None:
    before = (await space.add_document(FERRY, name="notes.txt", server="S1", channels="c1")).document
    after = (await space.replace_document(before.id, BREAD)).document
    assert (after.id, after.name, after.scope, after.channel_ids) == (
        before.id,
        before.name,
        before.scope,
        before.channel_ids,
    )
    assert await found(space, BREAD, server="S1", channel="c1") == ["notes.txt"]


async def test_a_deleted_document_leaves_no_word_and_no_vector(space: Space, urls: ServerUrls) -> None:
    import psycopg

    kept = await space.add_document(BREAD * 20, name="bread.txt")
    gone = await space.add_document(FERRY * 30, name="ferry.txt")
    assert (await space.delete_document(gone.document.id)).name == "ferry.txt"
    assert await found(space) == []
    with pytest.raises(NotFound):
        await space.document(gone.document.id)
    with pytest.raises(NotFound):
        await space.delete_document(gone.document.id)
    assert [document.name for document in await space.documents()] == ["bread.txt"]
    row = await space._memory.find_space(space.name)
    assert row is not None
    with psycopg.connect(urls.owner) as owner:
        counted = owner.execute(
            "SELECT (SELECT count(*) FROM document_chunks WHERE space_id = %(id)s),"
            " (SELECT count(*) FROM document_vectors WHERE space_id = %(id)s)",
            {"id": row.id},
        ).fetchone()
    assert counted == (kept.document.parts, kept.document.parts)


async def test_progress_tells_of_every_batch_from_nothing_to_all(space: Space) -> None:
    told: list[tuple[int, int]] = []
    added = await space.add_document(
        FERRY * 400, name="ferry.txt", progress=lambda done, total: told.append((done, total))
    )
    parts = added.document.parts
    assert parts > 32
    assert told == [(done, parts) for done in [*range(0, parts, 16), parts]]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"source": "text"}, "needs a name"),
        ({"source": b"", "name": "x.txt"}, "it is empty"),
        ({"source": 7, "name": "x.txt"}, "it has to be the path of a file"),
        ({"source": "…", "name": "x.txt"}, "there is no text in it"),
        ({"source": b"%PDF-nothing", "name": "x.pdf"}, "damaged, or no PDF"),
        ({"source": "text", "name": "x.txt", "media_type": "image/png"}, "media_type"),
        ({"source": "text", "name": "x" * 201}, "201 bytes"),
        ({"source": "text", "name": "x.txt", "server": ""}, "server"),
        ({"source": "text", "name": "x.txt", "channels": [""]}, "channels"),
        ({"source": "text", "name": "x.txt", "persona": Persona(7, "Kit")}, "lineage"),
    ],
)
async def test_what_is_refused_makes_no_space(memory: Memory, space: Space, given: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        await space.add_document(**given)
    assert await memory.find_space(space.name) is None


async def test_limits_are_settings_and_name_themselves(urls: ServerUrls, embedder: HashedEmbedder) -> None:
    limits = {"max_documents": 2, "max_document_chunks": 5, "max_document_bytes": 10_000}
    async with open_memory(urls, embedder, **limits) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        with pytest.raises(InvalidInput, match=r"more than 10,000 bytes \(setting max_document_bytes\)"):
            await space.add_document("x" * 10_001, name="big.txt")
        with pytest.raises(InvalidInput, match=r"at most 5 fit into a scope \(setting max_document_chunks\)"):
            await space.add_document(BREAD * 150, name="long.txt")
        await space.add_document(FERRY * 25, name="three.txt")
        with pytest.raises(ScopeFull, match="PERDURE_MAX_DOCUMENT_CHUNKS"):
            await space.add_document(BREAD * 35, name="more.txt")
        await space.add_document(BREAD, name="short.txt")
        with pytest.raises(ScopeFull, match="PERDURE_MAX_DOCUMENTS"):
            await space.add_document(FERRY, name="third.txt")
        # What is replaced makes room for what replaces it, and another scope is counted by itself.
        assert (await space.add_document(BREAD * 45, name="three.txt")).status is AddedStatus.REPLACED
        await space.add_document(FERRY * 25, name="three.txt", server="S1")


async def test_64_at_once_never_exceed_the_limit_of_a_scope(urls: ServerUrls, embedder: HashedEmbedder) -> None:
    async with open_memory(urls, embedder, max_documents=10) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        adding = [space.add_document(f"{FERRY} {number}", name=f"{number}.txt") for number in range(64)]
        outcomes = await asyncio.gather(*adding, return_exceptions=True)
        assert sum(isinstance(outcome, ScopeFull) for outcome in outcomes) == 54
        assert len(await space.documents()) == 10


# --- interruptions ----------------------------------------------------------------------------------------------------


async def test_a_document_whose_embedding_was_interrupted_is_not_found_and_goes_on_where_it_stopped(
    space: Space, embedder: HashedEmbedder
) -> None:
    def stop_after_two(done: int, total: int) -> None:
        embedder.outage = done >= 32

    with pytest.raises(EmbeddingUnavailable):
        await space.add_document(FERRY * 400, name="ferry.txt", progress=stop_after_two)
    (arriving,) = await space.documents()
    assert (arriving.state, arriving.embedded) == (DocumentState.ARRIVING, 32)
    embedder.outage = False
    assert await found(space) == []
    calls = embedder.calls
    added = await space.add_document(FERRY * 400, name="ferry.txt")
    assert added.status is AddedStatus.ADDED
    assert embedder.calls - calls == added.document.parts - 32
    assert set(await found(space)) == {"ferry.txt"}


async def test_what_was_there_is_found_while_its_successor_arrives(space: Space, embedder: HashedEmbedder) -> None:
    await space.add_document(FERRY * 30, name="notes.txt")
    embedder.poison = "sourdough"
    with pytest.raises(ValueError, match="poisoned"):
        await space.add_document(BREAD * 30, name="notes.txt")
    embedder.poison = None
    assert set(await found(space)) == {"notes.txt"}
    assert await found(space, BREAD) == []
    assert [document.state for document in await space.documents()] == [DocumentState.COMPLETE, DocumentState.ARRIVING]


async def test_what_arrives_and_is_deleted_meanwhile_says_so(space: Space) -> None:
    deleting: list[asyncio.Task[Any]] = []

    async def delete() -> None:
        (arriving,) = await space.documents()
        await space.delete_document(arriving.id)

    def begin(done: int, total: int) -> None:
        if not deleting:
            deleting.append(asyncio.create_task(delete()))

    class Slow(HashedEmbedder):
        async def embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
            await asyncio.gather(*deleting)
            return await super().embed(texts, kind)

    slow = Slow()
    space._memory._resources = replace(space._memory.resources, embedder=slow)
    with pytest.raises(Conflict, match="deleted while it arrived"):
        await space.add_document(FERRY * 30, name="ferry.txt", progress=begin)
    assert await space.documents() == ()


async def test_what_was_left_half_arrived_for_a_day_makes_room(
    urls: ServerUrls, embedder: HashedEmbedder, noon: Any
) -> None:
    from datetime import timedelta

    async with open_memory(urls, embedder, clock=noon, max_documents=1) as memory:
        space = memory.space(f"space-{secrets.token_hex(6)}")
        embedder.outage = True
        with pytest.raises(EmbeddingUnavailable):
            await space.add_document(FERRY, name="ferry.txt")
        embedder.outage = False
        with pytest.raises(ScopeFull):
            await space.add_document(BREAD, name="bread.txt")
        noon.advance(timedelta(days=1, seconds=1))
        await space.add_document(BREAD, name="bread.txt")
        assert [document.name for document in await space.documents()] == ["bread.txt"]


async def test_two_who_hand_in_the_same_file_share_the_work(urls: ServerUrls) -> None:
    embedders = HashedEmbedder(), HashedEmbedder()
    name = f"space-{secrets.token_hex(6)}"
    async with open_memory(urls, embedders[0]) as first, open_memory(urls, embedders[1]) as second:
        outcomes = await asyncio.gather(
            *(memory.space(name).add_document(FERRY * 400, name="ferry.txt") for memory in (first, second))
        )
        assert {outcome.status for outcome in outcomes} == {AddedStatus.ADDED, AddedStatus.ALREADY_KNOWN}
        (document,) = await first.space(name).documents()
        assert (document.revision, document.embedded) == (1, document.parts)


async def test_of_two_files_of_one_name_handed_in_at_once_one_is_left_as_a_whole(urls: ServerUrls) -> None:
    texts = FERRY * 100, BREAD * 100
    name = f"space-{secrets.token_hex(6)}"
    async with open_memory(urls, HashedEmbedder()) as first, open_memory(urls, HashedEmbedder()) as second:
        outcomes = await asyncio.gather(
            *(
                memory.space(name).add_document(text, name="notes.txt")
                for memory, text in zip((first, second), texts, strict=True)
            )
        )
        assert sorted(outcome.status for outcome in outcomes) == [AddedStatus.ADDED, AddedStatus.REPLACED]
        space = first.space(name)
        (document,) = await space.documents()
        said = "".join(part.text for part in (await space.document(document.id)).parts)
        assert ("ferry" in said) != ("sourdough" in said)


async def test_a_search_sees_the_old_document_or_the_new_one_and_never_a_mixture(space: Space) -> None:
    both = FERRY + BREAD
    await space.add_document("".join(f"old {both}" for _ in range(60)), name="notes.txt")
    done = False

    async def replacing() -> None:
        nonlocal done
        for number in range(6):
            word = "new" if number % 2 == 0 else "old"
            await space.add_document("".join(f"{word} {both}" for _ in range(60 + number)), name="notes.txt")
        done = True

    async def searching() -> int:
        looked = 0
        while not done:
            hits = await space.search_documents(both)
            assert len(hits) == 6, "for a moment nothing was found"
            assert len({"new" in hit.text for hit in hits}) == 1
            assert len({hit.parts for hit in hits}) == 1
            looked += 1
        return looked

    _, looked = await asyncio.gather(replacing(), searching())
    assert looked > 5
