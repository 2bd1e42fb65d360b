"""Commands that are printed work where they are printed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from perdure.cli.called import as_called, program


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`perdure` in an environment that the shell doesn't know of, and running."""
    path = tmp_path / "my env" / "perdure"
    path.parent.mkdir()
    path.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(path), "demo"])
    return path


def test_a_program_on_the_path_is_called_by_its_name(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(script.parent))
    assert program() == "perdure"


def test_elsewhere_it_is_called_by_its_path(script: Path) -> None:
    assert program() == f"'{script}'"
    assert as_called("Run `perdure init`, or `perdure doctor`.") == f"Run `'{script}' init`, or `'{script}' doctor`."


def test_another_program_of_that_name_does_not_count(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "perdure").touch(mode=0o755)
    assert program() == f"'{script}'"


def test_a_module_is_called_as_one(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/lib/perdure/__main__.py"])
    assert program().endswith(" -m perdure")
