"""Telling what cosines mean in a space from its own memories: once there are enough, and again when it has doubled.

It costs an embedding call, so it is done beside the turns and in the worker, never inside a recall.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from perdure.embedding import Unrelated, is_due, measure
from perdure.errors import without_words
from perdure.resources import SAMPLE, Looked, Resources, cosines, look_at_measured, pairs_of
from perdure.store.calibrations import Measured, SampledMemory, keep_measured, sample_memories
from perdure.store.database import SpaceTransaction
from perdure.store.spaces import SpaceRow, read_state

QUERIES: Final = 24
"""Sampled memories that are embedded as queries, too: 1,512 pairs of a query and a memory. Twice as many move mean and
spread by less than a tenth of the spread (LoCoMo, e5)."""

log = logging.getLogger("perdure.calibrating")


async def refresh(resources: Resources, space: SpaceRow) -> bool:
    """Measures a space that is due and keeps what was found; says whether it did.

    Raises EmbeddingUnavailable, EmbeddingFailed, DatabaseUnavailable.
    """

    async def read(tx: SpaceTransaction) -> tuple[Looked, Sequence[SampledMemory]]:
        state = await read_state(tx)
        looked = await look_at_measured(tx, resources, space, state.memories if state else 0)
        if not _due(looked):
            return looked, ()
        return looked, await sample_memories(tx, resources.family.id, SAMPLE)

    looked, sampled = await resources.database.in_space(space.id, read)
    if len(sampled) <= QUERIES:
        if _due(looked):
            resources.measured[space.id] = replace(looked, tried=True)
        return False
    found = Measured(looked.memories, await _measured(resources, sampled))

    async def write(tx: SpaceTransaction) -> None:
        await keep_measured(tx, resources.family.id, found)

    await resources.database.in_space(space.id, write)
    resources.measured[space.id] = Looked(looked.memories, found.memories, found.unrelated)
    return True


def keep_fresh(resources: Resources, space: SpaceRow) -> None:
    """Starts measuring a space that is due, as far as this process has seen. Waits for nothing."""
    looked = resources.measured.get(space.id)
    if looked is None or not _due(looked) or not _wanted(resources) or space.id in resources.measuring:
        return
    task = asyncio.create_task(freshen(resources, space), name="perdure-calibrating")
    resources.measuring[space.id] = task
    task.add_done_callback(lambda _: resources.measuring.pop(space.id, None))


async def stop(resources: Resources) -> None:
    """Ends what is under way."""
    tasks = list(resources.measuring.values())
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=1)


async def freshen(resources: Resources, space: SpaceRow) -> None:
    """Measures a space if it is due; where that fails, it is left until it has doubled or another process does it."""
    try:
        if _wanted(resources):
            await refresh(resources, space)
    except Exception as error:
        log.info("space %d could not be calibrated: %s", space.id, without_words(error))
        if looked := resources.measured.get(space.id):
            resources.measured[space.id] = replace(looked, tried=True)


def _wanted(resources: Resources) -> bool:
    return resources.settings.relevance_gate or resources.embedder.calibration is None


def _due(looked: Looked) -> bool:
    return not looked.tried and is_due(looked.memories, looked.measured)


async def _measured(resources: Resources, sampled: Sequence[SampledMemory]) -> Unrelated:
    vectors = np.stack([memory.vector for memory in sampled])
    asked = np.linspace(0, len(sampled) - 1, QUERIES).astype(int)
    queries = await resources.embedder.embed([sampled[place].text for place in asked], "query")
    found = queries @ vectors.T
    own = np.zeros(found.shape, bool)
    own[np.arange(QUERIES), asked] = True
    return measure(pairs_of(sampled), cosines(found[~own]), cosines(found[own]))
