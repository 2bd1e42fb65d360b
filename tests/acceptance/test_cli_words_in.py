"""Mails, events, a first text, a worker and a language model, from the command line."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perdure.store.embedded import EmbeddedServer
from perdure.sync import Memory
from tests.acceptance.cli_process import Perdure
from tests.doubles.chat_server import in_a_process

SAMPLES = Path(__file__).parents[1] / "samples"
PATIENCE_S = 60


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("words-in")
    with EmbeddedServer.open(path):
        yield path


@pytest.fixture(scope="module")
def run(data_dir: Path) -> Perdure:
    return Perdure(data_dir)


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with in_a_process("llamacpp") as url:
        yield url


def findings(document: Any) -> dict[str, Any]:
    return {check["name"]: check for check in document["checks"]}


def test_mails_and_events_of_files_come_in_once_and_are_kept_without_a_model(run: Perdure) -> None:
    # Both samples hold something damaged: the rest comes in, and the status says that something was refused.
    mails = run("import", str(SAMPLES / "letters.mbox"), "--space", "files", "--json")
    assert (mails.status, mails.data["refused"]) == (1, 1)
    assert mails.data["enqueued"] > 0
    again = run.json("import", str(SAMPLES / "letters.mbox"), "--space", "files")
    assert again["enqueued"] == 0
    events = run("import", str(SAMPLES / "team.ics"), "--past", "3650", "--space", "files", "--json")
    assert (events.status, events.data["refused"]) == (1, 1)
    assert events.data["enqueued"] > 0

    drained = run.json("drain", "--space", "files")
    assert drained["failed"] == drained["waiting"] == 0
    assert drained["done"] == mails.data["enqueued"] + events.data["enqueued"]
    kinds = {memory["memory_type"] for memory in run.json("list", "--space", "files")["memories"]}
    assert kinds == {"email", "calendar"}


def test_a_window_without_events_is_told(run: Perdure, tmp_path: Path) -> None:
    path = tmp_path / "old.ics"
    path.write_text(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//y//EN\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTAMP:20000101T000000Z\r\n"
        "DTSTART:20000101T100000Z\r\nSUMMARY:Long ago\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    told = run("import", str(path), "--space", "old")
    assert told.status == 0
    assert "--past DAYS and --ahead DAYS widen it" in told.out


def test_a_mailbox_that_cannot_be_reached_is_told_and_no_password_is_asked_of_nobody(run: Perdure) -> None:
    silent = run("mail", "127.0.0.1", "--user", "ada", "--port", "1", "--security", "none")
    assert silent.status == 2
    assert "PERDURE_MAIL_PASSWORD" in silent.err
    refused = run(
        "mail", "127.0.0.1", "--user", "ada", "--port", "1", "--security", "none", PERDURE_MAIL_PASSWORD="correct horse"
    )
    assert refused.status == 1
    assert "127.0.0.1:1" in refused.err
    assert "correct horse" not in refused.err + refused.out


def test_a_calendar_that_cannot_be_reached_is_told(run: Perdure) -> None:
    refused = run("calendar", "https://127.0.0.1:1/team.ics")
    assert refused.status == 1
    assert "127.0.0.1" in refused.err
    assert run("calendar", "ftp://127.0.0.1/team.ics").status == 2


def test_doctor_says_which_role_answers_what_and_what_is_off(run: Perdure, model: str) -> None:
    none = findings(run.json("doctor"))["language models"]
    assert none["detail"].startswith("none configured: exchanges are kept verbatim")
    small = findings(run.json("doctor", PERDURE_SUBAGENT_URL=model))
    assert "triage" in small["subagent"]["detail"]
    assert small["off without a role"]["status"] == "warn"
    both = findings(run.json("doctor", PERDURE_SUBAGENT_URL=model, PERDURE_THINKER_URL=model))
    assert "triage" in both["thinker"]["detail"]
    assert "contradiction" in both["subagent"]["detail"]
    assert "off without a role" not in both
    down = run("doctor", "--json", PERDURE_THINKER_URL="http://127.0.0.1:1/v1")
    assert down.status == 1
    assert findings(down.data)["thinker"]["status"] == "fail"


def test_what_was_kept_verbatim_is_judged_later_and_what_was_replaced_comes_back(run: Perdure, model: str) -> None:
    with Memory.open(data_dir=run.environment["PERDURE_DATA_DIR"], worker=False) as memory:
        memory.space("later").capture(user="The landlord raises the rent in January", operation_id="rent")
    run.json("drain", "--space", "later")
    (verbatim,) = run.json("list", "--space", "later")["memories"]

    refused = run("retriage", "--space", "later")
    assert refused.status == 1
    assert "PERDURE_THINKER_URL" in refused.err
    both = {"PERDURE_SUBAGENT_URL": model, "PERDURE_THINKER_URL": model}
    assert run.json("retriage", "--space", "later", **both)["queued"] == 1
    assert run.json("retriage", "--space", "later", **both)["queued"] == 0
    run.json("bootstrap", "Ada lives in Porto and is a nurse.", "--space", "later", **both)
    drained = run.json("drain", "--space", "later", **both)
    assert (drained["done"], drained["failed"], drained["waiting"]) == (2, 0, 0)

    usage = run.json("stats", "--space", "later", "--usage", "2")["usage"]
    assert {"triage", "bootstrap"} <= {row["call_site"] for row in usage}
    assert all(row["failures"] == 0 for row in usage)
    sources = {memory["source"] for memory in run.json("list", "--space", "later")["memories"]}
    assert sources == {"conversation", "bootstrap"}
    back = run.json("restore", verbatim["id"], "--space", "later")
    assert back["memory"]["superseded_at"] is None
    assert run.json("restore", verbatim["id"], "--space", "later")["restored"] is False


def test_two_workers_share_the_work_and_end_cleanly_at_a_signal(run: Perdure, model: str) -> None:
    run.environment |= {"PERDURE_SUBAGENT_URL": model, "PERDURE_THINKER_URL": model, "PERDURE_IDLE_DRAIN_S": "0"}
    workers = [run.start("worker") for _ in range(2)]
    try:
        with Memory.open(data_dir=run.environment["PERDURE_DATA_DIR"], worker=False) as memory:
            spaces = [memory.space(f"shared-{number}") for number in range(4)]
            for space in spaces:
                for number in range(3):
                    space.capture(user=f"The train number {number} of {space.name} leaves at dawn")
            waited_until = time.monotonic() + PATIENCE_S
            while any(space.stats().pending for space in spaces):
                assert time.monotonic() < waited_until, "the workers did not work the queues off"
                time.sleep(0.2)
            assert [len(space.list()) for space in spaces] == [3, 3, 3, 3]
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        ended = [worker.communicate(timeout=PATIENCE_S) for worker in workers]
        for name in ("PERDURE_SUBAGENT_URL", "PERDURE_THINKER_URL", "PERDURE_IDLE_DRAIN_S"):
            del run.environment[name]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert all("Working." in err and out == "Stopped.\n" for out, err in ended)
