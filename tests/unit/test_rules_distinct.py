"""Nothing is said twice, whichever of two that repeat each other stands first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perdure.rules.alike import Verdict
from perdure.rules.distinct import Comparing, Standing, distinct


def kept_of(ordered: list[Standing]) -> tuple[int, ...]:
    return distinct(ordered).kept


def test_the_same_words_are_said_once_by_the_one_that_stands_first() -> None:
    assert kept_of([Standing(3, "rent", 3), Standing(1, "rent", 1), Standing(2, "boat", 2)]) == (3, 2)


def test_of_the_chunks_of_a_text_the_best_one_speaks_for_it() -> None:
    assert kept_of([Standing(12, "middle", 10), Standing(10, "beginning", 10), Standing(5, "other", 5)]) == (12, 5)


def test_an_episode_and_what_it_was_made_of_are_not_both_said() -> None:
    episode = Standing(9, "a week at sea", 9, frozenset({1, 2}))
    one, two = Standing(1, "left the harbour", 1), Standing(2, "a storm", 2)

    assert kept_of([episode, one, two]) == (9,)
    assert kept_of([one, episode, two]) == (1, 2)


def test_a_chunk_of_what_an_episode_was_made_of_counts_as_that() -> None:
    episode = Standing(9, "a week at sea", 9, frozenset({1}))
    later_chunk = Standing(4, "the end of it", 1)

    assert kept_of([episode, later_chunk]) == (9,)
    assert kept_of([later_chunk, episode]) == (4,)


RENT, RISE, BOAT, CAT = (Standing(number, str(number), number) for number in (1, 2, 3, 4))


def verdicts(**of: Verdict) -> Comparing:
    """`_2_1` is what 2 is beside 1."""
    return lambda later, earlier: of.get(f"_{later}_{earlier}", Verdict.OTHER)


def test_what_says_the_same_in_other_words_is_left_out_and_names_what_it_repeats() -> None:
    found = distinct([RENT, RISE, BOAT], verdicts(_2_1=Verdict.SAME))
    assert (found.kept, found.waiting, found.repeats) == ((1, 3), (), {2: 1})


def test_what_may_be_the_same_waits_behind_the_rest() -> None:
    found = distinct([RENT, RISE, BOAT], verdicts(_2_1=Verdict.PERHAPS))
    assert (found.kept, found.waiting, found.repeats) == ((1, 3), (2,), {2: 1})


def test_what_repeats_something_that_waits_is_left_out() -> None:
    found = distinct([RENT, RISE, BOAT, CAT], verdicts(_2_1=Verdict.PERHAPS, _3_2=Verdict.SAME))
    assert (found.kept, found.waiting, found.repeats) == ((1, 4), (2,), {2: 1, 3: 2})


def test_what_is_surely_the_same_as_one_is_not_perhaps_the_same_as_another() -> None:
    found = distinct([RENT, RISE, BOAT], verdicts(_3_1=Verdict.PERHAPS, _3_2=Verdict.SAME))
    assert (found.kept, found.waiting, found.repeats) == ((1, 2), (), {3: 2})


standings = st.lists(
    st.builds(
        Standing,
        st.integers(1, 12),
        st.sampled_from("abcd"),
        st.integers(1, 12),
        st.frozensets(st.integers(1, 12), max_size=2),
    ),
    unique_by=lambda one: one.id,
)


@given(standings)
def test_the_first_is_always_kept_and_the_order_stays(ordered: list[Standing]) -> None:
    kept = kept_of(ordered)

    assert kept[:1] == tuple(one.id for one in ordered[:1])
    assert kept == tuple(one.id for one in ordered if one.id in set(kept))


@given(standings)
def test_what_was_sorted_out_once_stays_as_it_is(ordered: list[Standing]) -> None:
    kept = set(kept_of(ordered))
    rest = [one for one in ordered if one.id in kept]

    assert kept_of(rest) == tuple(one.id for one in rest)
