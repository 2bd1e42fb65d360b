"""REST as a client without our library sees it: plain HTTP, JSON and problems."""

from __future__ import annotations

import asyncio
import math
import secrets
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from psycopg.types.json import Jsonb

from perdure import AsyncClient
from perdure.store.cognition import record_run
from perdure.store.database import SpaceTransaction
from perdure.store.embedded import ServerUrls
from perdure.store.failed import RECORD_FAILURE
from perdure.wire import written
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory
from tests.integration.http_server import served

PEANUTS = "Ada is allergic to peanuts"
NO_PAGE = written(["2026-01-01T00:00:00Z", math.inf])


@pytest.fixture(scope="module")
async def address(urls: ServerUrls) -> AsyncIterator[str]:
    async with served(urls, HashedEmbedder(), relevance_gate=False) as address:
        yield address


@pytest.fixture
async def http(address: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=address, timeout=30) as http:
        yield http


@pytest.fixture
def space() -> str:
    return f"/v1/spaces/space-{secrets.token_hex(6)}"


def is_problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told: dict[str, Any] = answer.json()
    assert (told["status"], told["code"], told["type"]) == (status, code, f"urn:perdure:error:{code}")
    return told


async def test_a_turn_over_plain_http(http: httpx.AsyncClient, space: str) -> None:
    saved = await http.post(f"{space}/memories", json={"text": PEANUTS, "salience": 9})
    assert (saved.status_code, saved.json()["status"]) == (201, "stored")
    recall = (await http.post(f"{space}/recall", json={"message": "Is Ada allergic to peanuts?"})).json()
    assert [hit["memory"]["summary"] for hit in recall["memories"]] == [PEANUTS]
    ids = [hit["memory"]["id"] for hit in recall["memories"]]
    assert all(isinstance(each, str) for each in ids)
    captured = await http.post(f"{space}/capture", json={"user": "I moved to Lima", "recall": ids})
    assert (captured.status_code, captured.json()["status"]) == (202, "pending")
    assert (await http.get(f"{space}/stats")).json()["pending"] == 1


async def test_an_operation_id_makes_a_request_safe_to_repeat(http: httpx.AsyncClient, space: str) -> None:
    first = await http.post(f"{space}/memories", json={"text": PEANUTS}, headers={"Idempotency-Key": "one"})
    again = await http.post(f"{space}/memories", json={"text": PEANUTS, "operation_id": "one"})
    assert first.json() == again.json()
    other = await http.post(f"{space}/memories", json={"text": "Something else", "operation_id": "one"})
    is_problem(other, 409, "conflict")
    named = {"text": "Ben swims", "operation_id": None}
    third = await http.post(f"{space}/memories", json=named, headers={"Idempotency-Key": "three"})
    again = await http.post(f"{space}/memories", json=named, headers={"Idempotency-Key": "three"})
    assert third.json() == again.json()
    at_once = await asyncio.gather(
        *(
            http.post(f"{space}/memories", json={"text": "Said once"}, headers={"Idempotency-Key": "two"})
            for _ in range(8)
        )
    )
    assert len({answer.text for answer in at_once}) == 1


async def test_pages_stay_put_while_memories_come_and_go(http: httpx.AsyncClient, space: str) -> None:
    for number in range(9):
        text = {"text": f"Fact number {number}", "source_date": f"2026-01-0{number + 1}"}
        await http.post(f"{space}/memories", json=text)
    seen: list[str] = []
    cursor: str | None = None
    for page in range(5):
        query = {"limit": "2"} | ({} if cursor is None else {"cursor": cursor})
        got = (await http.get(f"{space}/memories", params=query)).json()
        seen += [item["summary"] for item in got["items"]]
        cursor = got["next"]
        await http.post(f"{space}/memories", json={"text": f"Newer {page}", "source_date": "2026-02-01"})
        if page == 1:
            await http.post(f"{space}/memories/forget", json={"ids": [got["items"][-1]["id"]]})
    assert seen == [f"Fact number {number}" for number in range(8, -1, -1)]
    assert cursor is None


