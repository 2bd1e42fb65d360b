"""What a verdict does to two memories."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from perdure.rules.verdicts import (
    COMPATIBLE,
    CONTRADICTS,
    DUPLICATE,
    TRUST_RANK,
    UPDATES,
    Effect,
    Plan,
    Side,
    effect,
    plan,
    plan_for_saved,
)
from perdure.types import Trust

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NEW = 10**18


def side(
    memory_id: int,
    *,
    hours: float = 0,
    trust: str = "user",
    audience: str | None = None,
    speaker: str | None = None,
    names: tuple[str, ...] = (),
) -> Side:
    return Side(memory_id, trust, NOON + timedelta(hours=hours), audience, speaker, frozenset(names))


def test_every_trust_has_a_rank_of_its_own_in_the_order_of_the_type() -> None:
    assert sorted(TRUST_RANK, key=TRUST_RANK.__getitem__, reverse=True) == list(Trust)
    assert len(set(TRUST_RANK.values())) == len(Trust)


def test_compatible_memories_leave_each_other_alone() -> None:
    assert effect(COMPATIBLE, side(NEW), side(1)) is Effect.NOTHING


@pytest.mark.parametrize("verdict", [UPDATES, CONTRADICTS])
def test_the_one_observed_later_supersedes_the_earlier_one_whichever_came_in_first(verdict: str) -> None:
    assert effect(verdict, side(NEW, hours=1), side(1)) is Effect.SUPERSEDE_OLD
    assert effect(verdict, side(NEW), side(1, hours=1)) is Effect.SUPERSEDE_NEW


def test_of_two_observed_at_one_moment_the_one_that_came_in_later_wins() -> None:
    assert effect(UPDATES, side(NEW), side(1)) is Effect.SUPERSEDE_OLD
    assert effect(UPDATES, side(1), side(NEW)) is Effect.SUPERSEDE_NEW


@pytest.mark.parametrize(("new_hours", "new_trust", "old_trust"), [(1, "external", "user"), (-1, "user", "external")])
def test_lower_trust_never_supersedes_higher_trust(new_hours: float, new_trust: str, old_trust: str) -> None:
    assert effect(CONTRADICTS, side(NEW, hours=new_hours, trust=new_trust), side(1, trust=old_trust)) is Effect.CONFLICT


def test_higher_trust_supersedes_lower_trust_when_it_is_later() -> None:
    assert effect(CONTRADICTS, side(NEW, hours=1), side(1, trust="external")) is Effect.SUPERSEDE_OLD


def test_a_private_memory_never_supersedes_one_of_the_whole_space() -> None:
    private = side(NEW, hours=1, audience="ada")
    assert effect(UPDATES, private, side(1)) is Effect.CONFLICT_UNSEEN
    assert effect(UPDATES, side(NEW), side(1, hours=1, audience="ada")) is Effect.CONFLICT_UNSEEN


def test_newer_truth_of_the_whole_space_supersedes_a_private_one() -> None:
    assert effect(UPDATES, side(NEW, audience="ada"), side(1, hours=1)) is Effect.SUPERSEDE_NEW


def test_a_conflict_with_a_private_memory_is_not_told_to_the_whole_space() -> None:
    private = side(NEW, audience="ada", trust="user")
    assert effect(UPDATES, private, side(1, hours=1, trust="external")) is Effect.CONFLICT_UNSEEN


def test_a_duplicate_adds_to_the_memory_that_is_there() -> None:
    assert effect(DUPLICATE, side(NEW, trust="external"), side(1)) is Effect.MERGE
    assert effect(DUPLICATE, side(NEW), side(1)) is Effect.MERGE


def test_the_users_own_word_takes_the_place_of_the_same_from_a_stranger() -> None:
    assert effect(DUPLICATE, side(NEW), side(1, trust="external")) is Effect.SUPERSEDE_OLD


def test_what_was_told_in_private_is_not_merged_into_what_everybody_sees() -> None:
    assert effect(DUPLICATE, side(NEW, audience="ada"), side(1)) is Effect.NOTHING


def test_what_is_no_verdict_is_an_error() -> None:
    with pytest.raises(ValueError, match="PERHAPS"):
        effect("PERHAPS", side(NEW), side(1))


def test_without_candidates_there_is_nothing_to_do() -> None:
    assert plan(side(NEW), []) == Plan()


def test_a_new_memory_may_supersede_one_and_be_superseded_by_another() -> None:
    judged = [(side(1, hours=-2), UPDATES), (side(2, hours=2), CONTRADICTS), (side(3, hours=1), UPDATES)]
    assert plan(side(NEW), judged) == Plan(superseded=(1,), superseded_by=2)


def test_a_truth_said_again_overturns_what_was_said_in_between() -> None:
    boston, denver = side(1, hours=-3), side(2, hours=-1)
    assert plan(side(NEW), [(boston, DUPLICATE), (denver, CONTRADICTS)]) == Plan(merge_into=1, superseded=(2,))


def test_an_old_truth_said_again_late_does_not_overturn_the_newer_one() -> None:
    boston, denver = side(1, hours=-3), side(2, hours=1)
    assert plan(side(NEW), [(boston, DUPLICATE), (denver, CONTRADICTS)]) == Plan(merge_into=1, superseded_by=2)


def test_of_several_duplicates_the_most_trusted_and_then_the_newest_takes_the_evidence() -> None:
    judged = [(side(1, trust="tool"), DUPLICATE), (side(2), DUPLICATE), (side(3, hours=-1), DUPLICATE)]
    assert plan(side(NEW, trust="derived"), judged) == Plan(merge_into=2)


def test_conflicts_are_named_by_both_and_private_ones_by_one() -> None:
    outsider = side(NEW, hours=1, trust="external", audience="ada")
    judged = [(side(1, audience="ada"), CONTRADICTS), (side(2), CONTRADICTS), (side(3), COMPATIBLE)]
    assert plan(outsider, judged) == Plan(conflicts=(1,), unseen=(2,))


def test_what_is_superseded_at_once_is_in_conflict_with_nobody() -> None:
    stranger = side(NEW, trust="external")
    judged = [(side(1, hours=-1), CONTRADICTS), (side(2, hours=1, trust="external"), UPDATES)]
    assert plan(stranger, judged) == Plan(superseded_by=2)


def test_what_was_saved_on_request_takes_the_place_of_what_it_outdates_and_of_the_same() -> None:
    judged = [(side(1, hours=-1), UPDATES), (side(2, hours=-1), DUPLICATE), (side(3, trust="external"), DUPLICATE)]
    assert plan_for_saved(side(5), judged) == Plan(superseded=(1, 2, 3))


def test_what_was_saved_on_request_is_never_superseded() -> None:
    judged = [(side(1, hours=1), UPDATES), (side(2, hours=1), DUPLICATE), (side(3), COMPATIBLE)]
    assert plan_for_saved(side(5), judged) == Plan(conflicts=(1,))


def test_a_saved_private_memory_names_what_the_space_knows_better() -> None:
    private = side(5, audience="ada")
    assert plan_for_saved(private, [(side(1, hours=1), UPDATES), (side(2), UPDATES)]) == Plan(unseen=(1, 2))


def test_a_memory_saved_with_less_trust_is_in_conflict_with_what_it_says_otherwise_than() -> None:
    assert plan_for_saved(side(5, trust="assistant"), [(side(1), CONTRADICTS)]) == Plan(conflicts=(1,))
    assert plan_for_saved(side(5, trust="assistant"), [(side(1), DUPLICATE)]) == Plan()


@pytest.mark.parametrize("verdict", [UPDATES, CONTRADICTS])
@pytest.mark.parametrize("hours", [1, -1])
def test_two_people_who_speak_for_themselves_never_outdate_each_other(verdict: str, hours: float) -> None:
    bob, ada = side(NEW, hours=hours, speaker="bob"), side(1, speaker="ada")
    assert effect(verdict, bob, ada) is Effect.CONFLICT
    assert effect(verdict, side(NEW, hours=hours, speaker="bob", audience="x"), ada) is not Effect.SUPERSEDE_OLD


def test_who_names_the_other_speaks_of_them() -> None:
    bob, ada = side(NEW, hours=1, speaker="bob", names=("ada",)), side(1, speaker="ada")
    assert effect(UPDATES, bob, ada) is Effect.SUPERSEDE_OLD
    assert effect(DUPLICATE, bob, ada) is Effect.MERGE


def test_what_two_people_say_in_the_same_words_of_themselves_stays_two_memories() -> None:
    assert effect(DUPLICATE, side(NEW, speaker="bob"), side(1, speaker="ada")) is Effect.NOTHING


def test_nobody_in_particular_and_strangers_are_judged_as_ever() -> None:
    assert effect(UPDATES, side(NEW, hours=1), side(1, speaker="ada")) is Effect.SUPERSEDE_OLD
    assert effect(UPDATES, side(NEW, hours=1, speaker="ada"), side(1, speaker="ada")) is Effect.SUPERSEDE_OLD
    mail = side(1, speaker="grace", trust="external")
    assert effect(UPDATES, side(NEW, hours=1, speaker="ada"), mail) is Effect.SUPERSEDE_OLD


def test_a_truth_said_again_speaks_of_whom_either_telling_names() -> None:
    again = side(NEW, hours=2, speaker="bob", names=("ada",))
    judged = [(side(1, speaker="bob"), DUPLICATE), (side(2, hours=1, speaker="ada"), UPDATES)]
    assert plan(again, judged) == Plan(merge_into=1, superseded=(2,))


def test_what_somebody_saved_of_themselves_is_in_conflict_with_what_another_says() -> None:
    assert plan_for_saved(side(5, speaker="bob"), [(side(1, speaker="ada"), UPDATES)]) == Plan(conflicts=(1,))
