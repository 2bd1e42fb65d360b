"""The card says what memories bear out, believes the newer one, and stays small."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.identity import (
    MOST_PEOPLE,
    Line,
    Profile,
    Update,
    as_data,
    card,
    fitting,
    from_data,
    updated,
    without,
)

DAY = datetime(2026, 3, 1, tzinfo=UTC)
WEIGHTS = {number: (4, DAY + timedelta(days=number)) for number in range(40)}


def change(field: str, value: str, *evidence: int, detail: str = "", action: str = "set") -> Update:
    return Update(field, action, value, value.casefold(), frozenset(evidence), detail)  # type: ignore[arg-type]


def after(*changes: Update, profile: Profile | None = None) -> Profile:
    before = profile or Profile()
    keys = {value: value.casefold() for value in [line.value for line in before.lines] + [one.value for one in changes]}
    return updated(before, changes, WEIGHTS, keys)


def test_a_line_rests_on_what_is_cited_and_on_nothing_else() -> None:
    profile = after(change("name", "Ada", 1, 99))
    assert profile.single["name"] == Line("Ada", frozenset({1}))
    assert after(change("name", "Ada", 99)) == Profile()
    assert profile.evidence == {1}


def test_the_newer_memory_is_believed_whichever_comes_first() -> None:
    old, new = change("location", "Boston", 1), change("location", "Oslo", 5)
    assert card(after(old, new)) == card(after(new, old)) == "location: Oslo"


def test_saying_the_same_again_adds_evidence() -> None:
    assert after(change("name", "Ada", 1), change("name", "ada", 2)).single["name"].evidence == {1, 2}


def test_a_line_can_be_removed_by_newer_evidence_alone() -> None:
    held = after(change("occupation", "baker", 5), change("important_people", "Tom", 5))
    gone = [change("occupation", "baker", 6, action="remove"), change("important_people", "tom", 6, action="remove")]
    assert after(*gone, profile=held) == Profile()
    late = [change("occupation", "baker", 4, action="remove"), change("important_people", "tom", 4, action="remove")]
    assert after(*late, profile=held) == held
    assert after(change("important_people", "Eve", 6, action="remove"), profile=held) == held


def test_a_person_keeps_what_they_are_until_newer_evidence_says_otherwise() -> None:
    held = after(change("important_people", "Tom", 5, detail="boss"))
    assert after(change("important_people", "Tom", 4, detail="friend"), profile=held).people[0].detail == "boss"
    newer = after(change("important_people", "TOM", 6), profile=held).people[0]
    assert (newer.value, newer.detail, newer.evidence) == ("TOM", "boss", {5, 6})
    assert after(change("important_people", "Tom", 7, detail="husband"), profile=held).people[0].detail == "husband"


def test_of_too_many_people_those_with_least_evidence_leave() -> None:
    many = [change("important_people", f"P{number}", number) for number in range(20)]
    spouse = [change("important_people", "Tom", number) for number in range(3)]
    people = after(*spouse, *many).people
    assert len(people) == MOST_PEOPLE
    assert people[0].value == "Tom"
    assert "P0" not in {one.value for one in people}


def test_what_is_forgotten_takes_the_lines_that_rested_on_it_even_if_others_bear_them_out() -> None:
    profile = after(
        change("name", "Ada", 1),
        change("occupation", "baker", 1),
        change("name", "Ada", 2),
        change("location", "Oslo", 2),
        change("recurring_topics", "tea", 2),
    )
    assert card(without(profile, frozenset({2}))) == "occupation: baker"
    assert without(profile, frozenset({9})) == profile
    assert without(profile, frozenset({1, 2})) == Profile()


def test_the_text_has_a_field_per_line_and_can_be_cut_to_size() -> None:
    profile = after(
        change("important_people", "Tom", 1, detail="brother"),
        change("important_people", "Eve", 2),
        change("recurring_topics", "tea", 3),
        change("name", "Ada", 4),
    )
    assert card(profile) == "name: Ada\nimportant_people: Eve; Tom (brother)\nrecurring_topics: tea"
    assert card(fitting(profile, 32)) == "name: Ada\nimportant_people: Eve"
    assert card(fitting(profile, 1)) == "name: Ada"
    assert fitting(profile, 1000) == profile


changes = st.builds(
    change,
    st.sampled_from(["name", "location", "important_people", "recurring_topics"]),
    st.sampled_from(["Ada", "ada", "Tom", "Oslo", "tea"]),
    st.integers(0, 45),
    st.integers(0, 45),
    detail=st.sampled_from(["", "friend"]),
    action=st.sampled_from(["set", "set", "remove"]),
)


@given(st.lists(changes, max_size=30))
def test_every_line_has_evidence_that_is_known_and_survives_being_stored(given_changes: list[Update]) -> None:
    profile = after(*given_changes)
    assert all(line.evidence and line.evidence <= WEIGHTS.keys() for line in profile.lines)
    assert from_data(as_data(profile)) == profile
    values = [line.value.casefold() for line in profile.people]
    assert len(values) == len(set(values))
