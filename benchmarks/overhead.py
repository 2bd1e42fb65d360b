"""What draining one exchange costs besides the model and the embedder.

Counted is the time of a whole drain less what it only waits for: the event loop sleeps, a question to the model is out,
and no transaction is open. So sending a question, reading and checking its answer count as ours. The embedder works in
this process and its time is subtracted as it is. CPU time, of this process without the embedder and of PostgreSQL,
stands beside it: that can't hide behind a question that is out.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel

from benchmarks import exchanges
from benchmarks.measuring import CLOCK, measured, say, summary
from benchmarks.server import BenchServer
from perdure.clock import DatabaseClock
from perdure.embedding import Kind, Matrix, NoiseLevel
from perdure.ingest import drain_pending_triage
from perdure.llm import Answer, Ledger, Models, Prompt, Role
from perdure.llm.endpoint import Endpoint
from perdure.resources import Resources
from perdure.settings import load_settings
from perdure.store.database import Database, SpaceTransaction
from perdure.store.families import create_family
from perdure.store.spaces import SpaceRow
from tests.doubles.chat_server import in_a_process
from tests.doubles.embedder import HashedEmbedder

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls

WARM: Final = 100
ROUNDS: Final = 10
EACH: Final = 40

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


@dataclass
class Watch:
    """What goes on in the event loop, and for how long it slept with nothing to do but wait for the model."""

    asking: int = 0
    open_transactions: int = 0
    transactions: int = 0
    calls: int = 0
    waited_s: float = 0.0
    embedded_s: float = 0.0


class WatchedSelector(selectors.DefaultSelector):
    """Where the event loop sleeps."""

    watch: Watch

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        began = CLOCK.monotonic()
        found = super().select(timeout)
        if self.watch.asking and not self.watch.open_transactions:
            self.watch.waited_s += CLOCK.monotonic() - began
        return found


class WatchedEmbedder(HashedEmbedder):
    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self.watch = watch

    async def embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
        with measured() as took:
            found = await super().embed(texts, kind)
        self.watch.embedded_s += took.cpu_s
        return found


class WatchedModels(Models):
    def __init__(self, watch: Watch, url: str) -> None:
        clock = DatabaseClock()
        super().__init__({Role.THINKER: Endpoint(url, clock=clock), Role.SUBAGENT: Endpoint(url, clock=clock)}, clock)
        self.watch = watch

    async def ask(
        self,
        site: str,
        prompt: Prompt,
        schema: type[M],
        *,
        ledger: Ledger,
        live: bool = False,
        deadline_s: float | None = None,
    ) -> Answer[M]:
        self.watch.asking += 1
        self.watch.calls += 1
        try:
            return await super().ask(site, prompt, schema, ledger=ledger, live=live, deadline_s=deadline_s)
        finally:
            self.watch.asking -= 1


class WatchedDatabase(Database):
    watch: Watch

    async def in_space(
        self,
        space_id: int,
        work: Callable[[SpaceTransaction], Awaitable[T]],
        *,
        writer: bool = False,
        ranks: bool = False,
        snapshot: bool = False,
        erasing: bool = False,
        timeout_s: float = 30.0,
    ) -> T:
        self.watch.open_transactions += 1
        self.watch.transactions += 1
        try:
            return await super().in_space(
                space_id, work, writer=writer, ranks=ranks, snapshot=snapshot, erasing=erasing, timeout_s=timeout_s
            )
        finally:
            self.watch.open_transactions -= 1


def measure(server: BenchServer) -> dict[str, Any]:
    """Milliseconds for each exchange of a space whose exchanges resemble each other, all questions asked.

    Runs in an event loop of its own, whose sleep is watched.
    """
    watch = Watch()
    selector = WatchedSelector()
    selector.watch = watch
    with (
        server.passing("overhead") as urls,
        in_a_process() as model,
        asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner,
    ):
        found = runner.run(_measure(server, urls, model, watch))
    say(f"drain overhead: {found}")
    return found


async def _measure(server: BenchServer, urls: ServerUrls, model: str, watch: Watch) -> dict[str, Any]:
    database = WatchedDatabase(urls, DatabaseClock())
    database.watch = watch
    await database.open()
    embedder, models = WatchedEmbedder(watch), WatchedModels(watch, model)
    try:
        family = await create_family(database, embedder.family)
        settings = load_settings(daily_call_budget="none", daily_token_budget="none")
        resources = Resources(
            database, embedder, family, settings, NoiseLevel(embedder), {family.id: family.name}, models
        )
        space = await exchanges.make_space(database, "drained")
        await _drain(resources, space, range(WARM))
        before = Watch(transactions=watch.transactions, calls=watch.calls)
        rounds = []
        for number in range(ROUNDS):
            start = WARM + number * EACH
            rounds.append(await _round(server, resources, space, watch, range(start, start + EACH)))
    finally:
        await models.close()
        await database.close()
    count = ROUNDS * EACH
    return {
        "exchanges": count,
        "calls": round((watch.calls - before.calls) / count, 2),
        "transactions": round((watch.transactions - before.transactions) / count, 2),
        **{name: summary([one[name] for one in rounds])["p50"] for name in rounds[0]},
    }


async def _round(
    server: BenchServer, resources: Resources, space: SpaceRow, watch: Watch, numbers: range
) -> dict[str, float]:
    await exchanges.enqueue(resources.database, space.id, numbers)
    waited_s, embedded_s, server_cpu_s = watch.waited_s, watch.embedded_s, -server.cpu_s()
    with measured() as took:
        await drain_pending_triage(resources, space, "bench", jitter=0)
    server_cpu_s += server.cpu_s()
    waited_s, embedded_s = watch.waited_s - waited_s, watch.embedded_s - embedded_s
    each = 1000 / len(numbers)
    return {
        "whole_ms": round(each * took.wall_s, 2),
        "waited_ms": round(each * waited_s, 2),
        "embedded_ms": round(each * embedded_s, 2),
        "overhead_ms": round(each * (took.wall_s - waited_s - embedded_s), 2),
        "python_cpu_ms": round(each * (took.cpu_s - embedded_s), 2),
        "server_cpu_ms": round(each * server_cpu_s, 2),
    }


async def _drain(resources: Resources, space: SpaceRow, numbers: range) -> None:
    await exchanges.enqueue(resources.database, space.id, numbers)
    report = await drain_pending_triage(resources, space, "bench", jitter=0)
    assert report.done == len(numbers), report
