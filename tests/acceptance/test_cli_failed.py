"""What failed for good is looked at, tried again and dropped from the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure import Memory
from perdure.store.embedded import EmbeddedServer
from tests.acceptance.cli_process import Perdure
from tests.doubles.embedder import HashedEmbedder


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("cli")
    with EmbeddedServer.open(path):  # kept running for all commands of this module
        yield path


@pytest.fixture(scope="module")
def run(data_dir: Path) -> Perdure:
    return Perdure(data_dir)


def give_up(data_dir: Path, space: str, *said: str) -> None:
    """Captures what an embedder can't take, and drains it with one attempt each."""

    async def work() -> None:
        embedder = HashedEmbedder()
        embedder.poison = "POISON"
        async with Memory.open(data_dir=data_dir, embedder=embedder, worker=False, max_attempts=1) as memory:
            for text in said:
                await memory.space(space).capture(user=text)
            assert (await memory.space(space).drain()).failed == len(said)

    asyncio.run(work())


def test_what_was_given_up_is_listed_shown_replayed_and_dropped(run: Perdure, data_dir: Path) -> None:
    give_up(data_dir, "ada", "POISON one", "POISON two", "POISON three")
    space = ("--space", "ada")
    failed = run.json("failed", "list", *space)["failed"]
    assert [one["error"] for one in failed] == ["ValueError: poisoned text"] * 3
    listed = run("failed", "list", *space)
    assert "poisoned text" in listed.out
    assert "POISON" not in listed.out
    first, second, third = (one["id"] for one in failed)
    assert run.json("failed", "show", first, *space)["context"]["payload"]["user"] == "POISON one"
    assert "POISON one" in run("failed", "show", first, *space).out

    assert run.json("failed", "replay", first, *space)["replayed"] == [first]
    again = run("failed", "replay", first, "--json", *space)
    assert (again.status, again.data["replayed"]) == (1, [])
    assert run.json("failed", "drop", second, "--yes", *space)["dropped"] == [second]
    assert run.json("failed", "replay", *space)["replayed"] == [third]
    assert run.json("failed", "replay", *space)["replayed"] == []
    stats = run.json("stats", *space)
    assert (stats["pending"], stats["failed"]) == (2, 0)
    assert run("failed", "show", second, *space).status == 1


@pytest.mark.parametrize(
    "arguments", [(), ("list", "1"), ("show",), ("show", "1", "2"), ("drop",), ("drop", "1"), ("retry",), ("show", "x")]
)
def test_what_makes_no_sense_is_refused_with_status_2(run: Perdure, arguments: tuple[str, ...]) -> None:
    result = run("failed", *arguments)
    assert result.status == 2
    assert "Traceback" not in result.err
