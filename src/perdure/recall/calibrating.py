"""Where unrelated memories lie in a family that nobody has measured: told from the space's own memories."""

from __future__ import annotations

import numpy as np

from perdure.embedding import MIN_PAIRS, Calibration, calibrate
from perdure.resources import Resources
from perdure.store.database import SpaceTransaction
from perdure.store.memories import sample_vectors
from perdure.store.spaces import SpaceRow, read_state

SAMPLE = 64
"""Memories whose pairs are compared: 2,016 pairs."""


async def calibration_of(tx: SpaceTransaction, resources: Resources, space: SpaceRow) -> Calibration | None:
    """The calibration that ships with the family, or one from random pairs of the space's memories.

    The latter is remembered and made again when the space has doubled. None while the space holds too few memories to
    tell, and then cosines are taken as they are.
    """
    if resources.embedder.calibration is not None:
        return resources.embedder.calibration
    state = await read_state(tx)
    memories = state.memories if state else 0
    known = resources.calibrations.get(space.id)
    if known is not None and memories < 2 * known[0]:
        return known[1]
    vectors = await sample_vectors(tx, resources.family.id, SAMPLE)
    if not vectors:
        return None
    matrix = np.stack(vectors)
    pairs = (matrix @ matrix.T)[np.triu_indices(len(matrix), 1)]
    if len(pairs) < MIN_PAIRS:
        return None
    found = calibrate([float(min(1.0, max(-1.0, cosine))) for cosine in pairs])
    resources.calibrations[space.id] = (memories, found)
    return found
