"""Which memories are near each other: pairs for the rule that groups them. numpy stays outside of `rules/`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from perdure.embedding import Matrix

BLOCK: Final = 1024
"""Rows whose similarities are worked out at once: 40 MB beside 10,000 others."""
MOST_NEIGHBOURS: Final = 64
"""Neighbours of one memory that count, the nearest ones: a day of one topic is no reason to compare all with all."""


def pairs_above(vectors: Mapping[int, Matrix], at_least: float) -> list[tuple[int, int, float]]:
    """(id, id, cosine) of pairs that are `at_least` so similar, each once.

    Args:
        vectors: unit vectors of one length, by id.
        at_least: a cosine.
    """
    ids = sorted(vectors)
    if not ids:
        return []
    matrix = np.stack([vectors[each] for each in ids]).astype(np.float32)
    found: dict[tuple[int, int], float] = {}
    for start in range(0, len(ids), BLOCK):
        similar = matrix[start : start + BLOCK] @ matrix.T
        for offset, row in enumerate(similar):
            here = start + offset
            row[here] = -1.0
            (near,) = np.nonzero(row >= at_least)
            if len(near) > MOST_NEIGHBOURS:
                # By similarity, and then by id: so that nothing hangs on the order of rows.
                near = near[np.lexsort((near, -row[near]))][:MOST_NEIGHBOURS]
            for there in near.tolist():
                found[min(here, there), max(here, there)] = float(row[there])
    return [(ids[one], ids[other], similarity) for (one, other), similarity in sorted(found.items())]
