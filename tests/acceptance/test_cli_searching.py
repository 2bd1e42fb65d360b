"""Searching the past and asking where a memory fell out, from the command line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from perdure.store.embedded import EmbeddedServer
from tests.acceptance.cli_process import Perdure

SPACE = ("--space", "harbour")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Perdure]:
    path = tmp_path_factory.mktemp("cli")
    with EmbeddedServer.open(path):  # kept running for all commands of this module
        yield Perdure(path)


def test_a_search_of_the_past_and_where_a_memory_fell_out_are_told_to_people_and_as_data(run: Perdure) -> None:
    kept = run.json("save", "The ferry leaves at noon", "--date", "2026-01-05", "--tag", "boat", *SPACE)["ids"][0]
    run.json("save", "Rosa plays the cello", "--date", "2026-01-07", *SPACE)

    then = run.json("search", "When does the ferry leave?", "--as-of", "2026-01-06", *SPACE)
    assert [hit["id"] for hit in then["hits"]] == [kept]
    assert then["as_of"] == "2026-01-06T23:59:59.999999Z"
    assert then["queries"] == ["When does the ferry leave?"]
    assert run.json("search", "ferry", "--as-of", "2026-01-04", "--plain", *SPACE)["hits"] == []

    told = run.json("recall", "When does the ferry leave?", "--why-not", f"#{kept}", *SPACE)
    assert (told["fate"], told["id"], told["place"], told["visible"]) == ("returned", kept, 1, 2)
    assert told["gate"]["cosine"] > 0
    assert told["memory"]["id"] == kept

    below = run("recall", "hello there", "--why-not", kept, *SPACE)
    assert below.status == 0
    assert "below the gate" in below.out
    assert "The message asks for nothing" in below.out

    filtered = run("search", "ferry", "--tag", "train", "--why-not", kept, *SPACE)
    assert "filtered: It does not fit: tags." in filtered.out
    assert run.json("search", "ferry", "--why-not", "999999", *SPACE)["fate"] == "not_there"

    bad = run("recall", "ferry", "--why-not", "none", "--json", *SPACE)
    assert (bad.status, bad.data["error"]["field"]) == (2, "id")
    bad = run("search", "ferry", "--as-of", "soon", "--json", *SPACE)
    assert (bad.status, bad.data["error"]["field"]) == (2, "as_of")
