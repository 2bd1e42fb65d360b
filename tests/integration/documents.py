"""What tests of documents have in common: two texts, a question that one of them answers, and an embedder at will."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.doubles.embedder import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perdure import Space
    from perdure.embedding import Kind, Matrix

FERRY = "The ferry to the island leaves at seven in the morning and takes forty minutes. "
BREAD = "Rye bread needs sourdough, water, salt and a long night of rest. "
QUESTION = "When does the ferry to the island leave in the morning?"


async def found(space: Space, query: str = QUESTION, **where: Any) -> list[str]:
    return [hit.name for hit in await space.search_documents(query, **where)]


class Planned(HashedEmbedder):
    """Texts that begin with a number of degrees get a vector at this angle from that of a query."""

    async def embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
        vectors = await super().embed(texts, kind)
        for row, text in enumerate(texts):
            angle = np.deg2rad(0.0 if kind == "query" else float(text.split(" ", 1)[0]))
            vectors[row] = 0
            # Four halves are exactly 60 degrees away, in half precision too.
            vectors[row, :4] = [0.5] * 4 if text.startswith("60 ") else [np.cos(angle), np.sin(angle), 0, 0]
        return vectors
