"""How errors end a command: the message, the hint, and the exit status."""

from __future__ import annotations

import json

import click
import psycopg
import pytest

from perdure.cli.failing import Interrupted, exit_status
from perdure.errors import ConfigurationError, DatabaseUnavailable, InvalidInput, NotFound


def _raise(error: BaseException) -> int:
    raise error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InvalidInput("text", "", "it must not be empty"), 2),
        (ConfigurationError("Bad URL."), 2),
        (click.UsageError("No such option."), 2),
        (NotFound("There is no such memory."), 1),
        (DatabaseUnavailable("No answer."), 1),
        (ZeroDivisionError("oops"), 1),
        (KeyboardInterrupt(), 130),
        (Interrupted(), 130),
    ],
)
def test_each_error_has_its_status_and_one_or_two_lines(
    error: BaseException, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_status(lambda: _raise(error), as_json=False) == status
    printed = capsys.readouterr()
    assert printed.out == ""
    assert 1 <= len(printed.err.splitlines()) <= 2
    assert "Traceback" not in printed.err

    assert exit_status(lambda: _raise(error), as_json=True) == status
    printed = capsys.readouterr()
    assert set(json.loads(printed.out)["error"]) >= {"code", "message", "hint"}
    assert printed.err == ""


def test_an_interrupted_import_says_that_the_same_command_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    exit_status(lambda: _raise(Interrupted()), as_json=False)
    assert "same command" in capsys.readouterr().err


def test_a_rejected_line_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    error = InvalidInput("time", "x", "it must be ISO 8601", line=17)
    exit_status(lambda: _raise(error), as_json=True)
    printed = json.loads(capsys.readouterr().out)["error"]
    assert (printed["field"], printed["line"], printed["limit"]) == ("time", 17, "it must be ISO 8601")


def test_a_person_reads_the_option_and_a_program_the_field(capsys: pytest.CaptureFixture[str]) -> None:
    error = InvalidInput("source_date", "x", "it has to be a date")
    exit_status(lambda: _raise(error), as_json=False)
    assert capsys.readouterr().err == "perdure: --date 'x' is not accepted: it has to be a date.\n"
    exit_status(lambda: _raise(error), as_json=True)
    assert json.loads(capsys.readouterr().out)["error"]["field"] == "source_date"


def test_a_traceback_is_shown_on_request(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_DEBUG", "1")
    exit_status(lambda: _raise(ZeroDivisionError("oops")), as_json=False)
    assert "Traceback" in capsys.readouterr().err


def test_what_the_database_says_of_an_unexpected_error_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    error = psycopg.errors.CheckViolation("Failing row contains (1, a secret).")
    assert exit_status(lambda: _raise(error), as_json=False) == 1
    printed = capsys.readouterr().err
    assert "CheckViolation (SQLSTATE 23514)" in printed
    assert "a secret" not in printed
