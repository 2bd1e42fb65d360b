"""The port: what the rest of the house may expect of anything that turns text into vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from perdure.errors import EmbeddingFailed, EmbeddingUnavailable

if TYPE_CHECKING:
    from perdure.rules.calibration import Calibration
    from perdure.types import Family

Kind = Literal["query", "document"]
Matrix = NDArray[np.float32]
T = TypeVar("T")

_SURROGATES_AND_NUL = {0: None} | dict.fromkeys(range(0xD800, 0xE000))


class Embedder(Protocol):
    """Turns texts into unit vectors of one family.

    `calibration` is None for a family that nobody has measured: calibrate it from the space's own memories
    (`perdure.rules.calibration.calibrate`) before using a threshold.
    """

    @property
    def family(self) -> Family: ...

    @property
    def calibration(self) -> Calibration | None: ...

    async def embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
        """One L2-normalised float32 row per text, in order: shape (len(texts), family.dimensions).

        Any text is accepted, of any length: what the model can't read is cut off at its end. Raises
        EmbeddingUnavailable when the model could not be reached in time (worth repeating), EmbeddingFailed when it
        answered with something that is no usable vector.
        """
        ...

    async def close(self) -> None:
        """Let go of threads and connections. Safe to repeat; embedding afterwards raises EmbeddingUnavailable."""
        ...


def checked(vectors: object, count: int, dimensions: int, source: str) -> Matrix:
    """`vectors` as unit rows, or EmbeddingFailed naming `source` and what is wrong: count, length, NaN or zero."""
    try:
        matrix = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbeddingFailed(
            f"{source} answered with something that is not a list of equally long vectors."
        ) from error
    if count == 0 and matrix.size == 0:
        return np.empty((0, dimensions), np.float32)
    if matrix.ndim != 2 or matrix.shape[0] != count:  # noqa: PLR2004
        raise EmbeddingFailed(f"{source} answered with shape {matrix.shape} for {count} texts.")
    if matrix.shape[1] != dimensions:
        raise EmbeddingFailed(
            f"{source} answered with {matrix.shape[1]} dimensions, this family has {dimensions}.",
            hint="Set the embedding dimensions to what the model returns, or choose the model that the space uses.",
        )
    norms = np.linalg.norm(matrix.astype(np.float64), axis=1)
    if not np.isfinite(norms).all():
        raise EmbeddingFailed(f"{source} answered with a vector that is not finite.")
    if not (norms > 0).all():
        raise EmbeddingFailed(f"{source} answered with a vector of zeros.")
    return np.asarray(matrix / norms[:, None], np.float32)


def readable(text: str, limit: int) -> str:
    """The first `limit` characters of `text` without NUL and lone surrogates; costs nothing for the rest of it."""
    return text[:limit].translate(_SURROGATES_AND_NUL)


class OneThread:
    """One worker thread for models that compute on the CPU, so that the event loop stays free.

    There is one on purpose: with two, spinning threads of a numeric library make everything many times slower on a
    busy machine. Work is handed over in small pieces, so that a live query waits for one piece of a bulk import only.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._pool: ThreadPoolExecutor | None = ThreadPoolExecutor(1, thread_name_prefix=f"perdure-{name}")

    async def run(self, work: Callable[[], T]) -> T:
        if self._pool is None:
            raise EmbeddingUnavailable(f"The embedder {self._name} is closed.", hint="Open the Memory again.")
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
