"""How the command line starts: quickly, and with help that says what there is."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

import perdure
from tests.acceptance.cli_process import Perdure

HEAVY = {"asyncio", "numpy", "onnxruntime", "psycopg", "pydantic", "pydantic_settings", "rich", "sqlite3"}
IMPORTED = """
import sys
from perdure.cli import main
try:
    main(["--help"])
except SystemExit:
    print("loaded", *sorted({name.split(".")[0] for name in sys.modules}))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Perdure:
    return Perdure(tmp_path_factory.mktemp("never-used"))


def test_help_takes_less_than_0_4_seconds(run: Perdure) -> None:
    def processor_seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert run("--help").status == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    # Seconds of the processor, so that other work on the machine doesn't count; it waits for nothing.
    assert min(processor_seconds() for _ in range(3)) < 0.4


def test_help_loads_neither_driver_nor_model() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.rpartition("loaded ")[2].split())
    assert "click" in loaded
    assert not loaded & HEAVY


def test_perdure_alone_shows_help_and_its_version_on_request(run: Perdure) -> None:
    alone = run()
    assert (alone.status, "recall" in alone.out) == (0, True)
    assert run("--version").out == f"perdure {perdure.__version__}\n"


def test_a_mistyped_command_is_answered_with_the_one_that_was_meant(run: Perdure) -> None:
    result = run("serch", "bikes")
    assert result.status == 2
    assert "'search'" in result.err


def test_a_bad_setting_is_named_with_its_variable(run: Perdure) -> None:
    result = run("list", "--json", PERDURE_RECALL_LIMIT="99")
    assert result.status == 2
    assert result.data["error"]["code"] == "configuration"
    assert "PERDURE_RECALL_LIMIT" in result.data["error"]["message"]
    assert result.err == ""


def test_a_data_directory_that_is_a_file_is_bad_configuration(run: Perdure, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = run("list", "--data-dir", str(tmp_path / "file"))
    assert result.status == 2
    assert "PERDURE_DATA_DIR" in result.err
    assert "Traceback" not in result.err


def test_a_full_disk_behind_stdout_is_told_in_a_line() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full on this platform")
    command = [sys.executable, "-m", "perdure", "list", "--limit", "x", "--json"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "perdure: stdout can't be written (No space left on device).\n"
