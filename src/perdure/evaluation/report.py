"""From answers to figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

from perdure.rules import metrics

OURS: Final = "perdure"
BASELINES: Final = ("bm25", "dense", "rrf")
SYSTEMS: Final = (OURS, *BASELINES)

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Ranking:
    """What was relevant, and what each system ranked, best first, as numbers that stand for messages or sessions."""

    relevant: tuple[int, ...]
    ranked: Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Answer:
    """How one question was answered. `turns` or `sessions` is None where the set knows no evidence of that kind."""

    category: str | None
    turns: Ranking | None
    sessions: Ranking | None
    search_ms: float
    embedding_ms: float | None

    def to_data(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, object]) -> Answer:
        """Raises TypeError or KeyError for anything that `to_data` did not make."""

        def ranking(value: object) -> Ranking | None:
            return Ranking(tuple(value["relevant"]), value["ranked"]) if isinstance(value, dict) else None

        search_ms, embedding_ms, category = data["search_ms"], data["embedding_ms"], data["category"]
        assert isinstance(search_ms, float)
        assert embedding_ms is None or isinstance(embedding_ms, float)
        assert category is None or isinstance(category, str)
        return cls(category, ranking(data["turns"]), ranking(data["sessions"]), search_ms, embedding_ms)


@dataclass(frozen=True, slots=True)
class Part:
    """Figures of all questions together and of each category, ours and the baselines'."""

    overall: Figures
    by_category: dict[str, Figures] = field(default_factory=dict)
    baselines: dict[str, Figures] = field(default_factory=dict)
    baselines_by_category: dict[str, dict[str, Figures]] = field(default_factory=dict)


UNCATEGORISED: Final = "uncategorised"

_MEASURES: Final[Mapping[str, Callable[[Sequence[int], Sequence[int]], float]]] = {
    "recall@5": lambda ranked, relevant: metrics.recall_at(5, ranked, relevant),
    "recall@10": lambda ranked, relevant: metrics.recall_at(10, ranked, relevant),
    "recall@20": lambda ranked, relevant: metrics.recall_at(20, ranked, relevant),
    "all@5": lambda ranked, relevant: metrics.all_at(5, ranked, relevant),
    "mrr": metrics.reciprocal_rank,
    "ndcg@10": lambda ranked, relevant: metrics.ndcg_at(10, ranked, relevant),
}


def figures(rankings: Sequence[Ranking], system: str) -> Figures:
    """The mean of each measure over the questions, rounded to four places, with their number `n`."""
    found: Figures = {"n": len(rankings)}
    for name, measure in _MEASURES.items():
        found[name] = round(metrics.mean(measure(ranking.ranked[system], ranking.relevant) for ranking in rankings), 4)
    return found


def part(answers: Iterable[tuple[str | None, Ranking | None]]) -> Part:
    """Figures over those answers that have a ranking."""
    known = [(category or UNCATEGORISED, ranking) for category, ranking in answers if ranking is not None]
    rankings = [ranking for _, ranking in known]
    of = {
        name: [ranking for category, ranking in known if category == name]
        for name in sorted({category for category, _ in known})
    }
    return Part(
        figures(rankings, OURS),
        {name: figures(those, OURS) for name, those in of.items()},
        {baseline: figures(rankings, baseline) for baseline in BASELINES},
        {baseline: {name: figures(those, baseline) for name, those in of.items()} for baseline in BASELINES},
    )


def latency(milliseconds: Sequence[float]) -> dict[str, float]:
    """The middle and the slow end, in milliseconds."""
    return {f"p{q}": round(metrics.percentile(milliseconds, q), 2) for q in (50, 95)} if milliseconds else {}


@dataclass(frozen=True, slots=True)
class Report:
    """What a run measured. `sessions` is None for sets without sessions of their own."""

    turns: Part
    sessions: Part | None
    latency_ms: dict[str, float]
    latency_without_embedding_ms: dict[str, float]
    profile: str
    embedder: str


def summarise(answers: Sequence[Answer], *, profile: str, embedder: str, with_sessions: bool) -> Report:
    """The figures of a run."""
    whole = [answer.search_ms + answer.embedding_ms for answer in answers if answer.embedding_ms is not None]
    return Report(
        part((answer.category, answer.turns) for answer in answers),
        part((answer.category, answer.sessions) for answer in answers) if with_sessions else None,
        latency(whole),
        latency([answer.search_ms for answer in answers]),
        profile,
        embedder,
    )
