"""What doctor says of a reranker: asked once, told as it answers."""

from __future__ import annotations

import pytest

from perdure.cli.checkup_models import examine_models
from perdure.clock import DatabaseClock
from perdure.llm import Models, RerankEndpoint
from tests.doubles.rerank_server import reranking


@pytest.mark.parametrize(("status", "told"), [(200, "ok"), (503, "fail")])
async def test_a_reranker_is_asked_and_told_as_it_answers(status: int, told: str) -> None:
    with reranking() as server:
        if status != 200:
            server.behave = lambda _: (status, b"{}")
        models = Models(reranker=RerankEndpoint(server.url, clock=DatabaseClock(), model="bge"))
        found = {finding.name: finding for finding in await examine_models(models)}
        await models.close()
    assert found["reranker"].status == told
    assert f"bge at {server.url}/rerank" in found["reranker"].detail
    assert len(server.requests) == 1


async def test_without_one_nothing_is_said_of_it_but_what_is_off() -> None:
    models = Models.none()
    assert "reranker" not in {finding.name for finding in await examine_models(models)}
    assert "the last look at the hits of searches" in models.off()
