"""The bundled family's thresholds, on labelled pairs in six languages (tests/data/pairs.json)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from perdure.embedding import Matrix, open_embedder
from perdure.embedding.families import E5_CALIBRATION as E5
from perdure.rules.calibration import MIN_PAIRS, calibrate, measure

DATA = json.loads((Path(__file__).parents[1] / "data" / "pairs.json").read_text("utf-8"))
ITEMS = DATA["items"]
CLASSES = ("same", "contradicting", "related", "unrelated")
LANGUAGES = np.array([item["language"] for item in ITEMS])


@dataclass(frozen=True)
class Measured:
    vectors: Mapping[str, Matrix]
    """Each class, and `text`, as documents."""
    questions: Matrix

    def pairs(self, kind: str) -> np.ndarray:
        return (self.vectors["text"] * self.vectors[kind]).sum(1)


@pytest.fixture(scope="module")
async def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    embedder = open_embedder("local", cache_dir=tmp_path_factory.mktemp("cache"))
    vectors = {kind: await embedder.embed([item[kind] for item in ITEMS], "document") for kind in ("text", *CLASSES)}
    questions = await embedder.embed([item["question"] for item in ITEMS], "query")
    await embedder.close()
    return Measured(vectors, questions)


def share(condition: np.ndarray) -> float:
    return float(np.mean(condition))


def test_there_are_enough_pairs_in_six_languages() -> None:
    assert len(ITEMS) >= 30
    assert set(LANGUAGES) == {"en", "de", "es", "zh", "ru", "th"}
    assert all({*CLASSES, "text", "question"} <= set(item) for item in ITEMS)


def test_contradiction_candidates_are_the_same_fact_and_its_contradictions_never_strangers(measured: Measured) -> None:
    near = {kind: share(1 - measured.pairs(kind) < E5.contradiction_distance) for kind in CLASSES}
    assert near["same"] == 1.0
    assert near["contradicting"] >= 0.95
    assert near["unrelated"] == 0.0


def test_clusters_join_what_belongs_together_and_no_strangers(measured: Measured) -> None:
    joined = {kind: share(measured.pairs(kind) >= E5.cluster_similarity) for kind in CLASSES}
    assert joined["same"] == 1.0
    assert 0.25 <= joined["related"] <= 0.75
    assert joined["unrelated"] == 0.0


def test_an_episode_is_replaced_by_its_retelling_only(measured: Measured) -> None:
    near = {kind: share(1 - measured.pairs(kind) < E5.episode_distance) for kind in CLASSES}
    assert near["same"] >= 0.85
    assert near["related"] == near["unrelated"] == 0.0


def test_a_transition_finds_related_memories_and_hardly_a_stranger(measured: Measured) -> None:
    near = {kind: share(1 - measured.pairs(kind) < E5.transition_distance) for kind in CLASSES}
    assert near["related"] >= 0.75
    assert near["unrelated"] <= 0.1


def test_a_fact_is_found_by_its_question_and_not_by_anothers(measured: Measured) -> None:
    cosines = measured.questions @ measured.vectors["text"].T
    own = np.eye(len(ITEMS), dtype=bool)
    same_language = LANGUAGES[:, None] == LANGUAGES[None]
    assert share(cosines[own] >= E5.fact_similarity) >= 0.85
    assert share(cosines[same_language & ~own] >= E5.fact_similarity) <= 0.05


def test_identical_is_one_and_unrelated_is_about_zero_in_every_language(measured: Measured) -> None:
    unrelated = [E5.calibrated_similarity(float(cosine)) for cosine in measured.pairs("unrelated")]
    assert abs(float(np.median(unrelated))) < 0.15
    related = [E5.calibrated_similarity(float(cosine)) for cosine in measured.pairs("related")]
    same = [E5.calibrated_similarity(float(cosine)) for cosine in measured.pairs("same")]
    assert np.median(unrelated) + 0.2 < np.median(related) < np.median(same) - 0.2
    assert E5.calibrated_similarity(1.0) == 1.0


def test_calibrating_e5_as_if_nobody_knew_it_gives_usable_thresholds(measured: Measured) -> None:
    """What a space of an unknown family gets from its own memories: the mean, and thresholds that still separate."""
    pairs = [
        float(measured.vectors["text"][i] @ measured.vectors["related"][j])
        for i in range(len(ITEMS))
        for j in range(len(ITEMS))
        if i != j and LANGUAGES[i] == LANGUAGES[j]
    ]
    assert len(pairs) >= MIN_PAIRS
    found = calibrate(measure(pairs))
    assert abs(found.unrelated_mean - E5.unrelated_mean) < 0.02
    assert share(1 - measured.pairs("same") < found.contradiction_distance) >= 0.95
    assert share(1 - measured.pairs("unrelated") < found.contradiction_distance) == 0.0
