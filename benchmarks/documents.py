"""How long looking documents up takes: every passage in reach is compared (docs/documents.md).

Everything is made up but the machinery. Most passages are near enough to the query to pass the threshold, so that
the limit has something to leave out.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.measuring import measured, summary
from benchmarks.server import bench_dir, open_server
from perdure import Memory, documents
from perdure.embedding import Kind, Matrix
from perdure.store.embedded import ServerUrls
from tests.doubles.embedder import HashedEmbedder

PASSAGES: Final = (100, 1000, 3000)
DIMENSIONS: Final = (384, 2560)
SEARCHES: Final = 100
SEED: Final = 20260101
TEXT: Final = "Boat {} lies in the harbour of this town and goes to sea at night. "


class Scattered(HashedEmbedder):
    """Vectors around one direction, most of them at a cosine above 0.5 to each query."""

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions, "scattered")
        self._random = np.random.default_rng(SEED)
        self._middle = self._random.normal(size=dimensions)

    async def embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
        del kind
        vectors = self._random.normal(size=(len(texts), self.family.dimensions)) + 1.1 * self._middle
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


async def measure(urls: ServerUrls, dimensions: int) -> dict[int, dict[str, Any]]:
    """By number of passages: milliseconds of a search, of asking whether there is any, and of taking one in."""
    found: dict[int, dict[str, Any]] = {}
    embedder = Scattered(dimensions)
    async with Memory.open(
        database_url=urls.app,
        database_worker_url=urls.worker,
        database_owner_url=urls.owner,
        embedder=embedder,
        worker=False,
        max_document_chunks=10_000,
    ) as memory:
        for passages in PASSAGES:
            space = memory.space(f"documents-{passages}")
            with measured() as taken_in:
                added = await space.add_document(_text(passages), name="harbour.txt")
            row = await memory.ensure_space(space.name)
            searched, asked = [], []
            for _ in range(SEARCHES):
                (query,) = await embedder.embed(["query"], "query")
                with measured() as took:
                    hits = await documents.search(memory.resources, row, query)
                assert len(hits) == documents.MAX_HITS
                searched.append(took.ms)
                with measured() as took:
                    assert await documents.any_in_scope(memory.resources, row)
                asked.append(took.ms)
            found[added.document.parts] = {
                "search_ms": summary(searched),
                "any_ms": summary(asked),
                "taken_in_ms": taken_in.ms,
            }
    return found


def _text(passages: int) -> str:
    return "".join(TEXT.format(number) for number in range(passages * 800 // len(TEXT)))


def main() -> None:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.documents", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dir", type=Path, default=bench_dir())
    arguments = parser.parse_args()
    arguments.dir.mkdir(parents=True, exist_ok=True)
    print("| dimensions | passages | search p50 ms | p95 ms | any p50 ms | taken in s |\n|---|---|---|---|---|---|")
    with open_server(arguments.dir) as server:
        for dimensions in DIMENSIONS:
            with server.passing(f"documents_{dimensions}") as urls:
                for passages, took in asyncio.run(measure(urls, dimensions)).items():
                    search, asked = took["search_ms"], took["any_ms"]
                    seconds = took["taken_in_ms"] / 1000
                    figures = f"{search['p50']:.1f} | {search['p95']:.1f} | {asked['p50']:.1f} | {seconds:.1f}"
                    print(f"| {dimensions} | {passages:,} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
