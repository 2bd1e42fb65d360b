"""Spaces don't leak, audiences don't leak, and the database itself sees to it."""

from __future__ import annotations

import secrets

import psycopg
import pytest

from perdure import (
    ConfigurationError,
    DatabaseUnavailable,
    FamilyMismatch,
    InvalidInput,
    Memory,
    NotFound,
    Space,
    SpaceRefused,
)
from perdure.space_items import SpaceItems
from perdure.space_sessions import SpaceSessions
from perdure.store.database import DatabaseUrls, SpaceTransaction
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory

SPACE_TABLES = """
    SELECT c.relname AS name, c.relrowsecurity AS secured,
           (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid) AS policies
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'space_id'
    WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
"""


async def test_every_table_of_a_space_has_row_level_security_and_a_policy(urls) -> None:
    async with await psycopg.AsyncConnection.connect(urls.owner) as connection:
        rows = await (await connection.execute(SPACE_TABLES)).fetchall()
    assert len(rows) >= 14
    assert [name for name, secured, policies in rows if not secured or not policies] == []


OUTSIDE = {"spaces", "families", "workers", "perdure_migrations", "api_keys", "admin_log"}
"""Tables that belong to no space; whatever else is made needs a space_id and a policy."""

EVERY_TABLE = """
    SELECT c.relname AS name, a.attnum IS NOT NULL AS of_a_space, c.relrowsecurity AS secured,
           ARRAY(
               SELECT pg_get_expr(p.polqual, c.oid) || ' / ' || coalesce(pg_get_expr(p.polwithcheck, c.oid), '')
               FROM pg_policy p
               WHERE p.polrelid = c.oid AND 'perdure_app'::regrole = ANY (p.polroles)) AS policies
    FROM pg_class c
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'space_id' AND NOT a.attisdropped
    WHERE c.relkind IN ('r', 'p', 'm', 'v', 'f') AND c.relnamespace = 'public'::regnamespace
"""
BOUND = "(space_id = (NULLIF(current_setting('perdure.space_id'::text, true), ''::text))::bigint)"


async def test_every_table_of_the_catalogue_is_bound_to_a_space_or_is_known_to_belong_to_none(urls) -> None:
    async with await psycopg.AsyncConnection.connect(urls.owner) as connection:
        rows = await (await connection.execute(EVERY_TABLE)).fetchall()
    assert {name for name, of_a_space, *_ in rows if not of_a_space} == OUTSIDE
    for name, of_a_space, secured, policies in rows:
        if of_a_space:
            assert secured, name
            assert policies == [f"{BOUND} / {BOUND}"], name


async def test_raw_statements_of_the_application_reach_one_space_in_every_table(memory: Memory, urls) -> None:
    mine, theirs = (memory.space(f"raw-{secrets.token_hex(4)}") for _ in range(2))
    for each in (mine, theirs):
        await each.save("The lamp is in the attic", tags=["lamp"], speaker="Ada")
        await each.capture(user="The lamp is broken")
        await each.remember("Ada owns a lamp")
        await each.set_person("u1", name="Ada")
        await each.persona("Momo")
        await each.set_server("guild", self_teaching_enabled=True)
        await each.add_document(b"All about lamps.", name="lamps.txt")
        await each.set_task("mend the lamp")
        await SpaceItems.of(each).put(("lamps",), "attic", {"works": False}, words=["the lamp in the attic"])
        await SpaceSessions.of(each).add("chat", [{"role": "user", "content": "mend the lamp"}])
    my_row, their_row = [await memory.find_space(space.name) for space in (mine, theirs)]
    async with await psycopg.AsyncConnection.connect(urls.app, autocommit=True) as connection:
        rows = await (await connection.execute(SPACE_TABLES)).fetchall()
        filled = set()
        for name, *_ in rows:
            async with connection.transaction():
                await connection.execute(f"SET LOCAL perdure.space_id = '{my_row.id}'")
                seen = await (await connection.execute(f"SELECT DISTINCT space_id FROM {name}")).fetchall()
                gone = await connection.execute(f"DELETE FROM {name} WHERE space_id = %s", [their_row.id])
            assert {space_id for (space_id,) in seen} <= {my_row.id}, name
            assert gone.rowcount == 0, name
            filled.update([name] if seen else [])
    assert len(filled) >= 21, sorted(filled)
    assert (await theirs.stats()).memories == 1


