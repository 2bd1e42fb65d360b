"""What every pipeline works with, opened once by `Memory`."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

import numpy as np

from perdure.embedding import MIN_PAIRS, Calibration, Embedder, NoiseLevel, Unrelated, calibrate, measure
from perdure.errors import FamilyMismatch
from perdure.fact_types import FactScope, Notifier, PrivacyLookup
from perdure.llm import Answer, Models
from perdure.llm.schemas import TriageVerdict
from perdure.settings import Settings
from perdure.store.calibrations import SampledMemory, read_measured, sample_memories
from perdure.store.database import Database, SpaceTransaction
from perdure.store.families import StoredFamily
from perdure.store.spaces import SpaceRow, SpaceState, read_state

SAMPLE = 64
"""Memories whose pairs are compared to tell what cosines mean in a space: 2,016 pairs."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What a process found of where unrelated texts lie in a space.

    `memories` is how many there were when it looked, `measured` how many there were when what is kept was measured, or
    None where nothing is kept; `unrelated` is None where nothing can be told. `tried`: measuring didn't succeed.
    """

    memories: int
    measured: int | None
    unrelated: Unrelated | None
    tried: bool = False


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
    measured: dict[int, Looked] = field(default_factory=dict)
    """By space, what was last found of where unrelated texts lie in it."""
    measuring: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    """By space, the measuring that is under way."""
    afterwards: set[asyncio.Task[None]] = field(default_factory=set)
    """What follows replies and is still under way."""
    prefixes: OrderedDict[Hashable, tuple[Any, ...]] = field(default_factory=OrderedDict)
    """By conversation, the stable blocks of its last prompt, without their texts; those least recently used leave."""
    accounted: WeakSet[object] = field(default_factory=WeakSet)
    """The prompts whose reply was followed up already."""
    rendered: dict[tuple[int, FactScope], dict[Hashable, str]] = field(default_factory=dict)
    """By space and scope, texts rendered of its facts (ltm/rendered.py)."""
    reading: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    """Who reads a file: two at a time, since one may take a thread for a minute, and a process with a gigabyte."""
    notifier: Notifier | None = None
    """Who is told of changes of facts."""
    privacy: PrivacyLookup | None = None
    """The host's own answer to what may be learnt of a person, besides what is set in the space."""

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
    """The calibration that ships with the family, or one from the space's own memories.

    None while the space holds too few memories to tell, and then cosines are taken as they are.
    """
    if resources.embedder.calibration is not None:
        return resources.embedder.calibration
    state = await read_state(tx)
    looked = await look_at_measured(tx, resources, space, state.memories if state else 0)
    return calibrate(looked.unrelated) if looked.unrelated else None


async def unrelated_of(tx: SpaceTransaction, resources: Resources, space: SpaceRow, memories: int) -> Unrelated | None:
    """Where unrelated texts lie in the space, or, as long as it holds too few memories to tell, in its family.

    `memories` is how many it holds. None for a family that nobody measured, in such a space.
    """
    looked = await look_at_measured(tx, resources, space, memories)
    shipped = resources.embedder.calibration
    return looked.unrelated or (shipped.unrelated if shipped else None)


async def look_at_measured(tx: SpaceTransaction, resources: Resources, space: SpaceRow, memories: int) -> Looked:
    """What is known of a space of so many memories: read once, and again when the space has doubled.

    Until the space is measured (`calibrating`), pairs of its memories stand in where the family is one that nobody
    knows: they say nothing of queries, and are better than taking cosines as they are.
    """
    known = resources.measured.get(space.id)
    if known is not None and memories < 2 * known.memories:
        return known
    kept = await read_measured(tx, resources.family.id)
    unrelated = kept.unrelated if kept else None
    if kept is None and resources.embedder.calibration is None:
        unrelated = await _from_pairs(tx, resources)
    found = resources.measured[space.id] = Looked(memories, kept.memories if kept else None, unrelated)
    return found


async def _from_pairs(tx: SpaceTransaction, resources: Resources) -> Unrelated | None:
    sampled = await sample_memories(tx, resources.family.id, SAMPLE)
    pairs = pairs_of(sampled)
    return measure(pairs) if len(pairs) >= MIN_PAIRS else None


def pairs_of(sampled: Sequence[SampledMemory]) -> list[float]:
    """The cosine of each two memories."""
    if len(sampled) < 2:  # noqa: PLR2004 - one has nothing to be compared with
        return []
    vectors = np.stack([memory.vector for memory in sampled])
    return cosines((vectors @ vectors.T)[np.triu_indices(len(vectors), 1)])


def cosines(found: np.ndarray) -> list[float]:
    """As numbers in -1..1, from which rounding may have led away."""
    return [float(cosine) for cosine in np.clip(found, -1.0, 1.0)]
