"""Memories of other systems: mem0, Letta, a LangGraph store, and folders of Markdown notes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from perdure import InvalidInput, Message, Space
from perdure.connect import Rejected, detect_format, read_messages

SAMPLES = Path(__file__).parents[1] / "data" / "exports"
MEM0: Any = [
    *json.loads((SAMPLES / "mem0.json").read_text("utf-8")),
    {"id": "a4", "memory": "Tom moved", "created_at": "yesterday"},
]
LETTA: Any = json.loads((SAMPLES / "letta.af").read_text("utf-8"))
STORE: Any = [
    *map(json.loads, (SAMPLES / "langgraph_store.jsonl").read_text("utf-8").splitlines()),
    {"namespace": "no", "key": "k", "value": {}},
    {"namespace": ["x"], "key": "empty", "value": {}},
]
NOTE = """---
title: Boats
date: 2026-02-03
tags: [sea]
---
Intro words.

# Boats

## Miro
Blue, 7 m.

```
# no heading
```

## Empty

## 東京
港にある
"""


def written(path: Path, data: Any, *, lines: bool = False) -> Path:
    text = "\n".join(json.dumps(each) for each in data) if lines else json.dumps(data)
    path.write_text(text, encoding="utf-8")
    return path


def told(path: Path) -> tuple[list[Message], list[Rejected], dict[str, int]]:
    reader = read_messages(path)
    items = list(reader)
    messages = [item for item in items if isinstance(item, Message)]
    return messages, [item for item in items if isinstance(item, Rejected)], dict(reader.skipped)


@pytest.mark.parametrize("form", ["results", "array", "lines"])
def test_mem0_memories_go_to_the_space_of_their_user(tmp_path: Path, form: str) -> None:
    data: Any = {"count": 4, "results": MEM0} if form == "results" else MEM0
    path = written(tmp_path / "export.json", data, lines=form == "lines")
    assert detect_format(path) == "mem0"
    messages, rejected, skipped = told(path)
    assert [(each.space, each.text) for each in messages] == [("ada", "Ada is vegan"), ("tom", "Tom plays chess")]
    assert messages[0].occurred_at == datetime(2026, 3, 1, 18, tzinfo=UTC)
    assert len(rejected) == 1
    assert skipped == {"memory without words": 1}


@pytest.mark.parametrize("older", [False, True])
def test_letta_blocks_passages_and_messages_come_in(tmp_path: Path, *, older: bool) -> None:
    data: Any = LETTA
    if older:
        data = {
            "agent_type": "memgpt_agent",
            "name": "Sam",
            "core_memory": LETTA["blocks"],
            "messages": LETTA["agents"][0]["messages"],
        }
    path = written(tmp_path / "sam.af", data)
    assert detect_format(path) == "letta"
    messages, rejected, skipped = told(path)
    words = [each.text for each in messages]
    expected = ["Name: Chad. Likes Formula 1.", "Chad's boat is called Miro", "I sail", "I like tea", "Noted."]
    assert words == [each for each in expected if not (older and "boat" in each)]
    assert [each.speaker for each in messages if each.conversation_id == "Sam"] == ["user", "user", "assistant"]
    assert rejected == []
    assert skipped["block about the agent itself"] == 1
    assert skipped["message of the system or a tool"] == 3


@pytest.mark.parametrize("lines", [False, True])
def test_items_of_a_langgraph_store_come_in_by_namespace(tmp_path: Path, *, lines: bool) -> None:
    path = written(tmp_path / "store.json", STORE, lines=lines)
    assert detect_format(path) == "langgraph"
    messages, rejected, skipped = told(path)
    assert [(each.conversation_id, each.text) for each in messages] == [
        ("memories/ada", "Ada likes pizza"),
        ("profiles", 'name: Ada\nage: 36\nlikes: ["tea"]'),
    ]
    assert (len(rejected), skipped) == (2, {})


def test_a_folder_of_notes_comes_in_section_by_section(tmp_path: Path) -> None:
    (tmp_path / "sea").mkdir()
    (tmp_path / "sea" / "boats.md").write_text(NOTE, encoding="utf-8")
    (tmp_path / "plain.md").write_text("Just a line", encoding="utf-8")
    (tmp_path / "latin.md").write_bytes("caf\xe9".encode("latin-1"))
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.md").write_text("Secret", encoding="utf-8")
    assert detect_format(tmp_path) == "markdown"
    messages, rejected, skipped = told(tmp_path)
    assert [(each.conversation_id, each.text) for each in messages] == [
        ("plain.md", "plain: Just a line"),
        ("sea/boats.md", "Boats: Intro words."),
        ("sea/boats.md", "Boats › Miro: Blue, 7 m.\n\n```\n# no heading\n```"),
        ("sea/boats.md", "Boats › 東京: 港にある"),
    ]
    assert messages[1].occurred_at == datetime(2026, 2, 3, tzinfo=UTC)
    assert [each.error.field for each in rejected] == ["latin.md"]
    assert skipped == {"section without words": 2}


def test_one_note_and_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\nwords", encoding="utf-8")
    assert [each.text for each in told(tmp_path / "a.md")[0]] == ["a › A: words"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match="directory"):
        detect_format(tmp_path / "empty")


async def test_an_import_again_adds_only_what_is_new(space: Space, tmp_path: Path) -> None:
    path = written(tmp_path / "export.json", MEM0)
    for stored in (2, 0):
        messages = told(path)[0]
        report = await space.import_messages(messages, source="mem0")
        assert report.stored == stored
    assert {memory.summary for memory in await space.list()} == {"Ada is vegan", "Tom plays chess"}


BROKEN = ['{"results": [{"id": 1, ', '{"agents": 5}', '{"results": [5]}']


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_file_is_a_clear_error(tmp_path: Path, broken: str) -> None:
    (tmp_path / "x.json").write_text(broken, encoding="utf-8")

    def read() -> None:
        for item in read_messages(tmp_path / "x.json"):
            assert isinstance(item, Rejected)
            raise item.error

    with pytest.raises(InvalidInput) as refused:
        read()
    assert refused.value.limit
