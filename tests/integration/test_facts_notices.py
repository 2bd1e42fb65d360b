"""A change is committed, then what was rendered is let go, then others are told; and telling can't fail the change."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import psycopg
import pytest

from perdure import Memory, Space
from perdure.errors import ConfigurationError
from perdure.fact_types import FactNotice, FactStatus
from perdure.ltm import rendered
from perdure.store.embedded import ServerUrls
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory
from tests.integration.test_facts_create import TURN, about_server


@asynccontextmanager
async def telling(urls: ServerUrls, notifier: object = None, **settings: object) -> AsyncIterator[Space]:
    async with open_memory(urls, HashedEmbedder(), notifier=notifier, **settings) as memory:
        yield memory.space(f"space-{secrets.token_hex(6)}")


async def teach(space: Space, content: str = "Chess on Mondays") -> FactStatus:
    return (await space.create_long_term_memory(TURN, about_server(content))).status


async def test_who_is_told_finds_it_committed_and_nothing_stale(
    urls: ServerUrls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen from a second connection, which sees only what is committed."""
    order: list[str] = []
    notices: list[FactNotice] = []
    let_go = rendered.invalidate

    async def committed(content: str) -> bool:
        async with await psycopg.AsyncConnection.connect(urls.owner) as other:
            found = await other.execute("SELECT content FROM server_memories WHERE content = %s", (content,))
            return await found.fetchone() is not None

    async def hear(notice: FactNotice) -> None:
        notices.append(notice)
        order.append(f"told, {'committed' if await committed(notice.content) else 'gone'}")

    with monkeypatch.context() as patched, psycopg.connect(urls.owner, autocommit=True) as watcher:

        def invalidate(resources: object, space_id: int, scope: object) -> None:
            row = watcher.execute("SELECT count(*) FROM server_memories WHERE space_id = %s", (space_id,)).fetchone()
            order.append(f"let go of {row[0] if row else None}")
            let_go(resources, space_id, scope)  # type: ignore[arg-type]

        patched.setattr(rendered, "invalidate", invalidate)
        async with telling(urls, hear) as space:
            content = f"Chess on Mondays {secrets.token_hex(4)}"
            created = await space.create_long_term_memory(TURN, about_server(content))
            memory_id = str(created.id)
            await space.update_long_term_memory(TURN, {"memory_id": memory_id, "memory_content": f"No {content}"})
            await space.pin_fact(memory_id)
            await space.pin_fact(memory_id, pinned=False)
            await space.update_long_term_memory(TURN, {"memory_id": memory_id, "memory_content": ""})
            await space.restore_fact(memory_id)
            await space.forget_fact(memory_id)
    assert order == [
        *("let go of 1", "told, committed") * 4,
        *("let go of 0", "told, gone"),
        *("let go of 1", "told, committed"),
        *("let go of 0", "told, gone"),
    ]
    assert [notice.action for notice in notices] == [
        "created",
        "updated",
        "pinned",
        "unpinned",
        "deleted",
        "restored",
        "forgotten",
    ]
    assert {notice.id for notice in notices} == {created.id}
    assert notices[0].changed_by == "assistant for u-ada"
    assert notices[2].changed_by == "user"
    assert notices[-1].content == "", "what is forgotten is told to nobody"


async def test_what_fails_or_changes_nothing_is_told_to_nobody(urls: ServerUrls) -> None:
    notices: list[FactNotice] = []
    async with telling(urls, notices.append) as space:
        assert await teach(space) is FactStatus.SAVED
        assert await teach(space) is FactStatus.ALREADY_KNOWN
        assert await teach(space, "") is FactStatus.BLANK_CONTENT
        await space.edit_fact(notices[0].id, content="Chess on Mondays")
    assert len(notices) == 1