async def test_a_memory_opened_for_one_space_reaches_no_other(urls, embedder: HashedEmbedder, memory: Memory) -> None:
    mine, theirs = f"bound-{secrets.token_hex(4)}", f"free-{secrets.token_hex(4)}"
    await memory.space(theirs).save("The vault code is 9137")
    async with open_memory(urls, embedder, spaces=mine) as bound:
        stored = await bound.space(mine).save("My own words")
        assert (await bound.space(mine).get(*stored.ids)).summary == "My own words"
        assert [space.name for space in await bound.spaces()] == [mine]
        for name in (theirs, "nobody-made-this", mine.upper(), f"{mine}-2"):
            with pytest.raises(SpaceRefused) as refused:
                bound.space(name)
            for look in (bound.find_space(name), bound.ensure_space(name), bound.audit(name)):
                with pytest.raises(SpaceRefused) as again:
                    await look
                assert again.value.message == refused.value.message
        for call in (bound.keys(), bound.create_key("k"), bound.revoke_key("k"), bound.audit(), bound.worker_status()):
            with pytest.raises(SpaceRefused):
                await call
    assert await memory.find_space("nobody-made-this") is None


async def test_a_memory_for_some_spaces_runs_no_worker(urls, embedder: HashedEmbedder) -> None:
    async with open_memory(urls, embedder, worker=True, spaces=("a", "b")) as bound:
        assert bound._worker is None
    with pytest.raises(InvalidInput, match="spaces"):
        open_memory(urls, embedder, spaces=())


async def test_the_application_role_sees_nothing_without_its_space(memory: Memory, space: Space, urls) -> None:
    await space.save("only in this space")
    await space.capture(user="waiting in this space")
    async with await psycopg.AsyncConnection.connect(urls.app, autocommit=True) as connection:
        names = [row[0] for row in await (await connection.execute(SPACE_TABLES)).fetchall()]
        for state in ("fresh", "used"):
            for name in names:
                count = await (await connection.execute(f"SELECT count(*) FROM {name}")).fetchone()
                assert count == (0,), f"{name} on a {state} connection"
            async with connection.transaction():
                await connection.execute("SET LOCAL perdure.space_id = '1'")


async def test_the_application_role_can_neither_read_nor_write_another_space(memory: Memory) -> None:
    mine, theirs = (memory.space(f"iso-{secrets.token_hex(4)}") for _ in range(2))
    await mine.save("mine alone")
    await theirs.save("theirs alone")
    my_row, their_row = [await memory.find_space(space.name) for space in (mine, theirs)]

    async def peek(tx: SpaceTransaction) -> object:
        return await tx.fetch_all("SELECT summary FROM memories WHERE space_id = %(other)s", {"other": their_row.id})

    async def poke(tx: SpaceTransaction) -> object:
        return await tx.execute(
            "UPDATE memory_state SET salience = 1 WHERE space_id = %(other)s", {"other": their_row.id}
        )

    async def smuggle(tx: SpaceTransaction) -> object:
        return await tx.execute(
            "INSERT INTO space_counts (space_id, kind, key, n) VALUES (%(other)s, 'term', 'x', 1)",
            {"other": their_row.id},
        )

    database = memory.resources.database
    assert await database.in_space(my_row.id, peek) == []
    assert await database.in_space(my_row.id, poke) == 0
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await database.in_space(my_row.id, smuggle)


