"""What doctor says of a database that is too old, too far away in time, too full, or behind a pooler."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from perdure.acting import Scope
from perdure.cli import checkup_database
from perdure.cli.checkup_database import examine_database, examine_keys
from perdure.cli.finding import Finding
from perdure.clock import wall_clock
from perdure.settings import Settings
from perdure.store.external import Inspection
from perdure.store.keys import ApiKey

FINE = Inspection("18.4", 18, "0.8.5", (), 0.01, pooled=False, most_connections=100, taken=5)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> object:
    """Lets doctor see a database that is as the test wants it."""

    def show(inspection: Inspection, *, keeps: bool = True, **settings: object) -> dict[str, Finding]:
        monkeypatch.setattr(checkup_database, "inspect_server", lambda url: inspection)
        monkeypatch.setattr(checkup_database, "keeps_statements", lambda url: keeps)
        found = examine_database(Settings(**settings), "postgresql://app@host/db", None)  # type: ignore[arg-type]
        return {each.name: each for each in found}

    return show


def test_a_database_without_fault_passes(seen) -> None:
    found = seen(FINE)
    assert {each.status for each in found.values()} == {"ok"}
    assert {"pgvector", "schema", "isolation", "clock", "connections"} <= set(found)


@pytest.mark.parametrize(
    ("change", "name", "status", "advice"),
    [
        ({"major": 14, "postgres": "14.9"}, "version", "fail", "15 or later"),
        ({"vector": None}, "pgvector", "fail", "perdure init"),
        ({"vector": "0.7.4"}, "pgvector", "fail", "ALTER EXTENSION"),
        ({"open_tables": ("memories",)}, "isolation", "fail", "migrations"),
        ({"ahead_s": 90.0}, "clock", "warn", "NTP"),
        ({"ahead_s": -90.0}, "clock", "warn", "NTP"),
        ({"taken": 95}, "connections", "warn", "max_connections"),
    ],
)
def test_each_fault_is_named_with_what_to_do(
    seen, change: dict[str, object], name: str, status: str, advice: str
) -> None:
    finding = seen(replace(FINE, **change))[name]  # type: ignore[arg-type]
    assert finding.status == status
    assert advice in finding.advice


def test_a_pooler_that_mixes_up_statements_is_a_fault_unless_none_are_prepared(seen) -> None:
    pooled = replace(FINE, pooled=True, taken=99)
    assert seen(pooled)["pooler"].status == "ok"
    assert seen(pooled)["connections"].status == "ok"
    mixing = seen(pooled, keeps=False)["pooler"]
    assert (mixing.status, "PERDURE_DATABASE_PREPARE=false" in (mixing.advice or "")) == ("fail", True)
    assert seen(pooled, keeps=False, database_prepare=False)["pooler"].status == "ok"


def a_key(**dates: timedelta) -> ApiKey:
    now = wall_clock()
    found = {f"{name}_at": now + delta for name, delta in dates.items()}
    empty = dict.fromkeys(("expires_at", "rotated_at", "former_until", "last_used_at", "revoked_at"))
    return ApiKey(1, "aa", "laptop", (Scope.READ,), None, now, **{**empty, **found})  # type: ignore[arg-type]


def test_keys_that_end_soon_or_hold_no_more_are_told_in_time() -> None:
    assert examine_keys(()).status == "ok"
    assert examine_keys((a_key(),)).status == "ok"
    soon = examine_keys((a_key(), a_key(expires=timedelta(days=3))))
    assert (soon.status, "laptop" in soon.detail) == ("warn", True)
    assert examine_keys((a_key(revoked=-timedelta(days=3)),)).status == "warn"
