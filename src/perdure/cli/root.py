"""`perdure` itself: finds the command, runs it, and turns whatever goes wrong into a message and an exit status."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import NoReturn

import click

import perdure
from perdure.cli.failing import NoSuchCommand, exit_status
from perdure.cli.table import COMMANDS, entries


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(entries())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = entries().get(cmd_name)
        if entry is None:
            return None
        module, attribute = entry.where.split(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in entries():
            near = get_close_matches(args[0], entries(), 1)
            advice = f"Did you mean {near[0]!r}?" if near else "`perdure --help` lists the commands."
            raise NoSuchCommand(args[0], advice)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, group in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, entry.help) for name, entry in group.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Begin with `perdure demo`. Settings are environment variables: docs/settings.md. "
    "Exit status: 0 done, 1 failed, 2 bad input or configuration.",
)
@click.version_option(perdure.__version__, prog_name="perdure", message="%(prog)s %(version)s")
def cli() -> None:
    """Long-term memory for AI assistants, on PostgreSQL and pgvector."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs one command and ends the process with its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        # What a terminal's encoding can't show is shown as an escape; it must not end the command.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(exit_status(lambda: _run(given), as_json=_wants_json(given)))


def _run(arguments: list[str]) -> int:
    status = cli.main(arguments or ["--help"], prog_name="perdure", standalone_mode=False)
    sys.stdout.flush()
    return status if isinstance(status, int) else 0


def _wants_json(arguments: list[str]) -> bool:
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options
