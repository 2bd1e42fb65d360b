"""The figures of a run, checked against numbers worked out by hand."""

from __future__ import annotations

import json

import pytest

from perdure.evaluation.report import SYSTEMS, Answer, Ranking, figures, latency, part, summarise

FIRST = Ranking((1,), {system: [1, 2, 3] for system in SYSTEMS})
SECOND = Ranking((4, 5), {system: [9, 4, 8, 7, 6, 5] for system in SYSTEMS})
NOTHING = Ranking((1,), {system: [] for system in SYSTEMS})


def answer(ranking: Ranking | None, category: str | None = "a", sessions: Ranking | None = None) -> Answer:
    return Answer(category, ranking, sessions, 2.0, 10.0)


def test_figures_are_means_over_the_questions() -> None:
    assert figures([FIRST, SECOND], "bm25") == {
        "n": 2,
        "recall@5": 0.75,
        "recall@10": 1.0,
        "recall@20": 1.0,
        "all@5": 0.5,
        "mrr": 0.75,
        "ndcg@10": pytest.approx((1 + (0.6309 + 0.3562) / 1.6309) / 2, abs=1e-4),
    }


def test_a_question_that_nothing_was_found_for_counts_as_zero() -> None:
    assert figures([FIRST, NOTHING], "dense")["recall@10"] == 0.5


def test_figures_of_no_questions_are_zero_beside_n_zero() -> None:
    assert set(figures([], "perdure").values()) == {0.0}


def test_each_category_is_measured_by_itself_and_one_without_a_name_has_one() -> None:
    found = part([("a", FIRST), ("b", SECOND), (None, NOTHING), ("b", None)])
    assert {name: values["n"] for name, values in found.by_category.items()} == {"a": 1, "b": 1, "uncategorised": 1}
    assert found.overall["n"] == 3
    assert found.by_category["a"]["recall@5"] == 1.0
    assert set(found.baselines) == {"bm25", "dense", "rrf"}


def test_questions_without_evidence_of_a_kind_are_left_out_of_that_kind_only() -> None:
    report = summarise(
        [answer(FIRST, sessions=FIRST), answer(None, sessions=SECOND)], profile="p", embedder="e", with_sessions=True
    )
    assert report.turns.overall["n"] == 1
    assert report.sessions is not None
    assert report.sessions.overall["n"] == 2


def test_latency_is_told_with_and_without_embedding() -> None:
    report = summarise([answer(FIRST)] * 3, profile="p", embedder="e", with_sessions=False)
    assert report.latency_ms == {"p50": 12.0, "p95": 12.0}
    assert report.latency_without_embedding_ms == {"p50": 2.0, "p95": 2.0}
    assert latency([]) == {}


def test_an_answer_survives_being_written_down() -> None:
    given = answer(SECOND, category=None, sessions=FIRST)
    back = Answer.from_data(json.loads(json.dumps(given.to_data())))
    again = summarise([back], profile="p", embedder="e", with_sessions=True)
    assert again == summarise([given], profile="p", embedder="e", with_sessions=True)
