"""The relevance gate, measured: how often it keeps silent where nothing helps, and what it keeps of what would help."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np

from perdure.calibrating import refresh
from perdure.errors import InvalidInput
from perdure.evaluation.formats import Format
from perdure.evaluation.identity import space_name
from perdure.evaluation.run import BATCH, EvaluatedMemory, Watcher
from perdure.evaluation.sets import UNNAMED, Choice, EvaluationSet, read_set
from perdure.ingest import batches
from perdure.recall import Turn, Weighed, read_history, weigh
from perdure.store.spaces import SpaceRow
from perdure.store.survey import Survey, survey_space
from perdure.types import Filters

PLACES: Final = 3
"""Memories that a recall injects at most."""
STEPS: Final = tuple(round(float(step), 2) for step in np.arange(-4.0, 6.01, 0.1))
"""Where the curve is told: thresholds above (below) the one in use, in spreads."""

GateFigures = dict[str, float | None]


@dataclass(frozen=True, slots=True)
class LabelledTurn:
    """A turn, and the messages of its conversation that help with it; none where nothing does."""

    space: str
    text: str
    history: Sequence[tuple[str, str]]
    evidence: tuple[str, ...]
    category: str
    language: str
    part: str


@dataclass(frozen=True, slots=True)
class Judged:
    """How one turn fared. `surplus` is the highest of the places, `right` the highest of those that help.

    `ungated` and `gated` are the shares of the evidence among the places without and with the gate.
    """

    turn: LabelledTurn
    surplus: float
    right: float | None
    injected: int
    ungated: float
    gated: float


@dataclass(frozen=True, slots=True)
class GateReport:
    """Figures of all turns, and by part, category and language; `curve` is over thresholds beside the one in use."""

    memories: int
    overall: GateFigures
    by_part: Mapping[str, GateFigures]
    by_category: Mapping[str, GateFigures]
    by_language: Mapping[str, GateFigures]
    curve: Sequence[Mapping[str, float]]
    embedder: str


def read_turns(path: Path, kind: Format, choice: Choice) -> tuple[EvaluationSet, tuple[LabelledTurn, ...]]:
    """A set with the turns to measure the gate on. Of a set that isn't JSON lines, they are its questions.

    A query of JSON lines may have `history` (chat messages), `language` and `part`; one with an empty `evidence` is a
    turn that nothing helps with. Raises InvalidInput as `read_set` does, and for a query that isn't one.
    """
    chosen = read_set(path, kind, choice)
    if kind == "jsonl":
        return chosen, tuple(_labelled(path, chosen))
    turns = [
        LabelledTurn(str(question.space), question.text, (), question.evidence, question.category or "", "", "")
        for question in chosen.questions
        if question.evidence
    ]
    return chosen, tuple(turns)


def _labelled(path: Path, chosen: EvaluationSet) -> Iterator[LabelledTurn]:
    for number, entry in _queries(path):
        space, text, evidence = entry.get("space", UNNAMED), entry.get("text"), entry.get("evidence", ())
        if space not in chosen.conversations or not isinstance(text, str) or not isinstance(evidence, Sequence):
            continue
        try:
            history = read_history(entry.get("history", ()))
        except InvalidInput as error:
            raise error.at_line(number) from error
        named = {name: str(entry.get(name) or "") for name in ("category", "language", "part")}
        yield LabelledTurn(space, text, history, tuple(map(str, evidence)), **named)


def _queries(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The queries by line number; a broken line was refused when the set was read."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and entry.get("type") == "query":
                yield number, entry


async def evaluate_gate(
    memory: EvaluatedMemory, chosen: EvaluationSet, turns: Sequence[LabelledTurn], watcher: Watcher
) -> GateReport:
    """Imports the conversations, measures each space as the worker does, and weighs what each turn would get.

    Raises EmbeddingUnavailable, EmbeddingFailed, DatabaseUnavailable.
    """
    resources = memory.resources
    await resources.noise.load()
    judged: list[Judged] = []
    memories = 0
    for conversation, messages in chosen.conversations.items():
        name = space_name(f"gate:{chosen.name}", conversation, messages, resources)
        for _, batch in batches(messages, BATCH):
            await memory.space(name).import_messages(batch, source="eval")
            watcher.imported(len(batch))
        row = await memory.find_space(name)
        assert row is not None
        await refresh(resources, row)
        survey = await resources.database.in_space(row.id, lambda tx: survey_space(tx, resources.family.id))
        memories += len(survey.memories)
        for turn in turns:
            if turn.space == conversation:
                judged.append(await _judge(memory, row, survey, turn))
                watcher.asked(1)
    return summarise_gate(judged, memories=memories, embedder=resources.family.name)


async def _judge(memory: EvaluatedMemory, space: SpaceRow, survey: Survey, turn: LabelledTurn) -> Judged:
    asked = Turn(turn.text, turn.history, None, PLACES, Filters())
    found = await weigh(memory.resources, space, asked)
    wanted = {survey.roots.get(message, -place) for place, message in enumerate(turn.evidence, 1)}

    def root(one: Weighed) -> int:
        return one.hit.memory.chunk_of or one.hit.memory.id

    def share(ones: Sequence[Weighed]) -> float:
        return len(wanted & {root(one) for one in ones}) / len(wanted) if wanted else 0.0

    passed = [one for one in found if one.gate.passed]
    right = [one.gate.surplus for one in found if root(one) in wanted]
    highest = max((one.gate.surplus for one in found), default=-np.inf)
    return Judged(turn, highest, max(right, default=None), len(passed), share(found), share(passed))


def summarise_gate(judged: Sequence[Judged], *, memories: int, embedder: str) -> GateReport:
    def by(key: Callable[[LabelledTurn], str]) -> dict[str, GateFigures]:
        names = sorted({key(one.turn) for one in judged} - {""})
        return {name: _figures([one for one in judged if key(one.turn) == name]) for name in names}

    curve = []
    for step in STEPS:
        figures = _figures(judged, step)
        curve.append({"step": step, **{name: figures[name] or 0.0 for name in ("silent", "kept")}})
    return GateReport(
        memories,
        _figures(judged),
        by(lambda turn: turn.part),
        by(lambda turn: turn.category),
        by(lambda turn: turn.language),
        curve,
        embedder,
    )


def _figures(judged: Sequence[Judged], step: float = 0.0) -> GateFigures:
    """`silent` and `kept` for a threshold so far above the one in use; the rest is of the one in use."""
    empty = [one for one in judged if not one.turn.evidence]
    asking = [one for one in judged if one.turn.evidence]
    found = [one.right for one in asking if one.right is not None]
    return {
        "empty": len(empty),
        "silent": fmean(one.surplus <= step for one in empty) if empty else None,
        "asking": len(asking),
        "found": len(found),
        "kept": fmean(right > step for right in found) if found else None,
        "recall@3_ungated": fmean(one.ungated for one in asking) if asking else None,
        "recall@3": fmean(one.gated for one in asking) if asking else None,
        "injected": fmean(one.injected for one in asking) if asking else None,
    }