@pytest.mark.parametrize("way", ["raises", "hangs", "blocks"])
async def test_a_notice_that_fails_fails_nothing_else(
    urls: ServerUrls, way: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("perdure.ltm.publishing.NOTIFYING_S", 0.2)
    stop = Event()

    async def fail(notice: FactNotice) -> None:
        if way == "hangs":
            await asyncio.sleep(60)
        raise RuntimeError(f"can't take {notice.content}")

    def block(notice: FactNotice) -> None:
        stop.wait(60)

    try:
        async with telling(urls, block if way == "blocks" else fail) as space:
            began = time.monotonic()
            assert await teach(space) is FactStatus.SAVED
            assert time.monotonic() - began < 5
            assert len(await space.facts()) == 1
    finally:
        stop.set()
    assert "was not taken" in caplog.text
    assert "Chess" not in caplog.text


async def test_the_log_tells_of_a_change_and_holds_no_word_of_it(
    urls: ServerUrls, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "perdure.facts"):
        async with telling(urls, notice_log=True) as space:
            await teach(space)
            await space.remember("Ada naps", about="person:u-ada")
    lines = [record.getMessage() for record in caplog.records if record.name == "perdure.facts"]
    assert len(lines) == 2
    assert "was created" in lines[0]
    assert not any(word in line for line in lines for word in ("Chess", "naps", "u-ada", "guild"))


class Webhook(ThreadingHTTPServer):
    """An address that notes what it is sent."""

    daemon_threads = True

    def __init__(self, status: int, hangs: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Hook)
        self.status = status
        self.hangs = hangs
        self.received: list[dict[str, object]] = []
        self.keys: list[str | None] = []
        self.stop = Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/facts"


class _Hook(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.received.append(json.loads(body))
        self.server.keys.append(self.headers.get("authorization"))
        if self.server.hangs:
            self.server.stop.wait(30)
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def listening(status: int = 204, *, hangs: bool = False) -> Iterator[Webhook]:
    server = Webhook(status, hangs)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop.set()
        server.shutdown()
        server.server_close()


async def test_an_address_hears_of_changes_in_their_order(urls: ServerUrls) -> None:
    with listening() as hook:
        async with telling(urls, notice_url=hook.url, notice_key="sesame") as space:
            for number in range(5):
                await teach(space, f"fact {number}")
    assert [sent["content"] for sent in hook.received] == [f"fact {number}" for number in range(5)], "closing waits"
    assert set(hook.keys) == {"Bearer sesame"}
    first = hook.received[0]
    assert first["space"] == space.name
    assert first["action"] == "created"
    assert str(first["id"]).startswith("S")
    assert first["scope"] == {"kind": "server", "owner": "guild", "lineage": 10_007}
    assert first["replaced"] is None


async def test_a_memory_that_is_opened_again_tells_again(urls: ServerUrls) -> None:
    with listening() as hook:
        memory = open_memory(urls, HashedEmbedder(), notice_url=hook.url)
        for number in range(2):
            async with memory:
                await teach(memory.space("opened-twice"), f"fact {number} {secrets.token_hex(4)}")
    assert len(hook.received) == 2


async def test_notices_that_pile_up_are_let_go_and_hold_up_nothing(
    urls: ServerUrls, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("perdure.ltm.notices.MOST_WAITING", 2)
    with listening(hangs=True) as hook:
        async with telling(urls, notice_url=hook.url, notice_timeout_s=1) as space:
            for number in range(8):
                assert await teach(space, f"fact {number}") is FactStatus.SAVED
            assert len(await space.facts()) == 8
    assert "too many wait" in caplog.text


@pytest.mark.parametrize("way", ["refuses", "hangs", "nobody"])
async def test_an_address_that_fails_is_logged_and_keeps_nobody_waiting(
    urls: ServerUrls, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    with listening(500, hangs=way == "hangs") as hook:
        url = "http://127.0.0.1:9/facts" if way == "nobody" else hook.url
        async with telling(urls, notice_url=url, notice_timeout_s=0.3) as space:
            began = time.monotonic()
            assert await teach(space) is FactStatus.SAVED
            assert await teach(space, "other") is FactStatus.SAVED
            assert time.monotonic() - began < 3
            await asyncio.sleep(1.2)
    assert caplog.text.count("was not taken by the webhook") == 2
    assert "Chess" not in caplog.text


async def test_every_one_is_told_even_if_another_fails(urls: ServerUrls) -> None:
    def fail(notice: FactNotice) -> None:
        raise RuntimeError

    with listening() as hook:
        async with telling(urls, fail, notice_url=hook.url, notice_log=True) as space:
            assert await teach(space) is FactStatus.SAVED
    assert len(hook.received) == 1


def test_an_address_that_is_none_is_refused_when_opening() -> None:
    for url in ("ftp://example.org", "example.org", "http://"):
        with pytest.raises(ConfigurationError, match="PERDURE_NOTICE_URL"):
            Memory.open(notice_url=url)


def test_a_notifier_that_is_none_is_refused_when_opening() -> None:
    with pytest.raises(ConfigurationError, match="notifier is a str"):
        Memory.open(notifier="print")  # type: ignore[arg-type]
