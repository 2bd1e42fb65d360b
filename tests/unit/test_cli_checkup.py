"""What doctor says of a place and of variables that nobody can use."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.cli import checkup


def test_a_misspelt_setting_is_named_with_the_one_that_was_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_RECAL_LIMIT", "5")
    monkeypatch.setenv("PERDURE_RECALL_LIMIT", "5")
    monkeypatch.setenv("PERDURE_SPACE", "ada")
    found = [each for each in checkup._unknown_variables() if "RECAL" in each.detail]
    assert [(each.status, each.advice) for each in found] == [("warn", "Did you mean PERDURE_RECALL_LIMIT?")]
    assert "PERDURE_RECAL_LIMIT" in found[0].detail


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_data_directory_that_is_a_file_fails_with_what_to_do(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    found = checkup._data_dir(tmp_path / "file" / below)
    assert found.status == "fail"
    assert "file" in found.detail
    assert found.advice
    assert "PERDURE_DATA_DIR" in found.advice


def test_a_data_directory_that_is_not_made_yet_is_fine(tmp_path: Path) -> None:
    assert "not made yet" in checkup._data_dir(tmp_path / "new").detail
