"""Who takes a place in the prompt: in their order, past the gate, nothing twice, as long as they fit."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.context import Line, frame_tokens, line_tokens, render_tail
from perdure.recall.selecting import Budget, Selection, candidates_for, select
from perdure.rules.alike import Verdict
from perdure.rules.tokens import estimated_tokens
from perdure.types import Hit, MemoryType, PendingItem, StoredMemory, Trust

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def tail_tokens(lines: list[Line]) -> int:
    return frame_tokens() + sum(line_tokens(line, "UTC") for line in lines) if lines else 0


def hit(number: int, words: int = 3, root: int | None = None) -> Hit:
    memory = StoredMemory(
        space="ada",
        id=number,
        summary=f"memory {number} " + "word " * words,
        memory_type=MemoryType.GENERAL,
        salience=5,
        usefulness=0.5,
        confidence=1,
        retrieval_count=0,
        source="user",
        trust=Trust.USER,
        source_date=NOON,
        created_at=NOON,
        chunk_of=root,
    )
    return Hit(memory, -float(number), 0.5, {}, ("exact",))


def chosen(hits: list[Hit], *, passing=None, limit: int = 3, tokens: int | None = None, beside=None) -> Selection:
    allowed = {one.memory.id for one in hits} if passing is None else set(passing)
    return select(hits, allowed, [], Budget(tokens, "UTC"), limit=limit, beside=beside)


def ids(found: Selection) -> list[int]:
    return [one.memory.id for one in found.hits]


def told(found: Selection) -> list[tuple[int, str, int | None]]:
    return [(one.id, one.why, one.beside) for one in found.left_out]


def test_the_first_ones_take_the_places() -> None:
    assert ids(chosen([hit(number) for number in (4, 2, 9, 1)])) == [4, 2, 9]


def test_what_the_gate_stops_uses_up_its_place() -> None:
    assert ids(chosen([hit(number) for number in range(1, 7)], passing={1, 4, 5})) == [1]


def test_what_repeats_uses_up_no_place() -> None:
    found = chosen([hit(1), hit(2, root=1), hit(3, root=1), hit(4), hit(5)])
    assert ids(found) == [1, 4, 5]
    assert told(found) == [(2, "repeated", 1), (3, "repeated", 1)]


def test_what_may_repeat_waits_for_a_place_that_nobody_wants() -> None:
    def beside(later: int, earlier: int) -> Verdict:
        return Verdict.PERHAPS if later == 2 else Verdict.OTHER

    full, free = (
        chosen([hit(1), hit(2), hit(3), hit(4)], beside=beside),
        chosen([hit(1), hit(2), hit(3)], beside=beside),
    )
    assert (ids(full), told(full)) == ([1, 3, 4], [(2, "alike", 1)])
    assert (ids(free), told(free)) == ([1, 2, 3], [])


def test_what_is_too_dear_is_left_out_whole_and_the_next_one_comes() -> None:
    found = chosen([hit(1, words=500), hit(2), hit(3), hit(4), hit(5)], tokens=300)
    assert ids(found) == [2, 3, 4]
    (left,) = found.left_out
    assert (left.id, left.why) == (1, "over_budget")
    assert left.tokens is not None
    assert left.tokens > 300


def test_what_repeats_something_too_dear_may_say_it_in_fewer_words() -> None:
    found = chosen([hit(1, words=500), hit(2, root=1), hit(3, root=1), hit(4, root=4)], tokens=300)
    assert ids(found) == [2, 4]
    assert told(found) == [(1, "over_budget", None), (3, "repeated", 1)]


def test_of_something_that_got_no_place_no_repetition_is_told() -> None:
    assert told(chosen([hit(1), hit(2), hit(3, root=2)], passing={1, 3}, limit=1)) == []


def test_exchanges_that_wait_come_after_memories_and_count() -> None:
    waiting = [PendingItem(number, None, "said a moment ago " * 10, NOON) for number in (1, 2)]
    whole = tail_tokens([hit(1), *waiting])
    for tokens, shown in ((None, 2), (whole, 2), (whole - 1, 1)):
        found = select([hit(1)], {1}, waiting, Budget(tokens, "UTC"), limit=3, beside=None)
        assert (ids(found), len(found.pending)) == ([1], shown)


@pytest.mark.parametrize(("limit", "looked_at"), [(1, 12), (3, 12), (4, 16), (20, 80)])
def test_more_are_looked_at_than_there_are_places(limit: int, looked_at: int) -> None:
    assert candidates_for(limit) == looked_at


hit_lists = st.lists(st.integers(1, 30), unique=True, max_size=14).flatmap(
    lambda numbers: st.tuples(
        *(st.builds(hit, st.just(n), st.integers(1, 200), st.none() | st.integers(1, 30)) for n in numbers)
    )
)


@given(hit_lists, st.sets(st.integers(1, 30)), st.integers(1, 5), st.none() | st.integers(0, 600), st.randoms())
def test_places_budget_gate_and_order_hold_whatever_comes(hits, passing, limit, tokens, random) -> None:
    verdicts = {(a.memory.id, b.memory.id): random.choice(list(Verdict)) for a in hits for b in hits}
    found = chosen(
        list(hits), passing=passing, limit=limit, tokens=tokens, beside=lambda later, earlier: verdicts[later, earlier]
    )
    assert len(found.hits) <= limit
    assert tokens is None or found.tokens <= tokens
    assert found.tokens == tail_tokens(list(found.hits))
    assert found.tokens >= estimated_tokens(render_tail(found.hits, "UTC"))
    assert set(ids(found)) <= passing
    assert ids(found) == [one.memory.id for one in hits if one.memory.id in set(ids(found))]
    assert not set(ids(found)) & {one.id for one in found.left_out}
    roots = [one.memory.chunk_of or one.memory.id for one in found.hits]
    assert len(set(roots)) == len(roots)
