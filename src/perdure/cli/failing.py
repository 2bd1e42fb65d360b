"""What went wrong, in one or two lines: what happened, and what to do next.

With `--json` the one document on stdout is then `{"error": {"code", "message", "hint", ...}}`; without it, the lines go
to stderr. Exit status: 0 done, 1 failed, 2 bad input, usage or configuration, 130 stopped with Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import Final

import click

from perdure.cli.called import as_called
from perdure.cli.printing import print_json, printable
from perdure.errors import InvalidInput, PerdureError, without_words

FAILED: Final = 1
REFUSED: Final = 2
INTERRUPTED: Final = 130
OPTIONS: Final = {
    "assume-time": "--assume-time",
    "audience": "--audience",
    "conversation_id": "--conversation",
    "history": "--history",
    "limit": "--limit",
    "memory_type": "--type",
    "meta": "--meta",
    "metadata": "--meta",
    "operation_id": "--operation-id",
    "profile": "--profile",
    "salience": "--salience",
    "since": "--since",
    "source": "--source",
    "source_date": "--date",
    "space": "--space",
    "speaker": "--speaker",
    "tags": "--tag",
    "until": "--until",
    "zone": "--zone",
}
"""What a person wrote, by the library's name for it. `--json` keeps the library's."""


class NoSuchCommand(click.UsageError):
    """A command that isn't there; `advice` names the one that may have been meant."""

    def __init__(self, name: str, advice: str) -> None:
        super().__init__(f"There is no command {name!r}.")
        self.advice = advice


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during an import."""

    hint = "What was imported so far is kept. The same command goes on from there and stores nothing twice."


def debugging() -> bool:
    """Whether PERDURE_DEBUG asks for tracebacks."""
    return os.environ.get("PERDURE_DEBUG", "") not in {"", "0"}


def error_data(error: PerdureError) -> dict[str, object]:
    """An error as `--json` prints it; `field`, `value`, `limit` and `line` only where the error names them."""
    hint = None if error.hint is None else as_called(error.hint)
    data: dict[str, object] = {"code": error.code, "message": error.message, "hint": hint}
    if isinstance(error, InvalidInput):
        data |= {"field": error.field, "value": error.value, "limit": error.limit}
        if error.line is not None:
            data["line"] = error.line
    return data


def exit_status(work: Callable[[], int], *, as_json: bool) -> int:
    """Runs `work` and returns its exit status, or reports what it raised."""
    try:
        return work()
    except click.exceptions.Exit as error:
        return error.exit_code
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        _let_go_of_stdout()
        return FAILED
    except (Exception, KeyboardInterrupt) as error:
        if debugging():
            traceback.print_exc()
        data, status = described(error)
    if as_json:
        try:
            print_json({"error": data})
            sys.stdout.flush()
        except OSError as error:
            _let_go_of_stdout()
            click.echo(f"perdure: stdout can't be written ({error.strerror}).", err=True)
        return status
    click.echo(f"perdure: {printable(_in_options(str(data['message']), data.get('field')))}", err=True)
    if data["hint"]:
        click.echo(printable(str(data["hint"])), err=True)
    return status


def _let_go_of_stdout() -> None:
    """Python would complain of what it can't flush at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_options(message: str, field: object) -> str:
    """The message with the option in place of the library's name for what was refused."""
    option = OPTIONS.get(str(field))
    return message if option is None else message.replace(f"{field} ", f"{option} ", 1)


def described(error: BaseException) -> tuple[dict[str, object], int]:
    """What `--json` says of an error, and the exit status."""
    if isinstance(error, PerdureError):
        return error_data(error), error.exit_status
    if isinstance(error, KeyboardInterrupt | click.Abort):
        # click turns what Ctrl-C raises into an Abort that it causes.
        hint = getattr(error, "hint", None) or getattr(error.__cause__, "hint", None)
        return {"code": "interrupted", "message": "Stopped.", "hint": hint}, INTERRUPTED
    if isinstance(error, NoSuchCommand):
        return {"code": "usage", "message": error.format_message(), "hint": as_called(error.advice)}, REFUSED
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "perdure"
        hint = as_called(f"`{path} --help` shows what is accepted.")
        return {"code": "usage", "message": error.format_message(), "hint": hint}, REFUSED
    # What the database says of an error quotes rows.
    told = without_words(error) if hasattr(error, "sqlstate") else f"{type(error).__name__}: {error}"
    message = f"Something unexpected went wrong: {told}"
    hint = as_called("`perdure doctor` checks the installation; PERDURE_DEBUG=1 shows where it happened.")
    return {"code": "internal", "message": message, "hint": hint}, FAILED
