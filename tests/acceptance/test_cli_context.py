"""The whole prompt on the command line, for people and as data, and what prompts have cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.store.embedded import EmbeddedServer
from tests.acceptance.cli_process import Perdure

SPACE = ("--space", "harbour")
LAYOUT = {
    "name": "mine",
    "slots": [
        {
            "name": "top",
            "role": "system",
            "blocks": ["identity", "traits", "participants", "server_memories", "instructions"],
        },
        {
            "name": "bottom",
            "role": "user",
            "blocks": ["clock", "pending", "memories", "KNOWLEDGE_RECALLED_MEMORIES", "documents"],
        },
    ],
}
STATE = {
    "server_id": "guild",
    "persona": {"lineage": 10000, "name": "Momo"},
    "participants": [{"user_id": "7", "name": "Ada", "aliases": ["Ady"]}],
    "speaker": "7",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Perdure]:
    path = tmp_path_factory.mktemp("cli")
    with EmbeddedServer.open(path):  # kept running for all commands of this module
        yield Perdure(path)


def test_a_prompt_is_shown_to_people_and_as_data(run: Perdure, tmp_path: Path) -> None:
    run.json("save", "The ferry leaves at noon", "--date", "2026-01-05", *SPACE)
    told = run("context", "When does the ferry leave?", "--instructions", "Be kind.", *SPACE)
    assert told.status == 0
    assert "memories  tail  user" in told.out
    assert "   Be kind." in told.out

    layout, state = tmp_path / "mine.json", tmp_path / "state.json"
    layout.write_text(json.dumps(LAYOUT), "utf-8")
    state.write_text(json.dumps(STATE), "utf-8")
    asked = ("--layout", str(layout), "--state", str(state), "--inspect")
    data = run.json("context", "When does the ferry leave?", *asked, *SPACE)
    assert [block["name"] for block in data["blocks"]] == ["participants", "instructions", "clock", "memories"]
    assert '<participant name="Ada" aliases="Ady">' in data["slots"]["top"]
    assert [message["role"] for message in data["messages"]] == ["system", "user"]
    assert data["report"]["tokens"] >= sum(block["tokens"] for block in data["blocks"])


def test_what_is_given_up_for_a_budget_is_listed(run: Perdure) -> None:
    run.json("save", "The ferry leaves at noon", "--date", "2026-01-05", *SPACE)
    told = run("context", "When does the ferry leave?", "--token-budget", "300", *SPACE)
    assert "given up for the budget" in told.out


def test_savings_are_told_in_numbers(run: Perdure) -> None:
    data = run.json("context", "savings", "--days", "7", *SPACE)
    assert (data["days"], data["prompts"], data["thrash_ratio"]) == (7, 0, None)
    assert "thrash ratio" in run("context", "savings", *SPACE).out


def test_bad_files_are_refused_by_name(run: Perdure, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("[]", "utf-8")
    for option in ("--layout", "--state"):
        refused = run("context", "hello", option, str(broken), "--json", *SPACE)
        assert (refused.status, refused.data["error"]["field"]) == (2, option.removeprefix("--"))
    broken.write_text('{"participants": [{"name": "Ada"}]}', "utf-8")
    assert "docs/cli.md" in run("context", "hello", "--state", str(broken), *SPACE).err
    broken.write_text(json.dumps(STATE | {"speaker": "nobody"}), "utf-8")
    assert "speaker 'nobody'" in run("context", "hello", "--state", str(broken), *SPACE).err
