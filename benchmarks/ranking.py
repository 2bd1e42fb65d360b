"""Ranked recall beside the plain ORDER BY: time, growth, and whether both give the same ten memories."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from statistics import mean, median
from typing import Any, Final

import psutil
import psycopg

from benchmarks.corpus import EPOCH, Corpus, Query, load_batch
from benchmarks.crowd import load_crowd
from benchmarks.literal import rank_literally
from benchmarks.measuring import measured, say, summary
from benchmarks.server import BenchServer, open_database
from perdure.clock import SimulatedClock
from perdure.rules.profiles import DEFAULT
from perdure.rules.ranking import SEED, RankingProfile
from perdure.store.database import Database
from perdure.store.families import StoredFamily, build_index, create_family
from perdure.store.ranking import Ranked, RankQuery, rank
from perdure.types import Family, Filters

NOW: Final = EPOCH + timedelta(days=1)
QUERIES: Final = 40
LITERAL_QUERIES: Final = 20
WARM_UP: Final = 5
SMALL: Final = (500, 2000)
TOP: Final = 10


@dataclass(frozen=True, slots=True)
class Measured:
    """One profile in one space. Times in ms; `ratio` is how many times faster than the plain ORDER BY, at p50.

    `cpu` is the mean CPU time of a query in ms, of the server's process and this one, and `cpu_ratio` the plain ORDER
    BY's to ranked recall's: what else the machine does changes them least.
    `overlap` is the share of the plain ORDER BY's ten best that ranked recall returns, on average over the queries.
    """

    memories: int
    dimensions: int
    profile: str
    queries: int
    ranked_ms: dict[str, float]
    plain_ms: dict[str, float]
    ratio: float
    ranked_cpu_ms: float
    plain_cpu_ms: float
    cpu_ratio: float
    overlap: float
    overlap_least: float
    paths: list[str]
    candidates: float


@dataclass(frozen=True, slots=True)
class DataSet:
    """A large space with two small ones beside it, in one database and one family."""

    database: Database
    family: StoredFamily
    spaces: dict[int, Corpus]
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Literal:
    """The mission's literal statement at profile `seed`: its time in ms, and its overlap with `exact=True`."""

    memories: int
    dimensions: int
    queries: int
    literal_ms: dict[str, float]
    ratio: float
    overlap: float


async def measure(server: BenchServer, sizes: tuple[int, ...], dimensions: int) -> dict[str, Any]:
    """Both profiles at every size, and the small spaces beside the largest one."""
    found: dict[str, Any] = {"spaces": [], "literal": [], "small": [], "loading": []}
    for size in sizes:
        async with data_set(server, size, dimensions) as data:
            found["loading"].append({"memories": size, "dimensions": dimensions, **data.facts})
            rows = await _in_large(data)
            found["spaces"] += map(asdict, rows)
            found["literal"].append(asdict(await _literally(data)))
            if size == max(sizes):
                found["small"] = [await _in_small(data, space_id) for space_id in data.spaces if space_id > 1]
    return found


@asynccontextmanager
async def data_set(server: BenchServer, size: int, dimensions: int, *, crowd: int = 0) -> AsyncIterator[DataSet]:
    """The set of that size, with so many small spaces in it, loaded as far as it is not loaded yet."""
    name = f"ranking_{size}x{dimensions}"
    urls = server.urls(name)
    spaces = {n: Corpus(count, dimensions) for n, count in enumerate((size, *SMALL), 1)}
    # One connection, so that the process that answers is known.
    async with open_database(urls, SimulatedClock(NOW), pool_size=1) as database:
        with server.loading(name):
            family = await _loaded(server, urls.owner, database, spaces, name, crowd=crowd)
        facts = {"load_s": None, "index_s": None, **server.remembered(name)}
        say(f"{size:,} x {dimensions}: loaded in {facts['load_s']} s, index built in {facts['index_s']} s.")
        yield DataSet(database, family, spaces, facts)


async def _loaded(
    server: BenchServer, owner_url: str, database: Database, spaces: dict[int, Corpus], name: str, *, crowd: int
) -> StoredFamily:
    """Loads what is missing, then builds the index if there is none; remembers how long both took."""
    size, dimensions = spaces[1].size, spaces[1].dimensions
    wanted = Family("made up", "bench", "none", dimensions)
    family = await create_family(database, wanted, unrelated_similarity=0.1, index=False)
    with measured() as loading:
        rows = sum(_load(owner_url, space_id, family.id, corpus) for space_id, corpus in spaces.items())
    if rows:
        before = float(server.remembered(name).get("load_s", 0))
        server.remember(name, load_s=round(before + loading.wall_s, 1))
    # Before there is an index: each memory that comes later is inserted into its graph.
    if crowd and load_crowd(owner_url, family.id, dimensions, crowd) and family.index_name is not None:
        say("The small spaces came into a living index, which takes longer.")
    if family.index_name is None:
        say(f"{size:,} x {dimensions}: building the index ...")
        with measured() as building:
            family = await build_index(database, family)
        server.remember(name, index_s=round(building.wall_s, 1))
        with psycopg.connect(owner_url, autocommit=True) as owner:
            owner.execute("VACUUM ANALYZE")
    return family


