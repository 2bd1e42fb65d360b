"""Moving house from the command line: export, import, backup and restore, as processes."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from tests.acceptance.cli_process import COMMAND, Perdure

PEANUTS = "Ada is allergic to peanuts"


@pytest.fixture(scope="module")
def perdure(tmp_path_factory: pytest.TempPathFactory) -> Perdure:
    made = Perdure(tmp_path_factory.mktemp("moving"))
    made.json("save", PEANUTS, "--space", "ada")
    return made


def test_a_space_goes_into_a_file_and_out_of_it(perdure: Perdure, tmp_path: Path) -> None:
    told = perdure.json("export", str(tmp_path / "ada.jsonl.gz"), "--space", "ada", "--with-vectors")
    assert told["counts"]["memories"] == 1
    refused = perdure("import", str(tmp_path / "ada.jsonl.gz"))
    assert (refused.status, "--space" in refused.err) == (1, True)
    copied = perdure.json("import", str(tmp_path / "ada.jsonl.gz"), "--space", "copy")
    assert (copied["space"], copied["embedded"]) == ("copy", 0)
    assert [each["summary"] for each in perdure.json("list", "--space", "copy")["memories"]] == [PEANUTS]
    (tmp_path / "bad.jsonl").write_bytes(b'{"perdure_export": 1, "space": "x"}\n')
    assert perdure("import", str(tmp_path / "bad.jsonl")).status == 2


def test_what_was_acknowledged_before_the_backup_is_in_it(perdure: Perdure, tmp_path: Path) -> None:
    script = (
        "import sys\nfrom perdure.sync import Memory\n"
        "with Memory.open(worker=False) as memory:\n"
        "    for number in range(100000):\n"
        "        memory.space('busy').save(f'Fact number {number}')\n"
        "        print(number, flush=True)\n"
    )
    writer = subprocess.Popen([COMMAND[0], "-c", script], stdout=subprocess.PIPE, env=perdure.environment, text=True)
    try:
        assert writer.stdout is not None
        acknowledged = [int(writer.stdout.readline()) for _ in range(5)]
        perdure.json("backup", "make", str(tmp_path / "all.dump"))
        time.sleep(0.2)
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.communicate()
    elsewhere = Perdure(tmp_path / "elsewhere")
    perdure.json("backup", "restore", str(tmp_path / "all.dump"), "--data-dir", str(tmp_path / "elsewhere"))
    assert [each["summary"] for each in elsewhere.json("list", "--space", "ada")["memories"]] == [PEANUTS]
    facts = {each["summary"] for each in elsewhere.json("list", "--space", "busy", "--limit", "1000")["memories"]}
    assert {f"Fact number {number}" for number in acknowledged} <= facts
    assert "peanuts" in json.dumps(elsewhere.json("search", "peanuts", "--space", "ada"))
    again = perdure("backup", "restore", str(tmp_path / "all.dump"), "--data-dir", str(tmp_path / "elsewhere"))
    assert again.status == 2
