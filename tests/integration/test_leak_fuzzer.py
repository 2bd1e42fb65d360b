"""Three tenants do what they like through every door, and nothing of one is ever told to another.

PERDURE_FUZZ_SEED repeats a run; the seed of one that fails stands in its message.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import httpx
import psycopg
import pytest

from perdure import Memory, SpaceRefused
from tests.doubles.chat_server import ChatServer, Request, Say, serving
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory
from tests.integration.http_server import served
from tests.integration.leaks import (
    Call,
    CommandLine,
    Door,
    Library,
    Mcp,
    Proxy,
    Rest,
    Tenant,
    Told,
    reaching,
    reading,
    writing,
)

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls

SMALL, LARGE = 30, 1500
"""Rounds; in each of them every tenant does something, all at once."""
LOGGERS = ("perdure", "uvicorn.error", "uvicorn.asgi", "mcp.server", "mcp.shared", "fastapi", "psycopg")
"""Of a server. That of uvicorn's requests is off, except that pytest listens to loggers that are off."""
TABLES = """
    SELECT c.relname, a.attnum IS NOT NULL FROM pg_class c
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'space_id' AND NOT a.attisdropped
    WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
"""


class Run:
    """Tenants, doors, and everything that was told by anybody."""

    def __init__(self, seed: int, database: ServerUrls, chat: ChatServer, log: pytest.LogCaptureFixture) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.tenants = [Tenant.of(number, self.random) for number in range(3)]
        self.doors: list[Door] = []
        self.prying = 0.0
        """How much more often than else they knock at each other's spaces."""
        self.used: Counter[str] = Counter()
        self._database = database
        self._chat = chat
        self._log = log
        self._address = ""

    async def open(self, stack: AsyncExitStack) -> None:
        database, models = self._database, {"thinker_url": self._chat.url, "subagent_url": self._chat.url}
        operator = await stack.enter_async_context(open_memory(database, HashedEmbedder(), **models))
        for tenant in self.tenants:
            _, tenant.token = await operator.create_key(tenant.space, scopes="admin", spaces=tenant.space)
        _, self._operator = await operator.create_key(f"operator-{self.seed}", scopes="admin")
        self._bound: dict[int, Memory] = {
            tenant.number: await stack.enter_async_context(
                open_memory(database, HashedEmbedder(), spaces=tenant.space, relevance_gate=False, **models)
            )
            for tenant in self.tenants
        }
        server = served(database, proxy_url=self._chat.url, relevance_gate=False, serve_rate="none", **models)
        self._address = await stack.enter_async_context(server)
        self.doors = [
            Library(self._bound),
            Rest(self._address),
            Proxy(self._address),
            Mcp(self._address),
            CommandLine(),
        ]

    async def round(self) -> None:
        await asyncio.gather(*(self._act(tenant) for tenant in self.tenants))
        self._look_at_prompts()
        self._look_at_logs()

    async def _act(self, tenant: Tenant) -> None:
        kind = self.random.random() if self.random.random() >= self.prying else 1.0
        others = [other for other in self.tenants if other is not tenant]
        if kind < 0.4:
            await self._do(tenant, writing(tenant, self.random))
        elif kind < 0.75:
            await self._do(tenant, reading(self.random))
        elif kind < 0.92:
            other = self.random.choice(others)
            call = reaching(tenant, other, self.random)
            if call is not None:
                await self._do(tenant, call)
        else:
            # The command line is the operator's: it reaches every space.
            other, call = self.random.choice(others), reading(self.random)
            await self._do(tenant, call, space=other.space)

    async def _do(self, tenant: Tenant, call: Call, space: str | None = None) -> None:
        able = [door for door in self.doors if door.offers(call.verb)]
        if space is not None:
            able = [door for door in able if door.name != "cli"]
        if call.kwargs:
            able = [door for door in able if door.name != "cli"]
        if not able:
            return
        door = self.random.choice(able)
        self.used[door.name] += 1
        told = await door.call(tenant, call, space)
        self._look_at(tenant, door, call, told)
        if told.value is not None and call.after is not None:
            call.after(told.value)

    # -- what may not be ---------------------------------------------------------------------------------------------

    def _look_at(self, tenant: Tenant, door: Door, call: Call, told: Told) -> None:
        for other in self.tenants:
            if other is not tenant:
                assert other.canary not in told.text.lower(), self._why(f"{call.verb} through {door.name}: {told.text}")

    def _look_at_prompts(self) -> None:
        for request in self._chat.requests:
            seen = self._canaries(json.dumps(request.body))
            assert len(seen) <= 1, self._why(f"one prompt holds the words of tenants {seen}")
        self._chat.requests.clear()

    def _look_at_logs(self) -> None:
        for record in self._log.records:
            if record.name.startswith(LOGGERS):
                assert not self._canaries(record.getMessage()), self._why(f"{record.name}: {record.getMessage()}")
        self._log.clear()

    async def look_at_the_end(self, folder: Path) -> None:
        await self._look_at_exports(folder)
        await self._look_at_metrics()
        await self._look_at_database()
        await self._look_at_audit()
        for tenant in self.tenants:
            for door in self.doors:
                if door.offers("stats"):
                    await self._count(tenant, door)
            for memory_id, text in list(tenant.texts.items())[:20]:
                told = await self.doors[0].call(tenant, Call("get", (memory_id,)))
                assert told.value is not None, self._why(f"memory {memory_id} is gone: {told.text}")
                assert told.value.summary == text, self._why(f"memory {memory_id} was changed")

    async def _count(self, tenant: Tenant, door: Door) -> None:
        told = await door.call(tenant, Call("stats"))
        number = told.value["memories"] if isinstance(told.value, dict) else told.value.memories
        async with await psycopg.AsyncConnection.connect(self._database.owner) as connection:
            found = await connection.execute(
                "SELECT count(*) FROM memories m JOIN spaces s ON s.id = m.space_id WHERE s.name = %s", [tenant.space]
            )
            assert (await found.fetchone()) == (number,), self._why(f"{door.name} counts memories of others")

    async def _look_at_exports(self, folder: Path) -> None:
        """A tenant carries off its own space and no other's; what it carries off holds its own words."""
        for tenant, memory in zip(self.tenants, self._bound.values(), strict=True):
            file = folder / f"{tenant.space}.jsonl"
            await memory.export_space(tenant.space, file, vectors=True)
            assert self._canaries(file.read_text()) == {tenant.number}, self._why("an export")
            others = [other.space for other in self.tenants if other is not tenant]
            for space in others:
                with pytest.raises(SpaceRefused):
                    await memory.export_space(space, folder / "never")
        assert not (folder / "never").exists()

    async def _look_at_metrics(self) -> None:
        headers = {"Authorization": f"Bearer {self._operator}"}
        async with httpx.AsyncClient(base_url=self._address, headers=headers) as client:
            for path in ("/metrics", "/v1/workers", "/livez", "/readyz", "/openapi.json"):
                answer = await client.get(path)
                assert not self._canaries(answer.text), self._why(path)

    async def _look_at_audit(self) -> None:
        """Whoever came through a network came by the key of the tenant; every door was used for a change."""
        query = "SELECT s.name, a.door, a.actor FROM audit_log a JOIN spaces s ON s.id = a.space_id"
        async with await psycopg.AsyncConnection.connect(self._database.owner) as connection:
            rows = await (await connection.execute(query)).fetchall()
        own = {tenant.space for tenant in self.tenants}
        remote = [(space, actor) for space, door, actor in rows if door in {"rest", "mcp", "proxy"} and space in own]
        assert remote
        assert [each for each in remote if each[0] != each[1]] == [], self._why("the audit log names another key")
        assert {door for _, door, _ in rows} <= {door.name for door in self.doors}, self._why("an unknown door")

    async def _look_at_database(self) -> None:
        """Rows of a space hold the words of its tenant alone; those of the audit log, and of no space, hold none."""
        ids = {tenant.number: tenant for tenant in self.tenants}
        async with await psycopg.AsyncConnection.connect(self._database.owner) as connection:
            names = await (await connection.execute("SELECT id, name FROM spaces")).fetchall()
            owners = {i: each.number for i, name in names for each in ids.values() if each.space == name}
            for table, of_a_space in await (await connection.execute(TABLES)).fetchall():
                place = "t.space_id" if of_a_space else "NULL::bigint"
                rows = await connection.execute(f"SELECT {place}, row_to_json(t)::text FROM {table} t")
                for space_id, text in await rows.fetchall():
                    allowed = set() if table == "audit_log" else {owners.get(space_id)} - {None}
                    assert self._canaries(text) <= allowed, self._why(f"{table}: {text}")

    def _canaries(self, text: str) -> set[int]:
        lower = text.lower()
        return {tenant.number for tenant in self.tenants if tenant.canary in lower}

    def _why(self, what: str) -> str:
        return f"PERDURE_FUZZ_SEED={self.seed}: {what[:2000]}"


