"""What every pipeline works with, opened once by `Memory`."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from perdure.embedding import MIN_PAIRS, Calibration, Embedder, NoiseLevel, calibrate
from perdure.errors import FamilyMismatch
from perdure.llm import Answer, Models
from perdure.llm.schemas import TriageVerdict
from perdure.settings import Settings
from perdure.store.database import Database, SpaceTransaction
from perdure.store.families import StoredFamily
from perdure.store.memories import sample_vectors
from perdure.store.spaces import SpaceRow, SpaceState, read_state

SAMPLE = 64
"""Memories whose pairs are compared to calibrate a family: 2,016 pairs."""


@dataclass(frozen=True, slots=True)
class Resources:
    """Database, embedder, the embedder's family as registered in the database, and the settings."""

    database: Database
    embedder: Embedder
    family: StoredFamily
    settings: Settings
    noise: NoiseLevel
    """How near a memory must be to a query to be worth injecting."""
    family_names: Mapping[int, str]
    """Names of the families that this database knows."""
    models: Models = field(default_factory=Models.none)
    """The language models; `models.can(site)` says what they can be asked."""
    verdicts: OrderedDict[tuple[int, int, int], Answer[TriageVerdict]] = field(default_factory=OrderedDict)
    """Of work that had to be given back, by space, row and attempt: what was judged is not judged again for that."""
    turns: Counter[int] = field(default_factory=Counter)
    """How often work was claimed in each space; every so many times what else would wait is taken first."""
    calibrations: dict[int, tuple[int, Calibration]] = field(default_factory=dict)
    """For a family without a shipped calibration: by space, the one told from so many of its memories."""

    def require_family(self, space: SpaceRow, state: SpaceState | None) -> None:
        """Refuses to mix embeddings: a space's memories all belong to one family.

        Raises:
            FamilyMismatch: the space was embedded by another model than the one now configured.
        """
        if state is None or state.family_id is None or state.family_id == self.family.id:
            return
        raise FamilyMismatch(
            f"Space {space.name!r} holds memories embedded by {self.family_names.get(state.family_id)!r},"
            f" the embedder now configured is {self.family.name!r}.",
            hint="Configure the embedder that the space was made with, or use a new space.",
        )


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
