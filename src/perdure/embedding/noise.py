"""How near a memory must be to a turn before it says more about it than about any turn, and whether a turn asks at all.

No fixed cosine separates a question from "ok thanks": a model puts short general phrases near everything, and each
language at another height. What does separate them is how near the turn itself is to turns of either kind, the nearest
of which are mostly of its own language (`sample_turns`; figures in docs/evaluation.md).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from perdure.embedding.port import Embedder, Matrix
from perdure.embedding.sample_turns import ASKING, IDLE
from perdure.errors import PerdureError, without_words

NEAREST: Final = 3
"""Sample turns that count: the nearest alone may be near by chance, and most are of other languages."""

SAMPLES: Final = len(IDLE) + len(IDLE) + len(ASKING)
DIGEST: Final = hashlib.blake2b("\n".join((*IDLE, "", *ASKING)).encode(), digest_size=8).hexdigest()
"""Names the sample turns: what was kept of others is of no use."""

log = logging.getLogger("perdure.embedding")


class Shelf(Protocol):
    """Where embedded sample turns are kept between processes; each of its calls may fail."""

    async def read(self, digest: str) -> Matrix | None: ...
    async def keep(self, digest: str, vectors: Matrix) -> None: ...


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """Where a turn lies among the sample turns.

    `level` is its cosine to the nearest of those that want nothing, compared as a memory is; `asking` is how much
    nearer its message is to those that ask than to those that don't.
    """

    level: float
    asking: float


class NoiseLevel:
    """Places turns among the sample turns of one embedder, which are embedded once and beside the turns."""

    def __init__(self, embedder: Embedder, shelf: Shelf | None = None) -> None:
        self._embedder = embedder
        self._shelf = shelf
        self._samples: tuple[Matrix, Matrix, Matrix] | None = None
        self._loading: asyncio.Task[None] | None = None

    def of(self, turn: Matrix, message: Matrix, *, keep: bool = True) -> TurnPlace | None:
        """The place of a turn, by the unit vectors of its trajectory and of its message. Waits for nothing.

        None until the sample turns are embedded, which the first call starts; `keep` writes them to the shelf.
        """
        if self._samples is None:
            self._start(keep=keep)
            return None
        idle_memories, idle, asking = self._samples
        return TurnPlace(_nearest(idle_memories, turn), _nearest(asking, message) - _nearest(idle, message))

    async def load(self) -> None:
        """Waits until the sample turns are there, or have failed to be; the next use then tries again."""
        if self._samples is None:
            await asyncio.shield(self._start())

    async def close(self) -> None:
        """Ends what is under way."""
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.wait({self._loading}, timeout=1)

    def _start(self, *, keep: bool = True) -> asyncio.Task[None]:
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._load(keep=keep), name="perdure-sample-turns")
        return self._loading

    async def _load(self, *, keep: bool) -> None:
        try:
            vectors = await self._kept()
            if vectors is None:
                vectors = np.concatenate([
                    await self._embedder.embed(IDLE, "document"),
                    await self._embedder.embed([*IDLE, *ASKING], "query"),
                ])  # fmt: skip
                if keep:
                    await self._keep(vectors)
        except Exception as error:
            log.info("sample turns could not be embedded: %s", without_words(error))
            return
        idle_memories, idle, asking = np.split(vectors, [len(IDLE), 2 * len(IDLE)])
        self._samples = idle_memories, idle, asking

    async def _kept(self) -> Matrix | None:
        try:
            vectors = await self._shelf.read(DIGEST) if self._shelf else None
        except PerdureError as error:
            log.info("kept sample turns could not be read: %s", error.message)
            return None
        fits = vectors is not None and vectors.shape == (SAMPLES, self._embedder.family.dimensions)
        return vectors if fits else None

    async def _keep(self, vectors: Matrix) -> None:
        try:
            if self._shelf:
                await self._shelf.keep(DIGEST, vectors)
        except PerdureError as error:
            log.info("sample turns could not be kept: %s", error.message)


def _nearest(samples: Matrix, vector: Matrix) -> float:
    """Mean cosine of the nearest samples."""
    return float(np.partition(samples @ vector, -NEAREST)[-NEAREST:].mean())
