"""`perdure demo` twice, and `perdure init` for a server of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from perdure.demo import questions
from perdure.store.embedded import EmbeddedServer
from tests.acceptance.cli_process import Perdure


def test_the_demo_answers_ten_questions_and_imports_nothing_twice(tmp_path: Path) -> None:
    run = Perdure(tmp_path / "data")
    first = run.json("demo")
    assert first["imported"]["stored"] >= 300
    assert len(first["questions"]) == len(questions()) == 10
    assert all(0 < answer["timings_ms"]["total"] < 2000 and not answer["degraded"] for answer in first["questions"])
    assert first["as_meant"] >= 7
    small_talk = first["questions"][-1]
    assert small_talk["memories"] == []
    assert small_talk["as_meant"]

    # Now without anybody else who keeps the server running, and in words.
    second = run("demo")
    assert second.status == 0
    assert "nothing was imported twice" in second.out
    assert all(question.text in second.out for question in questions())
    assert ' recall "When is the half marathon?" --space demo' in second.out
    assert f"{first['as_meant']} of 10 questions came out as meant" in second.out
    assert "\x1b" not in second.out
    known = run.json("stats", "--space", "demo")["memories"]
    assert known == first["imported"]["stored"]


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[str]:
    """The URL of a database owner on a server where nobody has heard of Perdure."""
    server = EmbeddedServer.open(tmp_path / "foreign")
    with psycopg.connect(server.url("perdure_admin", _password(server), "postgres"), autocommit=True) as conn:
        conn.execute("DROP DATABASE perdure WITH (FORCE)")
        conn.execute("DROP ROLE perdure_app, perdure_worker, perdure_owner")
        conn.execute("CREATE ROLE alice LOGIN CREATEROLE PASSWORD 'it''s 100%'")
        conn.execute("CREATE DATABASE notes OWNER alice")
    with psycopg.connect(server.url("perdure_admin", _password(server), "notes"), autocommit=True) as conn:
        conn.execute("CREATE EXTENSION vector")
    yield server.url("alice", "it's 100%", "notes")
    server.close()


def _password(server: EmbeddedServer) -> str:
    return str(conninfo_to_dict(server.admin_url)["password"])


def test_init_prepares_a_server_of_ones_own_and_prints_how_to_use_it(foreign: str, tmp_path: Path) -> None:
    run = Perdure(tmp_path / "unused")
    result = run("init", PERDURE_DATABASE_OWNER_URL=foreign)
    assert result.status == 0, result.err
    environment = dict(line.split("=", 1) for line in result.out.splitlines())
    assert set(environment) == {"PERDURE_DATABASE_URL", "PERDURE_DATABASE_WORKER_URL"}

    served = Perdure(tmp_path / "unused", **environment)
    assert served.json("save", "The notes live elsewhere")["status"] == "stored"
    assert [memory["summary"] for memory in served.json("list")["memories"]] == ["The notes live elsewhere"]
    assert served.json("doctor")["ok"]
    assert not (tmp_path / "unused").exists()

    again = run.json("init", "--owner-url", foreign)
    assert again["passwords_kept"] == ["perdure_app", "perdure_worker"]
    assert again["migrations"] == []
    assert served.json("stats")["memories"] == 1

    renewed = run.json("init", "--owner-url", foreign, "--new-passwords")["environment"]
    refused = served("stats")
    assert refused.status == 1
    assert "password authentication failed" in refused.err
    assert len(refused.err.splitlines()) == 2
    assert Perdure(tmp_path / "unused", **renewed).json("stats")["memories"] == 1


def test_init_with_something_that_is_no_url_says_so(tmp_path: Path) -> None:
    result = Perdure(tmp_path / "unused")("init", "--owner-url", "foo")
    assert result.status == 2
    assert "not a postgresql:// URL" in result.err
    assert len(result.err.splitlines()) == 2


def test_init_without_a_reachable_server_says_what_to_check(tmp_path: Path) -> None:
    run = Perdure(tmp_path / "unused")
    result = run("init", "--owner-url", "postgresql://alice:secret@127.0.0.1:9/notes", "--json")
    assert result.status == 1
    assert result.data["error"]["code"] == "database_unavailable"
    assert "secret" not in result.out + result.err