def repeat(request: Request) -> Say | None:
    """The proxy's model says its whole prompt again; the models of memory answer as always."""
    return None if request.site else Say(json.dumps(request.body["messages"]))


@pytest.fixture(scope="module")
def command_line(own_database: ServerUrls) -> Iterator[None]:
    """`perdure` in this process, on the database and with the embedder of the test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("perdure.memory.configured_embedder", lambda settings: HashedEmbedder())
        patch.setenv("PERDURE_DATABASE_URL", own_database.app)
        patch.setenv("PERDURE_DATABASE_WORKER_URL", own_database.worker)
        yield


@pytest.fixture
async def run(own_database: ServerUrls, command_line: None, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Run]:
    for name in LOGGERS:
        caplog.set_level(logging.DEBUG, name)
    seed = int(os.environ.get("PERDURE_FUZZ_SEED") or secrets.randbelow(10**9))
    with serving() as chat:
        chat.answer("", repeat)
        async with AsyncExitStack() as stack:
            run = Run(seed, own_database, chat, caplog)
            await run.open(stack)
            yield run


async def rounds(run: Run, number: int) -> None:
    for _ in range(number):
        await run.round()


async def live(run: Run, number: int, folder: Path) -> None:
    print(f"PERDURE_FUZZ_SEED={run.seed}")
    await rounds(run, number)
    await run.look_at_the_end(folder)
    assert set(run.used) == {door.name for door in run.doors}, run.used
    assert all(tenant.said for tenant in run.tenants)


async def test_nothing_of_one_tenant_is_told_to_another_through_any_door(run: Run, tmp_path: Path) -> None:
    await live(run, SMALL, tmp_path)


async def test_a_leak_is_noticed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that doesn't look whose space it is would be found out within a few rounds."""
    monkeypatch.setattr("perdure.serve.caller.Caller.require_space", lambda caller, name: None)
    run.doors, run.prying = [door for door in run.doors if door.name == "rest"], 1.0
    for tenant in run.tenants:
        await run.doors[0].call(tenant, Call("save", (tenant.words(run.random),)))
    with pytest.raises(AssertionError, match="PERDURE_FUZZ_SEED"):
        await rounds(run, SMALL)


@pytest.mark.long
async def test_nothing_of_one_tenant_is_told_to_another_in_a_long_life(run: Run, tmp_path: Path) -> None:
    await live(run, LARGE, tmp_path)
