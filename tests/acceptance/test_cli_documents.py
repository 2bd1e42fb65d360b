"""Documents on the command line: handed in, found, interrupted and killed, and as whole as before."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from perdure.store.embedded import EmbeddedServer
from tests.acceptance.cli_process import Perdure
from tests.doubles.pdf import make_pdf

FERRY = "The ferry to the island leaves at seven in the morning and takes forty minutes. "
PARTS = 60


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer.open(tmp_path_factory.mktemp("cli")) as server:
        yield server


@pytest.fixture(scope="module")
def run(server: EmbeddedServer) -> Perdure:
    run = Perdure(server.data_dir)
    run.json("init")
    return run


def _book(path: Path) -> Path:
    chapters = (
        f"Chapter {number}. " + f"The {number}th harbour has {number * 7} boats. " * 20 for number in range(PARTS)
    )
    path.write_text("\n\n".join(chapters), encoding="utf-8")
    return path


def _embedded(server: EmbeddedServer, space: str) -> int:
    """How many passages have their vector, as any other connection sees it."""
    with psycopg.connect(server.admin_url, dbname="perdure") as conn:
        row = conn.execute(
            "SELECT count(*) FROM document_vectors v JOIN spaces s ON s.id = v.space_id WHERE s.name = %s", [space]
        ).fetchone()
    assert row is not None
    return int(row[0])


def _stop_midway(run: Perdure, server: EmbeddedServer, path: Path, space: str, how: signal.Signals) -> int:
    """Begins to add a file, stops it as soon as some of it is embedded, and returns how it ended."""
    process = run.start("documents", "add", str(path), "--space", space)
    deadline = time.monotonic() + 120
    while not _embedded(server, space):
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(how)
    process.communicate(timeout=60)
    return process.returncode


def test_files_are_handed_in_listed_shown_found_and_deleted(run: Perdure, tmp_path: Path) -> None:
    ferry = tmp_path / "ferry.pdf"
    ferry.write_bytes(make_pdf(["About the island."], [FERRY]))
    bread = tmp_path / "bread.md"
    bread.write_text("# Bread\n\nRye bread needs sourdough, water and salt.", encoding="utf-8")
    added = run.json("documents", "add", str(ferry), str(bread), "--space", "files")["added"]
    assert [(one["name"], one["status"]) for one in added] == [("ferry.pdf", "added"), ("bread.md", "added")]
    assert [one["status"] for one in run.json("documents", "add", str(ferry), "--space", "files")["added"]] == [
        "already_known"
    ]
    listed = run.json("documents", "list", "--space", "files")["documents"]
    assert [one["name"] for one in listed] == ["bread.md", "ferry.pdf"]
    hits = run.json("documents", "search", "When does the ferry leave?", "--space", "files")["hits"]
    assert hits[0]["name"] == "ferry.pdf"
    assert hits[0]["similarity"] > 0.3
    shown = run("documents", "show", added[0]["id"], "--space", "files")
    assert "leaves at seven" in shown.out
    assert "page 1" in shown.out
    assert run.json("stats", "--space", "files")["documents"] == 2
    asked = run("documents", "delete", added[0]["id"], "--space", "files")
    assert (asked.status, "--yes" in asked.err) == (2, True)
    assert run.json("documents", "delete", added[0]["id"], "--yes", "--space", "files")["erased"] == [added[0]["id"]]
    assert run.json("documents", "search", "When does the ferry leave?", "--space", "files")["hits"] == []


def test_stdin_needs_a_name_and_what_is_refused_says_why(run: Perdure, tmp_path: Path) -> None:
    nameless = run("documents", "add", "-", stdin=FERRY.encode())
    assert (nameless.status, "--name" in nameless.err) == (2, True)
    named = run("documents", "add", "-", "--name", "ferry.txt", "--space", "stdin", stdin=FERRY.encode())
    assert named.status == 0, named.err
    missing = run("documents", "add", str(tmp_path / "nowhere.txt"))
    assert (missing.status, "can't be opened" in missing.err) == (2, True)
    scanned = tmp_path / "scan.pdf"
    scanned.write_bytes(make_pdf([]))
    refused = run("documents", "add", str(scanned))
    assert (refused.status, "OCR" in refused.err) == (2, True)


def test_everything_that_is_forgotten_takes_the_documents_along(run: Perdure) -> None:
    run("documents", "add", "-", "--name", "ferry.txt", "--space", "gone", stdin=FERRY.encode())
    erased = run.json("forget", "--everything", "--yes", "--space", "gone")
    assert erased["removed"]["documents"] == 1
    assert run.json("documents", "list", "--space", "gone")["documents"] == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill -9"])
def test_a_document_that_was_interrupted_is_not_found_and_the_same_command_goes_on(
    run: Perdure, server: EmbeddedServer, tmp_path: Path, how: signal.Signals
) -> None:
    space = f"stopped-{how}"
    path = _book(tmp_path / "book.txt")
    stopped = _stop_midway(run, server, path, space, how)
    assert stopped == (130 if how is signal.SIGINT else -signal.SIGKILL)
    assert run.json("documents", "search", "The 3th harbour has 21 boats.", "--space", space)["hits"] == []
    (arriving,) = run.json("documents", "list", "--space", space)["documents"]
    assert arriving["state"] == "arriving"
    assert 0 < arriving["embedded"] < arriving["parts"]
    (added,) = run.json("documents", "add", str(path), "--space", space)["added"]
    assert (added["status"], added["id"], added["embedded"]) == ("added", arriving["id"], added["parts"])
    assert run.json("documents", "search", "The 3th harbour has 21 boats.", "--space", space)["hits"]
