"""The documentation knows every command, option and setting, and none that isn't there."""

from __future__ import annotations

import re
from datetime import timedelta
from importlib import import_module
from pathlib import Path

import click
import pytest
from pydantic.fields import FieldInfo

from perdure.cli.call import COMMON_OPTIONS
from perdure.cli.table import entries
from perdure.settings import PREFIX, Settings

DOCS = Path(__file__).parents[2] / "docs"
CLI = (DOCS / "cli.md").read_text("utf-8")
SETTINGS = (DOCS / "settings.md").read_text("utf-8")


def _command(name: str) -> click.Command:
    module, attribute = entries()[name].where.split(":")
    command = getattr(import_module(module), attribute)
    assert isinstance(command, click.Command)
    return command


def _section(name: str) -> str:
    found = re.search(rf"^## perdure {name}$(.*?)(?=^## |\Z)", CLI, re.MULTILINE | re.DOTALL)
    assert found, f"docs/cli.md has no section '## perdure {name}'"
    return found[1]


def _spellings(command: click.Command) -> set[str]:
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    return {word for option in options for word in (*option.opts, *option.secondary_opts)} - set(COMMON_OPTIONS)


@pytest.mark.parametrize("name", entries())
def test_every_command_and_option_is_documented(name: str) -> None:
    section = _section(name)
    command = _command(name)
    missing = {spelling for spelling in _spellings(command) if f"`{spelling}" not in section}
    assert not missing
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            assert (
                parameter.make_metavar(click.Context(command)).strip("[]{}.").replace(",", " ").split()[-1] in section
            )


@pytest.mark.parametrize("name", entries())
def test_no_option_is_documented_that_isnt_there(name: str) -> None:
    written = set(re.findall(r"`(--[a-z][a-z-]*)", _section(name)))
    assert written <= _spellings(_command(name)) | set(COMMON_OPTIONS)


def test_no_command_is_documented_that_isnt_there() -> None:
    assert re.findall(r"^## perdure (\S+)$", CLI, re.MULTILINE) == list(entries())


@pytest.mark.parametrize("name", entries())
def test_every_command_has_the_common_options_and_its_help(name: str) -> None:
    command = _command(name)
    spelled = {word for parameter in command.params for word in parameter.opts}
    assert set(COMMON_OPTIONS) <= spelled
    assert command.name == name
    assert command.help


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_documented_with_variable_default_and_range(name: str) -> None:
    row = next((line for line in SETTINGS.splitlines() if line.startswith(f"| `{PREFIX}{name.upper()}`")), None)
    assert row, f"docs/settings.md has no row for {PREFIX}{name.upper()}"
    _, _, default, accepted, what, _ = (cell.strip() for cell in row.split("|"))
    field = Settings.model_fields[name]
    assert default == ("" if field.default is None else f"`{_written(field.default)}`")
    assert accepted == _range(field) or not _range(field)
    assert what


def test_no_setting_is_documented_that_isnt_there() -> None:
    rows = re.findall(rf"^\| `{PREFIX}([A-Z_]+)`", SETTINGS, re.MULTILINE)
    assert {row.lower() for row in rows} == set(Settings.model_fields) | {"space", "debug"}


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, timedelta):
        return duration(value)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def duration(value: timedelta) -> str:
    """A length of time as a setting is written: in the greatest unit that divides it."""
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    seconds = int(value.total_seconds())
    unit, size = next(((unit, size) for unit, size in units if seconds and seconds % size == 0), ("s", 1))
    return f"{seconds // size}{unit}"


def _range(field: FieldInfo) -> str:
    """`least to most` as the page writes it; empty where there is no range."""
    bounds = {
        name: getattr(bound, name) for bound in field.metadata for name in ("ge", "gt", "le") if hasattr(bound, name)
    }
    if "le" not in bounds:
        return ""
    least = f"over {_written(bounds['gt'])}" if "gt" in bounds else _written(bounds["ge"])
    return f"{least} to {_written(bounds['le'])}"
