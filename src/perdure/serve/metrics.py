"""Metrics for Prometheus: what happened in this process since it began, and what waits in the database now.

Labels are names of ours alone (verbs, stages, reasons, call sites): never a space, a key or a word.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics import MetricWrapperBase

from perdure.acting import Scope
from perdure.clock import wall_clock
from perdure.errors import PerdureError
from perdure.memory import Memory
from perdure.observing import Answered, Event, ModelAsked, Sampled, Settled, Worked, listening
from perdure.serve.caller import caller_of
from perdure.store.workers import WorkerStatus

SECONDS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 60)
REASON_CHARS: Final = 40
BACKLOG_S: Final = 2.0
"""How long a scrape waits for the database; the rest is told without it."""
_COUNTED: Final = ("candidate_count", "scored_count", "reinforced_count", "recalled_count", "quick_return_count")
_TOKENS: Final = ("dormant_tokens", "recalled_tokens", "query_tokens", "fill_tokens")


class Metrics:
    """All metrics of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._verbs = self._histogram("perdure_verb_seconds", "Verbs of spaces, by how they ended.", "verb", "result")
        self._stages = self._histogram("perdure_stage_seconds", "Parts of a verb, if it tells them.", "verb", "stage")
        self._degraded = self._counter("perdure_degraded", "Answers that had to do without a part.", "verb", "reason")
        self._empty = self._counter("perdure_nothing_injected", "Recalls and prompts that brought no memory.", "verb")
        self._brought = self._counter("perdure_memories_brought", "Memories that were brought.", "verb")
        self._outcomes = self._counter("perdure_outcomes", "What became of words that came in.", "status")
        self._pruned = self._counter("perdure_pruned", "Memories that had their time, by why.", "reason")
        self._models = self._histogram("perdure_model_seconds", "Requests to models.", "site", "role", "result")
        self._tokens = self._counter("perdure_model_tokens", "Tokens of models.", "site", "role", "kind")
        self._turns = self._counter("perdure_memory_recall", "Turns of self-taught facts, by outcome.", "outcome")
        self._turn_s = self._histogram("perdure_memory_recall_seconds", "Time of those turns.", "part")
        self._facts = self._counter("perdure_memory_recall_facts", "Facts in those turns.", "what")
        self._fact_tokens = self._counter("perdure_memory_recall_tokens", "Tokens of those turns.", "what")
        self._chores = self._histogram("perdure_worker_seconds", "Chores of the heartbeat.", "chore", "result")
        self._requests = self._histogram("perdure_http_seconds", "Requests, by route.", "method", "route", "status")
        self._waiting = self._gauge("perdure_backlog", "What waits, over all spaces.", "queue")
        self._oldest = self._gauge("perdure_backlog_age_seconds", "Since when the oldest of it waits.", "queue")
        self._workers = self._gauge("perdure_workers", "Workers that were seen lately.")
        self._connections = self._gauge("perdure_connections", "Connections to the database.", "role", "state")
        self._up = self._gauge("perdure_database_up", "Whether the database answered this scrape.")

    def hear(self, event: Event) -> None:
        """Counts what happened."""
        match event:
            case Answered():
                self._answered(event)
            case ModelAsked():
                self._models.labels(event.site, event.role, _result(failed=not event.ok)).observe(event.seconds)
                self._tokens.labels(event.site, event.role, "prompt").inc(event.prompt_tokens)
                self._tokens.labels(event.site, event.role, "completion").inc(event.completion_tokens)
            case Settled("pruned", counts):
                for reason, count in counts.items():
                    self._pruned.labels(reason).inc(count)
            case Settled(_, counts):
                for status, count in counts.items():
                    self._outcomes.labels(status).inc(count)
            case Sampled(outcome, numbers):
                self._sampled(outcome, numbers)
            case Worked(chore, seconds, trouble):
                self._chores.labels(chore, _result(failed=trouble)).observe(seconds)

    def asked(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts a request; `route` is the pattern of its path."""
        self._requests.labels(method, route, str(status)).observe(seconds)

    def stand(self, memory: Memory, status: WorkerStatus | None) -> None:
        """Takes down how things stand now; without a status the database didn't answer."""
        for role, (size, free, waiting) in memory.resources.database.connections().items():
            for state, count in (("open", size), ("free", free), ("waited_for", waiting)):
                self._connections.labels(role, state).set(count)
        self._up.set(status is not None)
        self._waiting.clear()
        self._oldest.clear()
        if status is None:
            return
        now = wall_clock()
        self._workers.set(len(status.workers))
        for queue in status.queues:
            self._waiting.labels(queue.queue).set(queue.waiting)
            self._oldest.labels(queue.queue).set(max(0.0, (now - queue.oldest).total_seconds()))

    def _answered(self, event: Answered) -> None:
        result = event.error or ("degraded" if event.degraded else "done")
        self._verbs.labels(event.verb, result).observe(event.seconds)
        for stage, seconds in event.stages.items():
            self._stages.labels(event.verb, stage).observe(seconds)
        for reason in event.degraded:
            # What comes behind a colon is a sentence of its own.
            self._degraded.labels(event.verb, reason.partition(":")[0][:REASON_CHARS]).inc()
        if event.brought is not None:
            self._brought.labels(event.verb).inc(event.brought)
            if event.brought == 0 and not event.degraded:
                self._empty.labels(event.verb).inc()
        if event.verb == "save" and event.status is not None:
            self._outcomes.labels(event.status).inc()

    def _sampled(self, outcome: str, numbers: Mapping[str, float]) -> None:
        self._turns.labels(outcome).inc()
        for part in ("total_ms", "embedding_ms"):
            if part in numbers:
                self._turn_s.labels(part.removesuffix("_ms")).observe(numbers[part] / 1000)
        for name in _COUNTED:
            self._facts.labels(name.removesuffix("_count")).inc(numbers.get(name, 0))
        for name in _TOKENS:
            self._fact_tokens.labels(name.removesuffix("_tokens")).inc(numbers.get(name, 0))

    def _histogram(self, name: str, told: str, *labels: str) -> Histogram:
        return Histogram(name, told, labels, registry=self.registry, buckets=SECONDS)

    def _counter(self, name: str, told: str, *labels: str) -> Counter:
        return Counter(name, told, labels, registry=self.registry)

    def _gauge(self, name: str, told: str, *labels: str) -> Gauge:
        return Gauge(name, told, labels, registry=self.registry)

    def catalogue(self) -> dict[str, tuple[str, ...]]:
        """All metrics by name, with their labels."""
        made = (each for each in vars(self).values() if isinstance(each, MetricWrapperBase))
        return {each._name: tuple(each._labelnames) for each in made}


@asynccontextmanager
async def counting(metrics: Metrics) -> AsyncIterator[None]:
    """Counts what happens in this process, until the block ends."""
    with listening(metrics.hear):
        yield


def metrics_router() -> APIRouter:
    """`/metrics`; it tells of all spaces, so it needs a key that reaches all."""
    router = APIRouter(tags=["server"])

    @router.get("/metrics", summary="Metrics for Prometheus.", operation_id="metrics", include_in_schema=False)
    async def read(request: Request) -> Response:
        caller = caller_of(request)
        caller.require(Scope.ADMIN)
        caller.require_everywhere()
        memory: Memory = request.app.state.memory
        metrics: Metrics = request.app.state.metrics
        status: WorkerStatus | None = None
        try:
            async with asyncio.timeout(BACKLOG_S):
                status = await memory.worker_status()
        except (PerdureError, TimeoutError):
            pass  # told by perdure_database_up
        metrics.stand(memory, status)
        return Response(generate_latest(metrics.registry), headers={"content-type": CONTENT_TYPE_LATEST})

    return router


def _result(*, failed: bool) -> str:
    return "failed" if failed else "done"
