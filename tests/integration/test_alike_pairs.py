"""What the bundled model and the words together take for the same: no fact is lost, and most repetitions are seen.

The pairs are in tests/data: 39 paraphrases and 78 pairs of facts that look alike (alike.json), 36 paraphrases,
contradictions and related facts in six languages (pairs.json). docs/recall.md tells the figures.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from perdure.embedding import open_embedder
from perdure.embedding.families import E5_CALIBRATION
from perdure.recall.saying import said
from perdure.rules.alike import Verdict, compared
from perdure.types import MemoryType, StoredMemory, Trust

DATA = Path(__file__).parents[1] / "data"
ALIKE = json.loads((DATA / "alike.json").read_text("utf-8"))
ITEMS = json.loads((DATA / "pairs.json").read_text("utf-8"))["items"]
PAIRS: Mapping[str, Sequence[tuple[str, str]]] = {
    "same": [*map(tuple, ALIKE["same"]), *((item["text"], item["same"]) for item in ITEMS)],
    "different": [*map(tuple, ALIKE["different"])],
    "contradicting": [(item["text"], item["contradicting"]) for item in ITEMS],
    "related": [(item["text"], item["related"]) for item in ITEMS],
}
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DOCS = (Path(__file__).parents[2] / "docs" / "recall.md").read_text("utf-8")


@dataclass(frozen=True)
class Measured:
    cosines: Mapping[str, np.ndarray]
    verdicts: Mapping[str, Counter[Verdict]]


def memory(text: str) -> StoredMemory:
    return StoredMemory("s", 1, text, MemoryType.GENERAL, 5, 0.5, 1, 0, "user", Trust.USER, NOON, NOON)


def verdict(pair: tuple[str, str], cosine: float) -> Verdict:
    """The stronger one, whichever of the two stands first."""
    one, other = (said(memory(text)) for text in pair)
    similarity = E5_CALIBRATION.calibrated_similarity(cosine)
    found = {compared(one, other, similarity), compared(other, one, similarity)}
    return max(found, key=list(Verdict).index)


@pytest.fixture(scope="module")
async def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    embedder = open_embedder("local", cache_dir=tmp_path_factory.mktemp("cache"))
    cosines, verdicts = {}, {}
    for kind, pairs in PAIRS.items():
        sides = [await embedder.embed([pair[side] for pair in pairs], "document") for side in (0, 1)]
        cosines[kind] = (sides[0] * sides[1]).sum(1)
        verdicts[kind] = Counter(verdict(*each) for each in zip(pairs, map(float, cosines[kind]), strict=True))
    await embedder.close()
    return Measured(cosines, verdicts)


@pytest.mark.parametrize("kind", ["different", "contradicting", "related"])
def test_no_two_facts_are_taken_for_the_same(measured: Measured, kind: str) -> None:
    assert measured.verdicts[kind][Verdict.SAME] == 0
    assert measured.verdicts[kind][Verdict.PERHAPS] <= 0.15 * len(PAIRS[kind])


def test_most_paraphrases_are_seen(measured: Measured) -> None:
    found = measured.verdicts["same"]
    assert found[Verdict.SAME] >= 0.2 * len(PAIRS["same"])
    assert found[Verdict.SAME] + found[Verdict.PERHAPS] >= 0.55 * len(PAIRS["same"])


@pytest.mark.parametrize(
    ("kind", "name"), [("same", "the same fact in other words"), ("different", "two facts that look alike")]
)
def test_the_page_tells_these_cosines(measured: Measured, kind: str, name: str) -> None:
    cosines = measured.cosines[kind]
    told = " – ".join(f"{each:.3f}" for each in (cosines.min(), np.median(cosines), cosines.max()))
    assert f"| {name}, {len(cosines)} pairs | {told} |" in DOCS


def test_the_page_tells_what_came_of_them(measured: Measured) -> None:
    page = " ".join(DOCS.split())
    looks, same = measured.verdicts["different"], measured.verdicts["same"]
    assert f"Of the 78 pairs that look alike none is taken for the same and {looks[Verdict.PERHAPS]} wait" in page
    assert (
        f"of the 75 paraphrases {same[Verdict.SAME]} are taken for the same, {same[Verdict.PERHAPS]} wait, and"
        f" {same[Verdict.OTHER]} are both shown"
    ) in page