async def test_the_worker_role_finds_work_but_reads_no_content(space: Space, urls) -> None:
    await space.capture(user="private words")
    async with await psycopg.AsyncConnection.connect(urls.worker, autocommit=True) as connection:
        row = await (await connection.execute("SELECT count(space_id) FROM pending_triage")).fetchone()
        assert row is not None
        assert row[0] >= 1
        for statement in ("SELECT payload FROM pending_triage", "SELECT summary FROM memories"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await connection.execute(statement)


@pytest.mark.parametrize("place", ["app", "worker"])
@pytest.mark.parametrize("role", ["owner", "superuser", "the other"])
async def test_a_url_of_another_role_is_refused_for_serving(urls, test_server, place: str, role: str) -> None:
    database = psycopg.conninfo.conninfo_to_dict(urls.owner)["dbname"]
    wrong, why = {
        "owner": (urls.owner, "owns the tables"),
        "superuser": (psycopg.conninfo.make_conninfo(test_server.server_url, dbname=database), "is a superuser"),
        "the other": (urls.worker if place == "app" else urls.app, f"is not perdure_{place}"),
    }[role]
    chosen = DatabaseUrls(**{"app": urls.app, "worker": urls.worker, "owner": urls.owner} | {place: wrong})
    with pytest.raises(ConfigurationError, match=why):
        await open_memory(chosen, HashedEmbedder())


async def test_a_worker_that_cannot_log_in_is_found_out_at_opening(urls, embedder: HashedEmbedder) -> None:
    worker = psycopg.conninfo.make_conninfo(urls.worker, user="perdure_nobody")
    memory = Memory.open(
        database_url=urls.app,
        database_worker_url=worker,
        database_timeout_s=1,
        embedder=embedder,
        worker=False,
    )
    with pytest.raises(DatabaseUnavailable, match="PERDURE_DATABASE_WORKER_URL"):
        await memory


async def test_search_list_and_get_stay_inside_their_space(memory: Memory) -> None:
    mine, theirs = (memory.space(f"iso-{secrets.token_hex(4)}") for _ in range(2))
    stored = await theirs.save("The vault code is 9137")
    await mine.save("A film about whales")
    assert [hit.memory.summary for hit in (await mine.search("vault code 9137")).hits] == ["A film about whales"]
    assert (await mine.recall("What is the vault code 9137?")).memories == ()
    for call in (mine.get(stored.ids[0]), mine.forget(stored.ids[0]), mine.pin(stored.ids[0])):
        with pytest.raises(NotFound):
            await call
    assert (await theirs.get(stored.ids[0])).summary == "The vault code is 9137"


@pytest.mark.parametrize("exact", [True, False])
async def test_what_was_told_in_private_is_never_found_in_a_group(memory: Memory, space: Space, exact: bool) -> None:
    private = memory.space(space.name, audience="private:ada")
    group = memory.space(space.name, audience="group:42")
    secret = await private.save("Ada is planning a surprise party in the barn")
    await group.save("The group likes the barn")
    await space.save("The barn is red")

    async def found(where: Space) -> set[str]:
        return {hit.memory.summary for hit in (await where.search("surprise party barn", exact=exact)).hits}

    assert await found(private) == {"Ada is planning a surprise party in the barn", "The barn is red"}
    assert await found(group) == {"The group likes the barn", "The barn is red"}
    assert await found(space) == {"The barn is red"}
    for other in (group, space):
        assert all("surprise" not in m.summary for m in await other.list())
        recall = await other.recall("Is there a surprise party in the barn?")
        assert "surprise" not in recall.tail
        with pytest.raises(NotFound):
            await other.get(secret.ids[0])
        with pytest.raises(NotFound):
            await other.forget(secret.ids[0])


async def test_an_exchange_waiting_in_one_audience_is_not_shown_to_another(memory: Memory, space: Space) -> None:
    private = memory.space(space.name, audience="private:ada")
    await private.capture(user="The surprise party is on Friday")
    assert (await private.recall("When is the surprise party?")).pending
    assert (await space.recall("When is the surprise party?")).pending == ()


async def test_the_same_words_for_two_audiences_are_two_memories(memory: Memory, space: Space) -> None:
    await memory.space(space.name, audience="a").save("same words")
    await memory.space(space.name, audience="b").save("same words")
    stats = await space.stats()
    assert stats.memories == 2


async def test_another_embedding_model_is_refused_for_a_space_that_has_memories(
    memory: Memory, space: Space, urls
) -> None:
    await space.save("made with the first model")
    async with open_memory(urls, HashedEmbedder(32, name="another")) as other:
        same = other.space(space.name)
        with pytest.raises(FamilyMismatch, match="hashed-256"):
            await same.save("made with the second")
        with pytest.raises(FamilyMismatch):
            await same.search("model")
        recall = await same.recall("which model?")
        assert recall.memories == ()
        assert recall.degraded
        fresh = other.space(f"{space.name}-fresh")
        await fresh.save("a space of its own is fine")
        assert (await fresh.stats()).family == "another-32"
