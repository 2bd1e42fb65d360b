"""What language models were asked in a space and what that cost, by day: what a budget counts and `stats` shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Protocol

from perdure.store.database import SpaceTransaction
from perdure.store.statements import Part, write_together

# Sorted by key: two that record at once never take row locks in opposite order.
RECORD: Final = """
    INSERT INTO model_usage (space_id, day, call_site, role, model, live, calls, failures, prompt_tokens,
                             completion_tokens, latency_ms)
    SELECT %(space_id)s, %(today)s, t.call_site, t.role, t.model, t.live, count(*), count(*) FILTER (WHERE NOT t.ok),
           sum(t.prompt_tokens), sum(t.completion_tokens), sum(t.latency_ms)
    FROM unnest(%(call_sites)s::text[], %(roles)s::text[], %(models)s::text[], %(lives)s::boolean[],
                %(oks)s::boolean[], %(prompt_tokens)s::bigint[], %(completion_tokens)s::bigint[],
                %(latencies_ms)s::double precision[])
        AS t (call_site, role, model, live, ok, prompt_tokens, completion_tokens, latency_ms)
    GROUP BY t.call_site, t.role, t.model, t.live
    ORDER BY t.call_site, t.role, t.model, t.live
    ON CONFLICT (space_id, day, call_site, role, model, live) DO UPDATE
    SET calls = model_usage.calls + excluded.calls, failures = model_usage.failures + excluded.failures,
        prompt_tokens = model_usage.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = model_usage.completion_tokens + excluded.completion_tokens,
        latency_ms = model_usage.latency_ms + excluded.latency_ms
"""

USED: Final = """
    SELECT coalesce(sum(u.calls), 0)::bigint AS calls,
           coalesce(sum(u.prompt_tokens + u.completion_tokens), 0)::bigint AS tokens
    FROM model_usage u
    WHERE u.space_id = %(space_id)s AND u.day = %(today)s AND NOT u.live
"""

READ_USAGE: Final = """
    SELECT u.day, u.call_site, u.role, u.model, u.live, u.calls, u.failures, u.prompt_tokens, u.completion_tokens,
           u.latency_ms
    FROM model_usage u
    WHERE u.space_id = %(space_id)s AND u.day > %(after)s
    ORDER BY u.day DESC, u.call_site, u.role, u.model, u.live
"""


class Use(Protocol):
    """One call of a model, as `llm.ModelUse` has it."""

    @property
    def call_site(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def ok(self) -> bool: ...
    @property
    def prompt_tokens(self) -> int: ...
    @property
    def completion_tokens(self) -> int: ...
    @property
    def latency_ms(self) -> float: ...
    @property
    def live(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Used:
    """What background work has used up today (UTC): calls, failed ones included, and tokens in and out."""

    calls: int
    tokens: int


@dataclass(frozen=True, slots=True)
class UsageRow:
    """A day's calls (UTC) of one call site to one model; `latency_ms` is the sum over all calls."""

    day: date
    call_site: str
    role: str
    model: str
    live: bool
    calls: int
    failures: int
    prompt_tokens: int
    completion_tokens: int
    latency_ms: float


async def record_usage(tx: SpaceTransaction, uses: Iterable[Use]) -> None:
    """Adds calls to today's counts."""
    parts = recording(tx, uses)
    if parts:
        await write_together(tx, parts)


def recording(tx: SpaceTransaction, uses: Iterable[Use]) -> list[Part]:
    """What `record_usage` writes, to be written together with something else; nothing where there are no calls."""
    made = list(uses)
    if not made:
        return []
    params = {
        "today": tx.now.date(),
        "call_sites": [use.call_site for use in made],
        "roles": [use.role for use in made],
        "models": [use.model for use in made],
        "lives": [use.live for use in made],
        "oks": [use.ok for use in made],
        "prompt_tokens": [use.prompt_tokens for use in made],
        "completion_tokens": [use.completion_tokens for use in made],
        "latencies_ms": [float(use.latency_ms) for use in made],
    }
    return [(RECORD, params)]


async def used_today(tx: SpaceTransaction) -> Used:
    """What counts against the daily budget: background work only, since midnight in UTC."""
    row = await tx.fetch_one(USED, {"today": tx.now.date()})
    assert row is not None
    return Used(**row)


async def read_usage(tx: SpaceTransaction, days: int) -> list[UsageRow]:
    """The counts of the last `days` days, today included; newest first."""
    rows = await tx.fetch_all(READ_USAGE, {"after": tx.now.date() - timedelta(days=days)})
    return [UsageRow(**row) for row in rows]
