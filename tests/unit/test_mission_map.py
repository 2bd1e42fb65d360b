"""docs/mission.md tells the truth: what it says is here is here."""

from __future__ import annotations

import importlib
import re

import pytest
from pydantic import BaseModel

from checks.sources import ROOT, read_sources
from checks.sql.collect import collect_migration
from checks.sql.schema import Schema
from perdure.settings import Settings

MISSION_ENVIRONMENT = {
    "MAX_CHUNK_BYTES",
    "COGNITIVE_BUFFER_THRESHOLD",
    "LULL_DURATION",
    "COGNITIVE_CEILING",
    "EPISODE_DEDUP_THRESHOLD",
    "SUPERSEDED_GRACE_DAYS",
    "MEMORY_DECAY_ENABLED",
    "MAX_SERVER_MEMORIES",
    "MAX_PERSONAL_MEMORIES",
    "MAX_MEMORY_LENGTH",
}


def rows(heading: str) -> list[list[str]]:
    """The body rows of the table under a heading, cells stripped of back-quotes."""
    page = (ROOT / "docs" / "mission.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", page.partition(f"## {heading}\n")[2], flags=re.MULTILINE)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines[2:]]


def resolve(dotted: str) -> object:
    """What a dotted name stands for: the longest importable module, then attributes or fields of a model."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            if isinstance(found, type) and issubclass(found, BaseModel) and name in found.model_fields:
                found = found.model_fields[name]
            else:
                found = getattr(found, name)
        return found
    raise ModuleNotFoundError(dotted)


@pytest.mark.parametrize("here", [row[1] for row in rows("Functions and constants")])
def test_every_function_and_constant_of_the_mission_is_where_the_page_says(here: str) -> None:
    assert resolve(here) is not None


OTHER = {"true": "false", "0.12": "0.2", "100": "50"}
"""Another value than this default; 100 is one for the rest."""


@pytest.mark.parametrize(("name", "setting", "default"), rows("Environment"))
def test_every_environment_name_is_read_with_and_without_the_prefix(
    name: str, setting: str, default: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read() -> object:
        return getattr(Settings(), setting.rpartition(".")[2])

    monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv(f"PERDURE_{name}", raising=False)
    standard = read()
    monkeypatch.setenv(name, OTHER.get(default, "100"))
    assert read() != standard
    monkeypatch.setenv(f"PERDURE_{name}", default)
    assert read() == standard


@pytest.mark.parametrize("here", [row[1] for row in rows("The memories table")])
def test_every_column_of_the_mission_is_in_the_table_the_page_says(here: str) -> None:
    migrations = read_sources("src/perdure/store/migrations", suffix=".sql")
    schema = Schema.of(statement for source in migrations for statement in collect_migration(source)[0])
    table, column = here.split(".")
    assert column in schema.tables[table].columns


def test_every_environment_name_of_the_mission_is_on_the_page() -> None:
    assert {row[0] for row in rows("Environment")} >= MISSION_ENVIRONMENT


def test_an_entry_that_points_nowhere_is_noticed() -> None:
    with pytest.raises(AttributeError):
        resolve("perdure.types.NoSuchType")
    with pytest.raises(ModuleNotFoundError):
        resolve("no_such_package.thing")