async def test_pages_of_facts_follow_each_other(http: httpx.AsyncClient, space: str) -> None:
    for number in range(5):
        await http.post(f"{space}/facts", json={"fact": f"Fact number {number}"})
    first = (await http.get(f"{space}/facts", params={"limit": 3})).json()
    await http.post(f"{space}/facts", json={"fact": "A newer one"})
    rest = (await http.get(f"{space}/facts", params={"limit": 3, "cursor": first["next"]})).json()
    listed = [item["fact"]["content"] for item in (*first["items"], *rest["items"])]
    assert listed == [f"Fact number {number}" for number in range(4, -1, -1)]
    assert rest["next"] is None


@pytest.mark.parametrize(("path", "rising"), [("failed", True), ("cognition/runs", False)])
async def test_every_page_of_a_long_list_can_be_reached_and_stays_put(
    *, http: httpx.AsyncClient, urls: ServerUrls, space: str, path: str, rising: bool
) -> None:
    name = space.rpartition("/")[2]

    async def add(tx: SpaceTransaction) -> int:
        if rising:
            given_up = {"op_type": "triage", "label": "exchange", "error": "broken", "context": Jsonb({})}
            made = await tx.fetch_one(RECORD_FAILURE, given_up)
            assert made is not None
            return int(made["id"])
        return await record_run(tx, "episodes", "asked", began_at=tx.now, status="nothing", told="")

    async with open_memory(urls, HashedEmbedder()) as memory:

        async def more(count: int) -> list[str]:
            row = await memory.ensure_space(name)
            return [str(await memory.resources.database.in_space(row.id, add)) for _ in range(count)]

        there = await more(5)
        seen: list[str] = []
        query: dict[str, str] = {"limit": "2"}
        while True:
            page = (await http.get(f"{space}/{path}", params=query)).json()
            seen += [item["id"] for item in page["items"]]
            if page["next"] is None:
                break
            if not rising:
                await more(1)
            query["cursor"] = page["next"]
        assert seen == (there if rising else there[::-1])
        async with AsyncClient(str(http.base_url)) as client:
            verb = getattr(client.space(name), "failed" if rising else "cognition_runs")
            end = {"after" if rising else "before": int(there[2])}
            assert [str(each.id) for each in await verb(**end)] == (there[3:] if rising else there[1::-1])
    is_problem(await http.get(f"{space}/{path}", params={"cursor": written(["x"])}), 422, "invalid_input")


@pytest.mark.parametrize(
    ("method", "path", "sent", "field"),
    [
        ("POST", "/memories", {"json": {"text": ""}}, "text"),
        ("POST", "/memories", {"json": {}}, "text"),
        ("POST", "/memories", {"json": {"text": "x", "salience": 0}}, "salience"),
        ("POST", "/memories", {"json": {"text": "x", "colour": "red"}}, "colour"),
        ("POST", "/memories", {"json": {"text": 5}}, "text"),
        ("POST", "/memories", {"json": ["x"]}, "body"),
        ("POST", "/memories", {"content": b"{"}, "body"),
        ("POST", "/memories", {"content": b'{"text": "\xff"}'}, "body"),
        ("POST", "/memories", {"content": b'{"col\\ud800our": 1}'}, "col"),
        ("POST", "/memories?colour=red", {"json": {"text": "x"}}, "colour"),
        ("POST", "/memories", {"json": {"text": "a\u0000b"}}, None),
        ("POST", "/recall", {"json": {"message": "x", "limit": 0}}, "limit"),
        ("POST", "/recall", {"json": {"message": "x", "history": "no"}}, "history"),
        ("POST", "/capture", {"json": {"user": "x", "recall": {"id": 1}}}, "recall"),
        ("POST", "/context", {"json": {"message": "x", "state": {"speaker": 5}}}, "state.speaker"),
        ("POST", "/facts/create", {"json": {"state": {}, "arguments": {}, "winners": ["x"]}}, "winners"),
        ("POST", "/feedback", {"json": {"ids": "5"}}, None),
        ("POST", "/documents", {"json": {"name": "x.txt"}}, "text"),
        ("POST", "/documents", {"json": {"name": "x.txt", "base64": "!"}}, "base64"),
        ("GET", "/memories?limit=no", {}, "limit"),
        ("GET", "/memories?limit=0", {}, "limit"),
        ("GET", "/memories?cursor=no", {}, "cursor"),
        ("GET", f"/memories?cursor={NO_PAGE}", {}, "cursor"),
        ("GET", "/memories?metadata=no", {}, "metadata"),
        ("GET", "/memories?since=2026-13-01", {}, "since"),
        ("GET", "/memories/x", {}, None),
        ("GET", "/facts/x", {}, None),
    ],
)
async def test_bad_input_names_the_field_and_writes_nothing(
    *, http: httpx.AsyncClient, space: str, method: str, path: str, sent: dict[str, Any], field: str | None
) -> None:
    answer = await http.request(method, f"{space}{path}", **sent)
    if path in {"/memories/x", "/facts/x"} and answer.status_code == 404:
        is_problem(answer, 404, "not_found")
    elif field is None and answer.status_code == 201:
        pass  # NUL is cleaned away, as the library does
    else:
        told = is_problem(answer, 422, "invalid_input")
        if field is not None:
            assert told["field"].startswith(field)
            assert told["limit"]
    spaces = (await http.get("/v1/spaces", params={"limit": 1000})).json()["items"]
    there = any(f"/v1/spaces/{each['name']}" == space for each in spaces)
    assert there == (answer.status_code == 201)


