"""The description of the server (OpenAPI) holds for what it really answers."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from perdure.store.embedded import ServerUrls
from perdure.wire import ROUTES
from tests.doubles.chat_server import serving
from tests.doubles.embedder import HashedEmbedder
from tests.integration.http_server import served

EXAMPLES = 3
MANY = 60
DOCUMENTED = Path(__file__).parents[2] / "docs" / "server.md"


@pytest.fixture(scope="module")
def address(urls: ServerUrls) -> Iterator[str]:
    """A server in a loop and thread of its own: the requests of this module wait for each other."""
    import asyncio

    found: list[str] = []
    ready, stop = threading.Event(), threading.Event()

    async def serve() -> None:
        async with served(urls, HashedEmbedder(), relevance_gate=False, thinker_url=chat.url) as address:
            found.append(address)
            ready.set()
            await asyncio.to_thread(stop.wait)

    with serving() as chat:
        thread = threading.Thread(target=lambda: asyncio.run(serve()))
        thread.start()
        assert ready.wait(60)
        yield found[0]
        stop.set()
        thread.join(30)


@pytest.fixture(scope="module")
def schema(address: str) -> dict[str, Any]:
    document: dict[str, Any] = httpx.get(f"{address}/openapi.json").json()
    return document


def operations(schema: dict[str, Any]) -> set[tuple[str, str]]:
    return {(method.upper(), path) for path, methods in schema["paths"].items() for method in methods}


def test_every_verb_is_described_under_its_name(schema: dict[str, Any]) -> None:
    described = {
        found["operationId"]: (method.upper(), path)
        for path, methods in schema["paths"].items()
        for method, found in methods.items()
    }
    for route in ROUTES:
        assert described[route.verb] == (route.method, f"/v1/spaces/{{space}}{route.path}")
    for methods in schema["paths"].values():
        for found in methods.values():
            assert found["summary"]
            told = [answer for status, answer in found["responses"].items() if status != "204"]
            assert told
            for answer in told:
                for kind in answer.get("content", {"none": {}}).values():
                    assert kind.get("schema"), (found["operationId"], answer)


def test_the_description_says_how_to_send_a_key_and_where_none_is_needed(schema: dict[str, Any]) -> None:
    assert schema["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    assert schema["security"] == [{"key": []}, {}]
    open_paths = {
        path for path, methods in schema["paths"].items() if any("security" in each for each in methods.values())
    }
    assert open_paths == {"/livez", "/readyz"}


def test_the_page_lists_every_route(schema: dict[str, Any]) -> None:
    rows = re.findall(r"^\| `(GET|POST|PUT|PATCH|DELETE) (/\S*)` \|", DOCUMENTED.read_text("utf-8"), re.MULTILINE)
    listed = {
        (method, f"/v1/spaces/{{space}}{path}" if not path.startswith(("/v1", "/livez", "/readyz")) else path)
        for method, path in rows
    }
    assert listed == operations(schema)


def check(address: str, examples: int) -> None:
    """Requests made up from the description, valid and not: every answer is one that the description names."""
    described = schemathesis.openapi.from_url(f"{address}/openapi.json")
    chosen = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize="PERDURE_FUZZ_SEED" not in os.environ,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
    for result in described.get_all_operations():
        operation = result.ok()

        @chosen
        @given(case=operation.as_strategy())
        def ask(case: schemathesis.Case) -> None:
            # What a field has to be is for the library's own door to say, which knows more than a schema can.
            case.call_and_validate(timeout=60, excluded_checks=[positive_data_acceptance])

        ask()


def test_the_server_answers_as_described(address: str) -> None:
    check(address, EXAMPLES)


@pytest.mark.long
def test_the_server_answers_as_described_whatever_is_asked(address: str) -> None:
    check(address, MANY)
