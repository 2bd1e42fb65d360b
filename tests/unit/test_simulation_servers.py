"""The script of the two servers: what it says is what it means, and a promise that breaks is told."""

from __future__ import annotations

import numpy as np
import pytest

from perdure.errors import EmbeddingUnavailable
from perdure.simulation.ltm_days import Asked, Evening, Lived
from perdure.simulation.ltm_embedder import ScriptedEmbedder
from perdure.simulation.ltm_invariants import fact_invariants, share_shown
from perdure.simulation.ltm_life import MEMBERS, PERSONAS, scripted_servers
from perdure.simulation.ltm_subjects import PERSONAL, SHARED, SMALL_TALK, TOO_SHORT, subject_in

SUBJECTS = (*PERSONAL, *SHARED)


def test_every_text_is_about_what_it_was_written_for() -> None:
    for subject in SUBJECTS:
        assert subject_in(subject.asks) is subject
        assert all(subject_in(subject.fact.replace("{value}", value)) is subject for value in subject.values)
    assert all(subject_in(text) is None for text in (*SMALL_TALK, TOO_SHORT))


async def test_a_question_is_near_its_facts_and_far_from_all_others() -> None:
    embedder = ScriptedEmbedder()
    facts = [(subject, subject.fact.replace("{value}", value)) for subject in SUBJECTS for value in subject.values]
    stored = await embedder.embed([fact for _, fact in facts], "document")
    asked = await embedder.embed([subject.asks for subject in SUBJECTS], "query")
    same = np.array([[subject is one for one, _ in facts] for subject in SUBJECTS])
    cosines = asked @ stored.T
    assert cosines[same].min() > 0.55
    assert cosines[~same].max() < 0.45
    assert (await embedder.embed(SMALL_TALK, "query") @ stored.T).max() < 0.45
    assert embedder.texts == len(facts) + len(SUBJECTS) + len(SMALL_TALK)
    await embedder.close()


async def test_an_embedder_that_is_down_says_so() -> None:
    embedder = ScriptedEmbedder()
    embedder.down = True
    with pytest.raises(EmbeddingUnavailable):
        await embedder.embed(["text"], "query")


def test_the_life_is_the_same_every_time_and_has_all_that_the_promises_are_about() -> None:
    life = scripted_servers()
    assert life == scripted_servers()
    turns = [turn for day in life.days for turn in day.turns]
    assert len(life.days) == 200
    assert {turn.server for turn in turns} == set(MEMBERS)
    assert {persona for turn in turns for persona in turn.personas} == {
        one for both in PERSONAS.values() for one in both
    }
    assert {one for turn in turns for one in (turn.speaker, *turn.others)} == {
        one for all_ in MEMBERS.values() for one in all_
    }
    assert any(len(turn.personas) > 1 for turn in turns)
    assert any(not day.turns for day in life.days)
    assert sum(day.down for day in life.days) == 12
    lessons = [turn.lesson for turn in turns if turn.lesson]
    taught = [(one.owner, one.subject.word, one.persona) for one in lessons]
    assert len(taught) > len(set(taught))
    assert {one.persona is None for one in lessons} == {True, False}
    assert all(turn.speaker in MEMBERS[turn.server] and turn.speaker not in turn.others for turn in turns)
    assert {(probe.owner, probe.subject.word, probe.taught) for probe in life.probes} <= set(taught)


def evening(day: int, shown: float) -> Evening:
    return Evening(day, False, 1, shown, 100.0, 10, 0)


def test_a_life_that_kept_its_promises_is_told_so() -> None:
    lived = Lived(40, [evening(day, 50.0) for day in range(40)], [Asked(9, 4, 4, 2)], turns=40, samples=40, taught=9)
    assert all(one.holds for one in fact_invariants(lived))
    assert share_shown(lived) == 0.5


def test_every_broken_promise_is_told() -> None:
    lived = Lived(40, [evening(day, 90.0) for day in range(40)], [Asked(9, 4, 3, 2)], turns=40, samples=41)
    lived.twice = lived.unscored = lived.sleeping = lived.differing = lived.traces = 1
    lived.refused.append("limit_exceeded: no room")
    assert not any(one.holds for one in fact_invariants(lived))


def test_a_life_too_short_to_get_cheaper_isnt_judged_by_that() -> None:
    assert len(fact_invariants(Lived(10))) == len(fact_invariants(Lived(200))) - 1
    assert share_shown(Lived(10)) == 1.0