async def test_bad_input_of_what_concerns_all_spaces_is_told_in_the_same_way(http: httpx.AsyncClient) -> None:
    for query in ("limit=no", "limit=0", "colour=red", "cursor=no"):
        told = is_problem(await http.get(f"/v1/spaces?{query}"), 422, "invalid_input")
        assert told["field"] == query.partition("=")[0]


async def test_what_is_not_there_is_a_problem_too(http: httpx.AsyncClient, space: str) -> None:
    is_problem(await http.get(f"{space}/stats"), 404, "not_found")
    is_problem(await http.get("/v1/nothing"), 404, "no_such_route")
    is_problem(await http.get(f"{space}/memories/"), 404, "no_such_route")
    is_problem(await http.put("/livez"), 405, "no_such_method")


async def test_names_in_paths_may_hold_anything(http: httpx.AsyncClient) -> None:
    for name in ("telegram%2F42", "50%25", "%E6%9D%B1%E4%BA%AC", "a%20b", "%F0%9F%98%80"):
        space = f"/v1/spaces/{secrets.token_hex(4)}{name}"
        assert (await http.post(f"{space}/memories", json={"text": PEANUTS})).status_code == 201
        assert len((await http.get(f"{space}/memories")).json()["items"]) == 1


async def test_alive_and_ready_are_told_apart(http: httpx.AsyncClient) -> None:
    assert (await http.get("/livez")).json() == {"status": "alive"}
    assert (await http.get("/readyz")).json() == {"status": "ready"}
    assert [(await http.head(path)).status_code for path in ("/livez", "/readyz")] == [200, 200]


async def test_a_database_that_is_away_is_not_ready_and_says_when_to_come_back(
    urls: ServerUrls, monkeypatch: pytest.MonkeyPatch
) -> None:
    from perdure.errors import DatabaseUnavailable
    from perdure.store.database import Database

    async def away(*args: object, **kwargs: object) -> None:
        raise DatabaseUnavailable("The database could not be reached.", hint="Repeat it.")

    async with served(urls) as address, httpx.AsyncClient(base_url=address) as http:
        monkeypatch.setattr(Database, "across", away)
        monkeypatch.setattr(Database, "in_space", away)
        assert (await http.get("/livez")).status_code == 200
        is_problem(await http.get("/readyz"), 503, "database_unavailable")
        monkeypatch.undo()
        assert (await http.get("/readyz")).status_code == 200


async def test_what_goes_wrong_inside_is_told_without_a_word_of_it(
    urls: ServerUrls, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from perdure.space import Space

    async def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("canary-4711")

    async with served(urls) as address, httpx.AsyncClient(base_url=address) as http:
        monkeypatch.setattr(Space, "search", broken)
        answer = await http.post("/v1/spaces/x/search", json={"query": "canary-4712"})
        is_problem(answer, 500, "internal")
    assert "canary" not in answer.text
    assert "canary" not in caplog.text
    assert "/v1/spaces/{space}/search" in caplog.text
