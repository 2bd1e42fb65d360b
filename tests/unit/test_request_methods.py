"""A request's method is the caller's word, too."""

from __future__ import annotations

from types import SimpleNamespace

from starlette.types import Message, Receive, Scope, Send

from perdure.serve.logs import Requests
from perdure.serve.metrics import Metrics


async def test_a_method_of_the_callers_own_making_is_no_label() -> None:
    metrics = Metrics()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 405, "headers": []})

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        pass

    state = SimpleNamespace(state=SimpleNamespace(tracing=None, metrics=metrics))
    for method in ("CANARY", "GET"):
        await Requests(app)({"type": "http", "method": method, "headers": [], "app": state}, receive, send)
    samples = [sample for each in metrics.registry.collect() for sample in each.samples]
    assert {sample.labels["method"] for sample in samples if "route" in sample.labels} == {"OTHER", "GET"}
