"""Episodes: what belongs together of a day becomes one memory that tells what happened, with what it was made of."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from perdure.cognition.conclusion import Conclusion, Thinking, Written, evidence_of, prepared, store
from perdure.cognition.neighbours import clusters_of
from perdure.cognition.showing import numbered, shown
from perdure.embedding import Calibration, Matrix
from perdure.ingest import Draft, masked_labels
from perdure.llm import render
from perdure.llm.conclusions import EpisodeSummary
from perdure.resources import calibration_of
from perdure.rules.calibration import EPISODE_DEDUP_THRESHOLD
from perdure.store.changes import relate, supersede
from perdure.store.cognition import Layer, read_marks
from perdure.store.database import SpaceTransaction
from perdure.store.memories import read_rows, read_vectors
from perdure.store.queue import Queue, enqueue
from perdure.store.thoughts import happened, live_of_type, made_within, set_successor, told_together
from perdure.text import mask
from perdure.types import MemoryType, Trust

EPISODES: Final[Layer] = "episodes"
SALIENCE: Final = 8.0
"""Of an episode (mission: 8)."""
CAME_IN: Final = timedelta(hours=24)
"""How far back memories came in that are looked at (mission: 24 h)."""
HAPPENED: Final = timedelta(hours=48)
"""How far back they happened: an old conversation that was imported today is no episode of today."""
COMPARED: Final = 200
"""Live episodes that a new one is compared with, the newest."""
TOKENS: Final = 6000
"""Tokens of the memories of one question, by our own estimate; a cluster that is larger is told by its weightiest."""
SAME: Final = "a newer episode tells the same"


async def episodes(thinking: Thinking) -> AsyncIterator[Conclusion]:
    """One conclusion per cluster of the last day that has not been told with these very members."""
    calibration = await thinking.read(lambda tx: calibration_of(tx, thinking.resources, thinking.space))
    if calibration is None:
        return
    for audience, vectors in (await thinking.read(lambda tx: _happened(tx, thinking))).items():
        clusters = clusters_of(vectors, at_least=calibration.cluster_similarity, unrelated=calibration.unrelated_mean)
        for cluster in clusters:
            members = await thinking.read(partial(_to_tell, cluster, audience, thinking))
            if members:
                await thinking.before_asking("episode")
                yield await _conclude(thinking, members, audience, calibration)


async def _happened(tx: SpaceTransaction, thinking: Thinking) -> dict[str | None, dict[int, Matrix]]:
    """The vectors of the memories of the last day, by audience and id."""
    now, family = thinking.began_at, thinking.resources.family.id
    found = await happened(tx, since=now - CAME_IN, happened_since=now - HAPPENED)
    return {audience: await read_vectors(tx, family, ids) for audience, ids in found.items()}


def mark_of_cluster(ids: Sequence[int]) -> str:
    """The mark of memories that were told of together."""
    return hashlib.md5(",".join(map(str, sorted(ids))).encode(), usedforsecurity=False).hexdigest()


async def _to_tell(cluster: Sequence[int], audience: str | None, thinking: Thinking, tx: SpaceTransaction) -> list[int]:
    """The members of an episode: of the cluster, and of what was told together with some of them in the last days.

    None, if all of the cluster was told together before. The day that is looked at moves on, and memories fall out of
    it one by one: what is left of an episode is none of its own, and what comes to it doesn't tell it without them.
    """
    marks = await read_marks(tx, EPISODES, cluster)
    told = set(marks.values())
    if len(told) == 1 and len(marks) == len(cluster):
        return []
    since = thinking.began_at - HAPPENED
    return sorted({*cluster, *await told_together(tx, EPISODES, sorted(told), since=since, audience=audience)})


async def _conclude(
    thinking: Thinking, cluster: Sequence[int], audience: str | None, calibration: Calibration
) -> Conclusion:
    rows = await thinking.read(lambda tx: read_rows(tx, thinking.space.name, cluster))
    members = sorted((row.memory for row in rows.values()), key=lambda memory: (memory.source_date, memory.id))
    weightiest = shown(sorted(members, key=lambda memory: (-memory.salience, memory.id)), TOKENS)
    told = [memory for memory in members if memory in weightiest]
    answer = await thinking.resources.models.ask(
        "episode", render("episode", memories=numbered(told)), EpisodeSummary, ledger=thinking.ledger
    )
    draft = Draft(
        text=mask(answer.value.summary).text,
        source="episode_synthesis",
        trust=Trust.DERIVED,
        source_date=members[-1].source_date,
        memory_type=MemoryType.EPISODE,
        salience=SALIENCE,
        tags=masked_labels(answer.value.tags),
        audience=audience,
        conversation_id=_common([memory.conversation_id for memory in members]),
        language=_common([memory.language for memory in members]),
        evidence=evidence_of(members),
        made_by=answer.made_by,
    )
    text = await prepared(thinking, draft)
    nearest = (
        calibration.episode_distance * thinking.resources.settings.episode_dedup_threshold / EPISODE_DEDUP_THRESHOLD
    )

    async def write(tx: SpaceTransaction, _: int) -> Written:
        ids = [memory.id for memory in members]
        vector = text.chunks[0].vector
        old = await _repeated(tx, thinking, audience, members=frozenset(ids), vector=vector, nearest=nearest)
        olds = list((await read_rows(tx, thinking.space.name, old)).values())
        await supersede(tx, olds, None, reason=SAME, changed_by=EPISODES, at=tx.now)
        made = await store(tx, thinking.resources, thinking.space, text)
        await set_successor(tx, old, made[0])
        await relate(tx, made, ids)
        if thinking.resources.models.can("entities"):
            origin = {"audience": audience, "speaker": None, "occurred_at": draft.source_date}
            await enqueue(tx, Queue.FOLLOWUP, "entities", {"ids": list(made)}, **origin)  # type: ignore[arg-type]
        return Written(made, tuple(old))

    mark = mark_of_cluster([memory.id for memory in members])
    return Conclusion(
        EPISODES,
        f"{len(members)} memories of a day told as one",
        tuple(members),
        answer.made_by,
        {memory.id: mark for memory in members},
        write,
    )


async def _repeated(
    tx: SpaceTransaction,
    thinking: Thinking,
    audience: str | None,
    *,
    members: frozenset[int],
    vector: Matrix | None,
    nearest: float,
) -> list[int]:
    """Live episodes that the new one tells again: nearer than `nearest`, or made of nothing but its members."""
    ids = await live_of_type(tx, MemoryType.EPISODE, audience, COMPARED)
    vectors = await read_vectors(tx, thinking.resources.family.id, ids)
    near = {each for each in ids if vector is not None and each in vectors and 1.0 - vectors[each] @ vector < nearest}
    within = await made_within(tx, [each for each in ids if each not in near], sorted(members))
    return sorted(near.union(within))


def _common(values: Sequence[str | None]) -> str | None:
    """What all of them are, if they are all the same."""
    return values[0] if len(set(values)) == 1 else None
