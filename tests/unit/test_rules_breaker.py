"""The breaker: opens after three failures in a row, rests longer each time, and never sticks."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.rules.breaker import (
    FAILURES,
    FIRST_REST_S,
    LONGEST_REST_S,
    PROBE_S,
    Breaker,
    Permit,
    admit,
    failed,
    given_back,
    state,
    succeeded,
    wait_s,
)


def opened(now: float = 0.0, breaker: Breaker | None = None) -> Breaker:
    breaker = breaker or Breaker()
    for _ in range(FAILURES):
        breaker, permit = admit(breaker, now)
        assert permit
        breaker = failed(breaker, permit, now)
    return breaker


def retried(breaker: Breaker, now: float) -> tuple[Breaker, Permit]:
    breaker, permit = admit(breaker, now)
    assert permit
    return breaker, permit


def test_it_opens_at_the_third_failure_in_a_row_and_not_before() -> None:
    breaker = Breaker()
    for _ in range(FAILURES - 1):
        breaker = failed(breaker, retried(breaker, 0)[1], 0)
        assert state(breaker, 0) == "closed"
    breaker = failed(breaker, retried(breaker, 0)[1], 0)
    assert state(breaker, 0) == "open"
    assert admit(breaker, 1)[1] is None
    assert wait_s(breaker, 20) == FIRST_REST_S - 20


def test_a_success_in_between_starts_the_count_again() -> None:
    breaker = Breaker()
    for _ in range(10):
        for _ in range(FAILURES - 1):
            breaker = failed(breaker, retried(breaker, 0)[1], 0)
        breaker = succeeded(breaker)
    assert state(breaker, 0) == "closed"


def test_it_rests_two_minutes_doubling_to_ten_while_probes_fail() -> None:
    breaker, now = opened(), 0.0
    rests = [wait_s(breaker, now)]
    for _ in range(5):
        now += wait_s(breaker, now)
        assert state(breaker, now) == "half-open"
        breaker, probe = retried(breaker, now)
        breaker = failed(breaker, probe, now)
        rests.append(wait_s(breaker, now))
    assert rests == [120, 240, 480, 600, 600, 600]
    assert rests[-1] == LONGEST_REST_S


def test_a_probe_that_succeeds_closes_it_and_the_next_rest_is_short_again() -> None:
    breaker = opened()
    for now in (200.0, 500.0):
        breaker = failed(breaker, retried(breaker, now)[1], now)
    breaker, _ = retried(breaker, 2000)
    breaker = succeeded(breaker)
    assert state(breaker, 2000) == "closed"
    assert wait_s(opened(2000, breaker), 2000) == FIRST_REST_S


def test_one_probe_at_a_time() -> None:
    breaker, probe = retried(opened(), 200)
    assert probe.probe
    assert admit(breaker, 200)[1] is None
    assert admit(breaker, 200 + PROBE_S - 1)[1] is None
    assert wait_s(breaker, 210) == PROBE_S - 10


def test_a_probe_that_is_never_heard_of_again_makes_room_for_the_next() -> None:
    breaker, forgotten = retried(opened(), 200)
    breaker, second = retried(breaker, 200 + PROBE_S)
    assert second != forgotten
    # The forgotten one is cancelled much later: that doesn't end the second one's turn.
    breaker = given_back(breaker, forgotten)
    assert admit(breaker, 201 + PROBE_S)[1] is None


def test_a_cancelled_probe_makes_room_at_once() -> None:
    breaker, probe = retried(opened(), 200)
    breaker = given_back(breaker, probe)
    assert admit(breaker, 200)[1] is not None


def test_calls_that_began_before_it_opened_do_not_prolong_the_rest() -> None:
    breaker = Breaker()
    permits = []
    for _ in range(8):
        breaker, permit = retried(breaker, 0)
        permits.append(permit)
    for permit in permits:
        breaker = failed(breaker, permit, 10)
    assert wait_s(breaker, 10) == FIRST_REST_S
    breaker, probe = retried(breaker, 200)
    late = failed(breaker, permits[0], 201)
    assert late == breaker, "an old failure is not the probe's"
    assert state(failed(breaker, probe, 201), 201) == "open"


def test_giving_back_an_ordinary_permit_changes_nothing() -> None:
    breaker, permit = retried(Breaker(failures=2), 0)
    assert given_back(breaker, permit) == breaker


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["ask", "succeed", "fail", "give back", "forget"]), st.floats(0, 700))))
def test_whatever_happens_somebody_may_pass_within_ten_minutes(steps: list[tuple[str, float]]) -> None:
    breaker, now, out = Breaker(), 0.0, [Permit(0)]
    for step, passed in steps:
        now += passed
        if step == "ask":
            breaker, permit = admit(breaker, now)
            out += [permit] if permit else []
        elif step == "succeed":
            breaker = succeeded(breaker)
        elif out:
            permit = out.pop()
            if step == "fail":
                breaker = failed(breaker, permit, now)
            elif step == "give back":
                breaker = given_back(breaker, permit)
    later = now + LONGEST_REST_S + PROBE_S
    assert wait_s(breaker, later) == 0
    assert admit(breaker, later)[1] is not None