def _load(owner_url: str, space_id: int, family_id: int, corpus: Corpus) -> int:
    """Loads what is missing of a space, a batch per transaction, and returns how many rows that were."""
    with psycopg.connect(owner_url, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO spaces (id, name, created_at) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            (space_id, f"space {space_id}", EPOCH),
        )
        row = owner.execute("SELECT memories FROM space_state WHERE space_id = %s", (space_id,)).fetchone()
        start = done = row[0] if row else 0
        if start >= corpus.size:
            return 0
        for batch in corpus.batches(start):
            load_batch(owner, space_id, family_id, space_id * 1_000_000 + done, batch)
            done += len(batch)
            if done % 10_000 == 0:
                say(f"{corpus.size:,} x {corpus.dimensions}: {done:,} loaded")
        owner.execute("VACUUM ANALYZE")
    return done - start


async def _in_large(data: DataSet) -> list[Measured]:
    corpus = data.spaces[1]
    profiles = (SEED, DEFAULT)
    for query in corpus.queries(WARM_UP, seed=8):
        for profile in profiles:
            for exact in (True, False):
                await _ranked(data, 1, query, profile, exact=exact)
    rows = []
    for profile in profiles:
        ranked_ms, plain_ms, overlaps, paths, candidates = [], [], [], set(), []
        backend = await _backend(data)
        plain_cpu = ranked_cpu = 0.0
        # In turns, so that whatever else this machine does slows both down alike.
        for query in corpus.queries(QUERIES):
            begun = _cpu_ms(backend)
            plain, took = await _ranked(data, 1, query, profile, exact=True)
            plain_ms.append(took)
            between = _cpu_ms(backend)
            found, took = await _ranked(data, 1, query, profile, exact=False)
            ranked_ms.append(took)
            ranked_cpu += _cpu_ms(backend) - between
            plain_cpu += between - begun
            best = {row.memory_id for row in plain.rows}
            overlaps.append(len(best & {row.memory_id for row in found.rows}) / len(best))
            paths.add(found.path)
            candidates.append(found.candidates)
        row = Measured(
            memories=corpus.size,
            dimensions=corpus.dimensions,
            profile=profile.name,
            queries=QUERIES,
            ranked_ms=summary(ranked_ms),
            plain_ms=summary(plain_ms),
            ratio=round(median(plain_ms) / median(ranked_ms), 1),
            ranked_cpu_ms=round(ranked_cpu / QUERIES, 2),
            plain_cpu_ms=round(plain_cpu / QUERIES, 2),
            cpu_ratio=round(plain_cpu / ranked_cpu, 1),
            overlap=round(mean(overlaps), 4),
            overlap_least=min(overlaps),
            paths=sorted(paths),
            candidates=round(mean(candidates), 1),
        )
        say(f"{row.memories:,} x {row.dimensions} {row.profile}: {row.ranked_ms['p50']} ms, {row.ratio} times faster")
        rows.append(row)
    return rows


async def _backend(data: DataSet) -> psutil.Process:
    """The server's process that answers this benchmark's only connection; the server runs on this machine."""
    (row,) = await data.database.in_space(1, lambda tx: tx.fetch_all("SELECT pg_backend_pid() AS pid"))
    return psutil.Process(row["pid"])


def _cpu_ms(backend: psutil.Process) -> float:
    """CPU time so far of the server's process and of this one, in ms."""
    times = backend.cpu_times()
    return 1000 * (times.user + times.system + time.process_time())


async def _literally(data: DataSet) -> Literal:
    corpus = data.spaces[1]
    literal_ms, ranked_ms, overlaps = [], [], []
    for query in corpus.queries(LITERAL_QUERIES):
        with measured() as took:
            ids = await data.database.in_space(
                1,
                lambda tx, query=query: rank_literally(tx, data.family, query, TOP),  # type: ignore[misc]
            )
        literal_ms.append(took.ms)
        plain, _ = await _ranked(data, 1, query, SEED, exact=True)
        _, ms = await _ranked(data, 1, query, SEED, exact=False)
        ranked_ms.append(ms)
        overlaps.append(len({row.memory_id for row in plain.rows} & set(ids)) / TOP)
    row = Literal(
        memories=corpus.size,
        dimensions=corpus.dimensions,
        queries=LITERAL_QUERIES,
        literal_ms=summary(literal_ms),
        ratio=round(median(literal_ms) / median(ranked_ms), 1),
        overlap=round(mean(overlaps), 4),
    )
    say(f"{row.memories:,} x {row.dimensions} literal statement: {row.literal_ms['p50']} ms, {row.ratio} times slower")
    return row


async def _in_small(data: DataSet, space_id: int) -> dict[str, Any]:
    corpus = data.spaces[space_id]
    took, paths = [], set()
    for number, query in enumerate(corpus.queries(WARM_UP + QUERIES)):
        found, ms = await _ranked(data, space_id, query, SEED, exact=False)
        if number >= WARM_UP:
            took.append(ms)
            paths.add(found.path)
    beside = data.spaces[1].size
    return {"memories": corpus.size, "beside": beside, "paths": sorted(paths), "ranked_ms": summary(took)}


async def _ranked(
    data: DataSet, space_id: int, query: Query, profile: RankingProfile, *, exact: bool
) -> tuple[Ranked, float]:
    """One ranking with its time in ms, from opening the transaction to its end."""
    asked = RankQuery(
        data.family, query.vector, query.terms, query.entity_keys, profile, None, Filters(), TOP, exact=exact
    )
    with measured() as took:
        found = await data.database.in_space(space_id, lambda tx: rank(tx, asked))
    return found, took.ms
