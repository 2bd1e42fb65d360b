"""Importing from the command line: interrupted, killed, broken and repeated, every message is there once."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from perdure.store.embedded import EmbeddedServer
from tests.acceptance.cli_process import Perdure

MESSAGES = 600


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """Kept running for all commands of this module."""
    with EmbeddedServer.open(tmp_path_factory.mktemp("cli")) as server:
        yield server


@pytest.fixture(scope="module")
def run(server: EmbeddedServer) -> Perdure:
    run = Perdure(server.data_dir)
    run.json("init")
    return run


def _line(number: int, **fields: object) -> str:
    message = {
        "type": "message",
        "id": f"m{number}",
        "speaker": "Ada" if number % 2 else "Bo",
        "time": f"2026-03-{1 + number // 60:02}T10:{number % 60:02}:00Z",
        "text": f"Parcel {number} weighs {number * 7} grams",
    }
    return json.dumps(message | fields) + "\n"


def _file(path: Path, messages: int, **fields: object) -> Path:
    path.write_text("".join(_line(number, **fields) for number in range(messages)), encoding="utf-8")
    return path


def _imported(server: EmbeddedServer, space: str) -> int:
    """How many messages are committed, as any other connection sees it."""
    with psycopg.connect(server.admin_url, dbname="perdure") as conn:
        row = conn.execute(
            "SELECT count(*) FROM processed_items p JOIN spaces s ON s.id = p.space_id WHERE s.name = %s", [space]
        ).fetchone()
    assert row is not None
    return int(row[0])


def _stop_midway(
    run: Perdure, server: EmbeddedServer, path: Path, space: str, how: signal.Signals
) -> subprocess.Popen[str]:
    """Starts an import and stops it as soon as more than what was in before is committed."""
    before = _imported(server, space)
    process = run.start("import", str(path), "--space", space)
    deadline = time.monotonic() + 120
    while _imported(server, space) == before:
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(how)
    return process


def test_an_import_killed_midway_ends_with_every_message_exactly_once(
    run: Perdure, server: EmbeddedServer, tmp_path: Path
) -> None:
    path = _file(tmp_path / "parcels.jsonl", MESSAGES)
    killed = _stop_midway(run, server, path, "killed", signal.SIGKILL)
    killed.communicate(timeout=30)
    assert killed.returncode == -signal.SIGKILL
    time.sleep(0.2)
    done = _imported(server, "killed")
    assert 0 < done < MESSAGES

    report = run.json("import", str(path), "--space", "killed")
    assert report["known"] == done
    assert report["stored"] == MESSAGES - done
    assert (report["merged"], report["empty"], report["refused"]) == (0, 0, 0)
    texts = [memory["summary"] for memory in run.json("list", "--limit", "1000", "--space", "killed")["memories"]]
    assert len(texts) == MESSAGES
    assert set(texts) == {f"Parcel {number} weighs {number * 7} grams" for number in range(MESSAGES)}

    again = run.json("import", str(path), "--space", "killed")
    assert (again["stored"], again["known"]) == (0, MESSAGES)


def test_ctrl_c_ends_an_import_at_once_and_says_how_to_go_on(
    run: Perdure, server: EmbeddedServer, tmp_path: Path
) -> None:
    path = _file(tmp_path / "parcels.jsonl", MESSAGES)
    stopped = _stop_midway(run, server, path, "stopped", signal.SIGINT)
    _, err = stopped.communicate(timeout=30)
    assert stopped.returncode == 130
    assert "same command" in err
    assert "Traceback" not in err
    assert run.json("stats", "--space", "stopped")["memories"] == _imported(server, "stopped") < MESSAGES


def test_a_broken_line_is_refused_by_number_and_the_rest_goes_on(run: Perdure, tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    lines = [_line(1), "{broken\n", _line(3, text=""), _line(4, time="0001-01-01"), _line(5)]
    path.write_text("".join(lines), encoding="utf-8")
    result = run("import", str(path), "--space", "broken", "--json")
    assert result.status == 1
    report = result.data
    assert (report["stored"], report["refused"]) == (2, 3)
    assert [error["line"] for error in report["refusals"]] == [2, 3, 4]
    assert [error["field"] for error in report["refusals"]][1:] == ["text", "time"]

    # Mended, the lines are imported; what is in stays as it is.
    path.write_text("".join(_line(number) for number in range(1, 6)), encoding="utf-8")
    mended = run.json("import", str(path), "--space", "broken")
    assert (mended["stored"], mended["known"], mended["refused"]) == (3, 2, 0)
    shown = run("import", str(path), "--space", "broken")
    assert "5 messages" in shown.out
    assert "5 in already" in shown.out


def test_messages_without_a_time_are_counted_and_dated_as_told(run: Perdure, tmp_path: Path) -> None:
    path = tmp_path / "undated.jsonl"
    path.write_text(_line(1) + _line(2, time=None), encoding="utf-8")
    report = run.json("import", str(path), "--space", "undated", "--assume-time", "2020-02-02")
    assert (report["stored"], report["undated"]) == (2, 1)
    dates = [memory["source_date"][:10] for memory in run.json("list", "--space", "undated")["memories"]]
    assert dates == ["2026-03-01", "2020-02-02"]


def test_messages_go_into_their_own_spaces_unless_the_call_names_one(run: Perdure, tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    path.write_text(_line(1, space="anna") + _line(1, space="bert", text="Something else") + _line(2), "utf-8")
    apart = run.json("import", str(path), PERDURE_SPACE="rest")
    assert apart["spaces"] == {"anna": 1, "bert": 1, "rest": 1}
    together = run.json("import", str(path), "--space", "all")
    assert together["spaces"] == {"all": 3}
    assert run.json("stats", "--space", "all")["memories"] == 3


def test_days_that_could_be_months_are_told_with_the_options_that_settle_it(run: Perdure, tmp_path: Path) -> None:
    chat = tmp_path / "Chat with Jule.txt"
    chat.write_text("03.04.23, 13:56 - Jule: Kommst du mit?\n", encoding="utf-8")
    told = run("import", str(chat), "--space", "days").out
    assert "1 message in" in told
    assert "--day-first or --month-first" in told
    asked = run("import", str(chat), "--space", "days", "--month-first").out
    assert "1 message in" in asked
    assert "--day-first" not in asked
    both = run("import", str(chat), "--day-first", "--month-first")
    assert both.status == 2
    assert "exclude each other" in both.err


def test_a_file_that_is_none_is_refused_with_status_2(run: Perdure, tmp_path: Path) -> None:
    missing = run("import", str(tmp_path / "nowhere.jsonl"))
    assert missing.status == 2
    assert "no such file" in missing.err
    (tmp_path / "picture.png").write_bytes(bytes(range(256)) * 40)
    assert run("import", str(tmp_path / "picture.png")).status == 2
    assert run("import", str(_file(tmp_path / "fine.jsonl", 1)), "--zone", "Mars/Olympus").status == 2


def test_progress_goes_to_stderr_and_the_summary_to_stdout(run: Perdure, tmp_path: Path) -> None:
    result = run("import", str(_file(tmp_path / "few.jsonl", 3)), "--space", "few")
    assert result.status == 0
    assert result.out.startswith("few.jsonl (jsonl): 3 messages")
    assert "Into space few (3)." in result.out
    assert "\x1b" not in result.out + result.err
