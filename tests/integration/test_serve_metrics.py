"""What can be seen of a server: metrics, traces and logs, and no word of any memory in them."""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from perdure.serve.app import create_app
from perdure.serve.logs import JsonLines
from perdure.serve.metrics import Metrics
from perdure.serve.tracing import Tracing
from perdure.store.embedded import ServerUrls
from tests.doubles.chat_server import ChatServer
from tests.doubles.embedder import HashedEmbedder
from tests.integration.conftest import open_memory
from tests.integration.http_server import listening

CANARY = "canary4711"
PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


@pytest.fixture
def app(urls: ServerUrls, chat: ChatServer) -> FastAPI:
    return create_app(lambda: open_memory(urls, HashedEmbedder(), thinker_url=chat.url, subagent_url=chat.url))


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with listening(app) as address, httpx.AsyncClient(base_url=address, timeout=30) as http:
        yield http


@pytest.fixture
def space() -> str:
    return f"/v1/spaces/{CANARY}-{secrets.token_hex(6)}"


async def live(http: httpx.AsyncClient, space: str) -> None:
    """A bit of everything."""
    await http.post(f"{space}/memories", json={"text": f"Ada owns a {CANARY}", "tags": [CANARY]})
    await http.post(f"{space}/recall", json={"message": f"What is the {CANARY} of Ada?"})
    await http.post(f"{space}/recall", json={"message": "hi"})
    await http.post(f"{space}/search", json={"query": CANARY})
    context = (await http.post(f"{space}/context", json={"message": f"Tell me of {CANARY}"})).json()
    await http.post(
        f"{space}/capture", json={"user": f"My {CANARY} is blue", "recall": {"context_id": context["context_id"]}}
    )
    await http.post(f"{space}/drain")
    await http.post(f"{space}/memories", json={"text": "x", "salience": 99999})
    await http.get(f"/v1/{CANARY}")


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_metrics_count_what_happened_and_name_nobody(http: httpx.AsyncClient, space: str) -> None:
    await live(http, space)
    text = (await http.get("/metrics")).text
    assert CANARY not in text
    found = samples(text)
    assert found["perdure_verb_seconds_count", (("result", "done"), ("verb", "recall"))] == 2
    assert found["perdure_verb_seconds_count", (("result", "invalid_input"), ("verb", "save"))] == 1
    assert found["perdure_stage_seconds_count", (("stage", "database"), ("verb", "recall"))] >= 1
    assert found["perdure_outcomes_total", (("status", "stored"),)] >= 1
    assert found["perdure_database_up", ()] == 1
    assert found["perdure_connections", (("role", "perdure_app"), ("state", "open"))] >= 1
    calls = {labels for name, labels in found if name == "perdure_model_seconds_count"}
    assert any(("site", "triage") in labels for labels in calls)
    routes = {dict(labels)["route"] for name, labels in found if name == "perdure_http_seconds_count"}
    assert {"/v1/spaces/{space}/recall", "none"} <= routes


async def test_a_space_with_an_awkward_name_is_counted_under_its_route(http: httpx.AsyncClient, space: str) -> None:
    await http.post(f"{space}%2F%E6%9D%B1/memories", json={"text": "x"})
    found = samples((await http.get("/metrics")).text)
    labels = (("method", "POST"), ("route", "/v1/spaces/{space}/memories"), ("status", "201"))
    assert found["perdure_http_seconds_count", labels] == 1


def test_the_page_lists_every_metric_with_its_labels() -> None:
    listed = re.findall(r"^\| `(perdure_\w+)` \|([^|]*)\|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert {name: tuple(re.findall(r"`(\w+)`", labels)) for name, labels in listed} == Metrics().catalogue()


async def test_traces_hold_requests_verbs_and_stages_and_no_word(app: FastAPI, space: str) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    from perdure import observing

    tracing = Tracing(provider)
    async with listening(app) as address, httpx.AsyncClient(base_url=address, timeout=30) as http:
        app.state.tracing = tracing
        with observing.listening(tracing.hear):
            await live(http, space)
    spans = exporter.get_finished_spans()
    by_name = {span.name: span for span in spans}
    assert {"POST /v1/spaces/{space}/recall", "space.recall", "database", "model.subagent"} <= set(by_name)
    recall, request = by_name["space.recall"], by_name["POST /v1/spaces/{space}/recall"]
    assert recall.parent is not None
    assert request.context is not None
    assert {span.parent.span_id for span in spans if span.name == "space.recall" and span.parent} <= {
        span.context.span_id for span in spans if span.context
    }
    assert CANARY not in json.dumps([json.loads(span.to_json()) for span in spans])


async def test_an_error_that_nobody_expected_is_told_without_its_words(
    app: FastAPI, space: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*args: object, **options: object) -> None:
        raise RuntimeError(f"DETAIL: Key (summary)=({CANARY})")

    monkeypatch.setattr("perdure.ingest.save_draft", fail)
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    async with listening(app) as address, httpx.AsyncClient(base_url=address, timeout=30) as http:
        app.state.tracing = Tracing(provider)
        answer = await http.post(f"{space}/memories", json={"text": "Ada owns a boat"})
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    spans = [json.loads(span.to_json()) for span in exporter.get_finished_spans()]
    assert spans
    ours = [record for record in caplog.records if record.name.startswith(("perdure", "uvicorn.error"))]
    assert ours
    assert CANARY not in json.dumps([answer.text, spans, [JsonLines().format(record) for record in ours]])


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.DEBUG, "perdure"):
        yield caplog


async def test_log_lines_say_how_requests_ended_and_no_word(
    http: httpx.AsyncClient, space: str, logged: pytest.LogCaptureFixture
) -> None:
    await live(http, space)
    answer = await http.get(f"{space}/stats", headers={"X-Request-Id": "my-request-1"})
    assert answer.headers["x-request-id"] == "my-request-1"
    assert (await http.get("/livez", headers={"X-Request-Id": 'a"b'})).headers["x-request-id"] != 'a"b'
    lines = [json.loads(JsonLines().format(record)) for record in logged.records if record.name == "perdure.requests"]
    assert {"method", "route", "status", "ms", "caller", "request_id", "time", "level"} <= set(lines[0])
    assert "my-request-1" in {line["request_id"] for line in lines}
    assert CANARY not in json.dumps([JsonLines().format(record) for record in logged.records])
