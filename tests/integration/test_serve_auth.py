"""Who is let in by the server: nobody from elsewhere without a key, nobody with a wrong one, nobody beyond theirs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from perdure import ConfigurationError, Memory
from tests.doubles.chat_server import ChatServer, Say
from tests.doubles.clock import SkippingClock
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory
from tests.integration.http_server import listening, served

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls

REMEMBERED = timedelta(seconds=5)
"""How long a server may go on with what it knows of a key."""
EVERY_DOOR = (
    ("GET", "/v1/spaces"),
    ("GET", "/v1/workers"),
    ("GET", "/v1/spaces/ada/memories"),
    ("POST", "/v1/spaces/ada/memories"),
    ("DELETE", "/v1/spaces/ada/memories/1"),
    ("POST", "/v1/chat/completions"),
    ("GET", "/v1/models"),
    ("POST", "/mcp"),
    ("GET", "/metrics"),
    ("GET", "/no/such/path"),
)


class Served:
    """A server on a database that has keys, and the memory by which they are made."""

    def __init__(self, address: str, keys: Memory, tokens: dict[str, str]) -> None:
        self.address = address
        self.keys = keys
        self.tokens = tokens

    def as_(self, name: str | None, **headers: str) -> httpx.AsyncClient:
        token = {} if name is None else {"Authorization": f"Bearer {self.tokens.get(name, name)}"}
        return httpx.AsyncClient(base_url=self.address, headers={**token, **headers})


@pytest.fixture(scope="module")
async def keyed(own_database: ServerUrls) -> AsyncIterator[Served]:
    async with open_memory(own_database, HashedEmbedder()) as keys:
        tokens = {
            name: (await keys.create_key(name, scopes=scope, spaces=spaces))[1]
            for name, scope, spaces in (
                ("reader", "read", None),
                ("writer", "write", None),
                ("admin", "admin", None),
                ("ada", "admin", ["ada"]),
            )
        }
        await keys.space("ada").save("Ada likes pears")
        await keys.space("ben").save("Ben likes plums")
        limits = {"serve_origins": "https://app.example", "serve_body_bytes": 4096, "serve_rate": 6, "serve_burst": 50}
        async with served(own_database, **limits) as address:
            yield Served(address, keys, tokens)


async def ask(client: httpx.AsyncClient, method: str, path: str, **more: Any) -> httpx.Response:
    async with client:
        return await client.request(method, path, **more)


# -- without keys ------------------------------------------------------------------------------------------------------


async def test_without_keys_this_machine_is_let_in_and_nobody_else(fresh_database: ServerUrls) -> None:
    async with served(fresh_database) as address, httpx.AsyncClient(base_url=address) as client:
        assert (await client.get("/v1/spaces")).status_code == 200
        port = address.rpartition(":")[2]
        for host in (f"localhost:{port}", f"127.0.0.1:{port}", "127.0.0.1", f"[::1]:{port}"):
            assert (await client.get("/v1/spaces", headers={"Host": host})).status_code == 200, host
        refused: list[dict[str, str]] = [
            {"Host": f"evil.example:{port}"},
            {"Host": "127.0.0.1.evil.example"},
            {"Host": ""},
            {"Host": "[::1"},
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Origin": "http://localhost:1"},
            {"X-Forwarded-For": "203.0.113.5"},
        ]
        for headers in refused:
            answer = await client.post("/v1/spaces/ada/memories", headers=headers, json={"text": "Planted"})
            assert answer.status_code in {400, 403}, headers
            if answer.status_code == 403:
                assert answer.json()["code"] == "forbidden"
        assert (await client.get("/v1/spaces")).json()["items"] == []


async def test_an_address_that_others_reach_is_refused_until_there_is_a_key(fresh_database: ServerUrls) -> None:
    from perdure.serve.app import create_app
    from perdure.serve.running import run

    stop = asyncio.Event()
    started: list[str] = []

    async def start() -> None:
        def ready(address: str) -> None:
            started.append(address)
            stop.set()

        app = create_app(lambda: open_memory(fresh_database, HashedEmbedder()))
        await run(app, "0.0.0.0", 0, ready, stop=stop)

    with pytest.raises(ConfigurationError, match="perdure keys create"):
        await start()
    assert started == []
    async with open_memory(fresh_database, HashedEmbedder()) as memory:
        await memory.create_key("first")
    await start()
    assert len(started) == 1


async def test_the_first_key_closes_a_running_server_and_revoking_it_does_not_open_it(
    fresh_database: ServerUrls, noon: SkippingClock
) -> None:
    from perdure.serve.app import create_app

    app = create_app(lambda: open_memory(fresh_database, HashedEmbedder(), clock=noon))
    async with listening(app) as address, httpx.AsyncClient(base_url=address) as client:
        assert (await client.get("/v1/spaces")).status_code == 200
        await app.state.memory.create_key("first")
        await app.state.memory.revoke_key("first")
        noon.advance(REMEMBERED)
        assert (await client.get("/v1/spaces")).status_code == 401


# -- with keys ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "path"), EVERY_DOOR)
async def test_no_door_opens_without_a_key(keyed: Served, method: str, path: str) -> None:
    for token in (None, "wrong", keyed.tokens["admin"][:-1], "perdure_0000000000_" + "A" * 43):
        answer = await ask(keyed.as_(token), method, path, json={})
        assert answer.status_code == 401
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.json()["code"] == "unauthenticated"
        assert "wrong" not in answer.text


async def test_whether_the_server_is_up_is_told_to_anybody(keyed: Served) -> None:
    for path in ("/livez", "/readyz", "/openapi.json", "/docs"):
        assert (await ask(keyed.as_(None), "GET", path)).status_code == 200


async def test_a_key_is_taken_from_either_header(keyed: Served) -> None:
    assert (await ask(keyed.as_("reader"), "GET", "/v1/spaces")).status_code == 200
    by_name = keyed.as_(None, **{"X-API-Key": keyed.tokens["reader"]})
    assert (await ask(by_name, "GET", "/v1/spaces")).status_code == 200
    both = keyed.as_("of-another-server", **{"X-API-Key": keyed.tokens["reader"]})
    assert (await ask(both, "GET", "/v1/spaces")).status_code == 200


@pytest.mark.parametrize(("name", "reads", "writes", "runs"), [
    ("reader", 200, 403, 403), ("writer", 200, 201, 403), ("admin", 200, 201, 200), ("ada", 200, 201, 403),
])  # fmt: skip
async def test_a_key_may_do_what_its_scope_says(keyed: Served, name: str, reads: int, writes: int, runs: int) -> None:
    assert (await ask(keyed.as_(name), "GET", "/v1/spaces/ada/memories")).status_code == reads
    saved = await ask(keyed.as_(name), "POST", "/v1/spaces/ada/memories", json={"text": f"Told by {name}"})
    assert saved.status_code == writes
    assert (await ask(keyed.as_(name), "GET", "/v1/workers")).status_code == runs


async def test_a_foreign_space_answers_the_same_whether_it_is_there_or_not(keyed: Served) -> None:
    for method, path, body in (
        ("GET", "memories", None),
        ("POST", "memories", {"text": "Planted"}),
        ("POST", "search", {"query": "plums"}),
        ("GET", "memories/1", None),
        ("PATCH", "memories/1", {"pinned": True}),
        ("GET", "stats", None),
    ):
        there, nowhere = [
            await ask(keyed.as_("ada"), method, f"/v1/spaces/{space}/{path}", json=body) for space in ("ben", "nobody")
        ]
        assert (there.status_code, there.content) == (nowhere.status_code, nowhere.content)
        assert there.status_code == 403
        for answer in (there, nowhere):
            del answer.headers["date"], answer.headers["x-request-id"]
        assert there.headers == nowhere.headers
    listed = (await ask(keyed.as_("ada"), "GET", "/v1/spaces")).json()["items"]
    assert [space["name"] for space in listed] == ["ada"]
    assert await keyed.keys.find_space("nobody") is None
    assert (await keyed.keys.space("ben").stats()).memories == 1


async def test_the_audit_log_names_the_key_and_the_door(keyed: Served) -> None:
    await ask(keyed.as_("writer"), "POST", "/v1/spaces/eve/memories", json={"text": "Eve likes figs"})
    (entry,) = await keyed.keys.audit("eve")
    assert (entry.actor, entry.door, entry.kind, entry.touched) == ("writer", "rest", "save", 1)


async def test_a_rotated_key_works_on_in_both_forms_and_a_revoked_one_ends_within_seconds(
    fresh_database: ServerUrls, noon: SkippingClock
) -> None:
    from perdure.serve.app import create_app

    app = create_app(lambda: open_memory(fresh_database, HashedEmbedder(), clock=noon))
    async with listening(app) as address, httpx.AsyncClient(base_url=address) as client:
        memory: Memory = app.state.memory
        _, first = await memory.create_key("k")

        async def status(token: str) -> int:
            return (await client.get("/v1/spaces", headers={"Authorization": f"Bearer {token}"})).status_code

        assert await status(first) == 200
        _, second = await memory.rotate_key("k")
        assert [await status(first), await status(second)] == [200, 200]
        await memory.revoke_key("k")
        noon.advance(REMEMBERED)
        assert [await status(first), await status(second)] == [401, 401]


# -- limits ------------------------------------------------------------------------------------------------------------


async def test_a_body_that_is_too_long_is_refused_before_it_is_read(keyed: Served) -> None:
    answer = await ask(keyed.as_("writer"), "POST", "/v1/spaces/big/memories", json={"text": "x" * 5000})
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        yield b'{"text": "'
        for _ in range(10_000):
            sent += 1000
            yield b"x" * 1000
            await asyncio.sleep(0)

    async with keyed.as_("writer", **{"Content-Type": "application/json"}) as client:
        try:
            streamed = await client.post("/v1/spaces/big/memories", content=endless())
            assert streamed.status_code == 413
        except httpx.TransportError:
            pass  # the server hung up while we were still sending
    assert sent < 10_000_000
    assert await keyed.keys.find_space("big") is None
    fits = await ask(keyed.as_("writer"), "POST", "/v1/spaces/ada/memories", json={"text": "x" * 3000})
    assert fits.status_code == 201


async def test_a_key_that_asks_too_much_is_told_when_it_may_again_and_others_are_not_held_up(keyed: Served) -> None:
    _, token = await keyed.keys.create_key("eager")
    async with keyed.as_(token) as client:
        answers = [await client.get("/v1/spaces") for _ in range(60)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert 5 <= len(refused) <= 10
    assert refused[-1].json()["code"] == "too_many_requests"
    assert 1 <= int(refused[-1].headers["retry-after"]) <= 10
    assert (await ask(keyed.as_("admin"), "GET", "/v1/spaces")).status_code == 200


async def test_pages_of_named_origins_may_ask_and_no_others(keyed: Served) -> None:
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    for origin, allowed in (("https://app.example", True), ("https://evil.example", False)):
        first = await ask(keyed.as_(None), "OPTIONS", "/v1/spaces", headers={"Origin": origin, **preflight})
        then = await ask(keyed.as_("reader"), "GET", "/v1/spaces", headers={"Origin": origin})
        for answer in (first, then):
            assert (answer.headers.get("access-control-allow-origin") == origin) is allowed


async def test_without_named_origins_no_page_may_ask(fresh_database: ServerUrls) -> None:
    async with served(fresh_database) as address, httpx.AsyncClient(base_url=address) as client:
        for origin in ("https://app.example", "null", "*"):
            answer = await client.options("/v1/spaces", headers={"Origin": origin})
            assert "access-control-allow-origin" not in answer.headers


async def test_a_key_never_goes_on_to_the_model(fresh_database: ServerUrls, chat: ChatServer) -> None:
    chat.answer("", Say("Hello"))
    async with open_memory(fresh_database, HashedEmbedder()) as memory:
        _, token = await memory.create_key("chatter", spaces=["ada"])
    ours, theirs = f"Bearer {token}", "Bearer of-the-model"
    sent: list[str | None] = []
    async with served(fresh_database, proxy_url=chat.url) as address, httpx.AsyncClient(base_url=address) as client:
        for headers in (
            {"Authorization": ours},
            {"X-API-Key": token},
            {"X-API-Key": token, "Authorization": theirs},
            {"X-API-Key": token, "Authorization": ours},
        ):
            body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
            answer = await client.post("/v1/chat/completions", headers=headers, json=body)
            assert answer.status_code == 200
            received = chat.requests[-1].headers
            assert token not in str(received)
            sent.append(received.get("authorization"))
    assert sent == [None, None, theirs, None]


async def test_no_answer_of_the_guard_tells_a_key(keyed: Served, caplog: pytest.LogCaptureFixture) -> None:
    token = keyed.tokens["reader"]
    answers = [
        await ask(keyed.as_("reader"), "POST", "/v1/spaces/ada/memories", json={"text": "Hello"}),
        await ask(keyed.as_(token + "x"), "GET", "/v1/spaces"),
        await ask(keyed.as_("reader"), "GET", "/v1/spaces/ada/memories/999999"),
    ]
    told = json.dumps([[answer.text, dict(answer.headers)] for answer in answers]) + caplog.text
    assert token.split("_", 2)[2] not in told
