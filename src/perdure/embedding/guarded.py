"""An embedder of somebody else's making, held to what the port promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perdure.embedding.port import checked

if TYPE_CHECKING:
    from perdure.embedding.port import Embedder, Kind, Matrix
    from perdure.rules.calibration import Calibration
    from perdure.types import Family


class GuardedEmbedder:
    """An embedder whose every answer is checked: as many unit vectors as texts, of the family's length, all finite.

    The embedders of this room check themselves; one that a caller hands in may answer anything.
    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

    @property
    def family(self) -> Family:
        return self._inner.family

    @property
    def calibration(self) -> Calibration | None:
        return self._inner.calibration

    async def embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
        """As `Embedder.embed`; raises EmbeddingFailed for an answer that is no usable vector."""
        answer = await self._inner.embed(texts, kind)
        return checked(answer, len(texts), self.family.dimensions, f"The embedder of {self.family.name}")

    async def close(self) -> None:
        await self._inner.close()
