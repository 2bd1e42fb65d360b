"""Token buckets, and what the guard reads of a request."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from starlette.datastructures import Headers

from perdure.acting import Door
from perdure.serve.auth import door_of, is_loopback, origins_of, token_of
from perdure.serve.limits import MOST_BUCKETS, Buckets, TooManyRequests
from tests.doubles.clock import SkippingClock


@pytest.fixture
def clock() -> SkippingClock:
    return SkippingClock(datetime(2026, 3, 1, tzinfo=UTC))


def taken(buckets: Buckets, key: str, tries: int) -> int:
    """How many of so many requests are let through."""
    found = 0
    for _ in range(tries):
        try:
            buckets.take(key)
        except TooManyRequests:
            continue
        found += 1
    return found


def test_a_key_may_do_a_burst_and_then_as_much_as_time_gives_back(clock: SkippingClock) -> None:
    buckets = Buckets(clock, per_minute=60, burst=10)
    assert taken(buckets, "a", 50) == 10
    assert taken(buckets, "b", 50) == 10
    clock.advance(timedelta(seconds=3.5))
    assert taken(buckets, "a", 50) == 3
    clock.advance(timedelta(hours=1))
    assert taken(buckets, "a", 50) == 10


def test_waiting_as_long_as_one_is_told_is_enough(clock: SkippingClock) -> None:
    buckets = Buckets(clock, per_minute=7, burst=1)
    buckets.take("a")
    with pytest.raises(TooManyRequests) as refused:
        buckets.take("a")
    assert refused.value.retry_after_s == 9
    clock.advance(timedelta(seconds=refused.value.retry_after_s))
    buckets.take("a")


def test_none_is_no_limit(clock: SkippingClock) -> None:
    assert taken(Buckets(clock, None, 1), "a", 10_000) == 10_000


def test_buckets_of_many_keys_do_not_grow_without_end(clock: SkippingClock) -> None:
    buckets = Buckets(clock, 60, 5)
    for number in range(MOST_BUCKETS + 100):
        buckets.take(str(number))
    assert len(buckets._buckets) == MOST_BUCKETS


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ({"Authorization": "Bearer abc"}, "abc"),
        ({"Authorization": "bearer   abc "}, "abc"),
        ({"X-API-Key": " abc "}, "abc"),
        ({"X-API-Key": "abc", "Authorization": "Bearer other"}, "abc"),
        ({"Authorization": "Basic YTpi"}, None),
        ({"Authorization": "Bearer"}, None),
        ({"Authorization": "abc"}, None),
        ({}, None),
    ],
)
def test_a_key_is_read_from_either_header(headers: dict[str, str], token: str | None) -> None:
    assert token_of(Headers(headers)) == token


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.8.8.8", "::1", "[::1]"])
def test_loopback_is_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "", "192.168.1.7", "localhost.evil.example", "127.0.0.1.nip.io", "1"]
)
def test_what_is_not_loopback_is_not_taken_for_it(host: str) -> None:
    assert not is_loopback(host)


def test_paths_belong_to_their_doors() -> None:
    found = {path: door_of(path) for path in ("/mcp", "/mcp/ada", "/mcpx", "/v1/chat/completions", "/v1/spaces/mcp")}
    assert list(found.values()) == [Door.MCP, Door.MCP, Door.REST, Door.PROXY, Door.REST]


def test_origins_are_read_with_commas_between() -> None:
    assert origins_of(" https://a.example/, https://b.example ,") == ("https://a.example", "https://b.example")
    assert origins_of(None) == ()
