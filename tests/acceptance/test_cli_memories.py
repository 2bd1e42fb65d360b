"""Saving, recalling, searching, looking and forgetting from the command line, with a real database and model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from perdure import Memory, SimulatedClock
from perdure.store.embedded import EmbeddedServer
from tests.acceptance.cli_process import Perdure, Result


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Perdure]:
    path = tmp_path_factory.mktemp("cli")
    with EmbeddedServer.open(path):  # kept running for all commands of this module
        yield Perdure(path)


def test_what_one_process_saves_another_recalls_finds_shows_and_forgets(run: Perdure) -> None:
    space = ("--space", "roundtrip")
    saved = run.json(
        "save", "The spare key hangs at Mrs Aerts's", "--tag", "home", "--salience", "8", "--speaker", "Ada",
        "--date", "2026-03-01T09:30+01:00", *space,
    )  # fmt: skip
    assert saved["status"] == "stored"
    (memory_id,) = saved["ids"]

    recalled = run.json("recall", "Who has the spare key?", *space)
    assert [hit["id"] for hit in recalled["memories"]] == [memory_id]
    assert recalled["memories"][0]["source_date"] == "2026-03-01T08:30:00Z"
    assert "Mrs Aerts" in recalled["tail"]
    assert recalled["degraded"] == []
    assert recalled["timings_ms"]["total"] > 0

    found = run.json("search", "key", "--tag", "home", "--speaker", "ada", "--since", "2026-01-01", *space)
    assert [hit["id"] for hit in found["hits"]] == [memory_id]
    assert run.json("search", "key", "--tag", "work", *space)["hits"] == []

    listed = run.json("list", *space)
    assert [memory["summary"] for memory in listed["memories"]] == ["The spare key hangs at Mrs Aerts's"]
    shown = run.json("show", memory_id, *space)
    assert shown["memory"]["salience"] == 8
    assert shown["evidence"][0]["excerpt"] == "The spare key hangs at Mrs Aerts's"
    assert run.json("stats", *space)["memories"] == 1

    assert run.json("forget", memory_id, "--yes", *space)["erased"] == [memory_id]
    gone = run("show", memory_id, "--json", *space)
    assert (gone.status, gone.data["error"]["code"]) == (1, "not_found")


def test_the_same_text_is_merged_not_stored_twice(run: Perdure) -> None:
    first = run.json("save", "Vera is vegan", "--space", "twice")
    second = run.json("save", "Vera is vegan", "--space", "twice")
    assert (second["status"], second["ids"]) == ("merged", first["ids"])


def test_stdin_is_read_as_utf_8_without_its_last_line_end(run: Perdure) -> None:
    saved = run("save", "-", "--space", "stdin", "--json", stdin="Zwei Zeilen,\nund noch eine 你好\n".encode())
    memory = run.json("show", saved.data["ids"][0], "--space", "stdin")["memory"]
    assert memory["summary"] == "Zwei Zeilen,\nund noch eine 你好"
    broken = run("save", "-", "--space", "stdin", "--json", stdin=b"caf\xe9")
    assert (broken.status, broken.data["error"]["field"]) == (2, "text")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("save", ""), "text"),
        (("save", "fine", "--salience", "nan"), "salience"),
        (("save", "fine", "--type", "rumour"), "memory_type"),
        (("save", "fine", "--date", "9999-12-31"), "source_date"),
        (("search", "fine", "--profile", "best"), "profile"),
        (("search", "fine", "--meta", "novalue"), "meta"),
        (("list", "--since", "yesterday"), "since"),
        (("recall", "hi", "--history", "/nowhere.json"), "history"),
        (("show", "first"), "id"),
        (("save", "fine", "--space", ""), "space"),
        (("save", "fine", "--space", "ada\u202e"), "space"),
        (("save", "fine", "--audience", "\u200b"), "audience"),
        (("save", "fine", "--speaker", "李" * 67), "speaker"),
        (("save", "fine", "--tag", "x" * 101), "tags"),
        (("search", "fine", "--meta", f"note={'x' * 17_000}"), "metadata"),
        (("save", "fine", "--date", "0001-01-01"), "source_date"),
        (("recall", "hi", "--limit", "0"), "limit"),
        (("search", "fine", "--speaker", "x" * 201), "speaker"),
        (("show", "9" * 5000), "id"),
    ],
)
def test_bad_input_is_refused_by_field_and_limit_with_status_2(
    run: Perdure, arguments: tuple[str, ...], field: str
) -> None:
    result = run(*arguments, "--json")
    assert result.status == 2
    error = result.data["error"]
    assert (error["code"], error["field"]) == ("invalid_input", field)
    assert error["limit"]
    assert result.err == ""


def test_a_megabyte_of_text_is_refused_by_its_size(run: Perdure) -> None:
    result = run("save", "-", stdin=b"a " * 500_000)
    assert result.status == 2
    assert "999,999 bytes" in result.err or "1,000,000 bytes" in result.err
    assert len(result.err) < 500


def test_nothing_is_written_by_reading(run: Perdure) -> None:
    assert run.json("recall", "anything?", "--space", "nobody")["memories"] == []
    assert run.json("search", "anything", "--space", "nobody")["hits"] == []
    assert run.json("list", "--space", "nobody")["memories"] == []
    missing = run("stats", "--space", "nobody")
    assert missing.status == 1
    assert "'nobody'" in missing.err


def test_small_talk_recalls_nothing(run: Perdure) -> None:
    run.json("save", "Ada is allergic to peanuts", "--space", "ada")
    assert run.json("recall", "ok thanks, good night!", "--space", "ada")["memories"] == []
    result = run("recall", "hi", "--space", "ada")
    assert result.status == 0
    assert "Nothing" in result.out


def test_where_nothing_is_recalled_the_nearest_is_named_on_request(run: Perdure) -> None:
    (memory_id,) = run.json("save", "Ada is allergic to peanuts", "--space", "near")["ids"]
    explained = run("recall", "What is the capital of Mongolia?", "--explain", "--space", "near")
    assert explained.status == 0
    assert "Nothing in space near" in explained.out
    assert f"below the relevance gate:\n#{memory_id} " in explained.out
    assert "PERDURE_RELEVANCE_GATE=false" in explained.out
    data = run.json("recall", "What is the capital of Mongolia?", "--explain", "--space", "near")
    assert (data["memories"], data["nearest"]["id"]) == ([], memory_id)


def test_the_conversation_so_far_says_what_a_short_message_means(run: Perdure, tmp_path: Path) -> None:
    history = tmp_path / "history.json"
    history.write_text(json.dumps([{"role": "user", "content": "What may I cook for Ada, who can't eat peanuts?"}]))
    run.json("save", "Ada is allergic to peanuts", "--space", "cook")
    recalled = run.json("recall", "And for dessert, for Ada?", "--history", str(history), "--space", "cook")
    assert [hit["summary"] for hit in recalled["memories"]] == ["Ada is allergic to peanuts"]


def test_a_follow_up_of_function_words_alone_goes_on_with_the_conversation(run: Perdure, tmp_path: Path) -> None:
    history = tmp_path / "history.json"
    history.write_text(json.dumps([{"role": "user", "content": "I have an appointment at the dentist, don't I?"}]))
    run.json("save", "The appointment at the dentist is on Monday at nine", "--space", "ellipsis")
    alone = run.json("recall", "When is it?", "--space", "ellipsis")
    assert alone["memories"] == []
    recalled = run.json("recall", "When is it?", "--history", str(history), "--space", "ellipsis")
    assert [hit["summary"] for hit in recalled["memories"]] == ["The appointment at the dentist is on Monday at nine"]


def test_a_recall_takes_filters_and_tells_what_it_left_out(run: Perdure) -> None:
    space = ("--space", "left-out")
    question = "When does the landlord raise the rent?"
    for speaker in ("Ada", "Ben"):
        run.json("save", "The landlord raises the rent in January", "--speaker", speaker, *space)
    (twin,) = run.json("save", "In January the landlord will raise the rent", "--speaker", "Ada", *space)["ids"]
    recalled = run.json("recall", question, "--speaker", "ada", *space)
    (hit,) = recalled["memories"]
    assert hit["speaker"] == "Ada"
    assert {left["id"] for left in recalled["left_out"]} | {hit["id"]} >= {twin}
    assert {left["why"] for left in recalled["left_out"]} == {"repeated"}
    assert 0 < recalled["tokens"] < 200
    assert "says the same" in run("recall", question, "--speaker", "ada", "--explain", *space).out
    dear = run.json("recall", question, *space, PERDURE_RECALL_TOKEN_BUDGET="20")
    assert (dear["memories"], {left["why"] for left in dear["left_out"]}) == ([], {"over_budget"})
    left = dear["left_out"][0]["id"]
    missed = run.json("recall", question, "--why-not", left, *space, PERDURE_RECALL_TOKEN_BUDGET="20")
    assert missed["fate"] == "over_budget"


def test_memories_cannot_speak_to_the_terminal(run: Perdure) -> None:
    run.json("save", "[bold red]not markup[/] \x1b[31m \x9b31m :smile: \u202ereversed 你好", "--space", "hostile")
    (memory,) = run.json("list", "--space", "hostile")["memories"]
    for arguments in (("list",), ("show", memory["id"]), ("search", "markup", "--explain"), ("recall", "markup?")):
        result = run(*arguments, "--space", "hostile")
        assert "[bold red]not markup[/]" in result.out
        assert ":smile:" in result.out
        assert not set(result.out) & {"\x1b", "\x9b", "\u202e", "\a"}


def test_forgetting_asks_and_without_anybody_to_ask_refuses(run: Perdure) -> None:
    (memory_id,) = run.json("save", "Keep me", "--space", "keep")["ids"]
    refused = run("forget", memory_id, "--space", "keep")
    assert refused.status == 2
    assert "--yes" in refused.err
    assert run.json("stats", "--space", "keep")["memories"] == 1
    missing = run("forget", memory_id, "999999", "--yes", "--space", "keep")
    assert missing.status == 1
    assert run.json("stats", "--space", "keep")["memories"] == 1


def test_what_came_from_one_source_or_everything_is_forgotten_at_once(run: Perdure, tmp_path: Path) -> None:
    space = ("--space", "bulk")
    lines = [json.dumps({"type": "message", "id": n, "text": f"Imported sentence {n}"}) for n in range(3)]
    (tmp_path / "old.jsonl").write_text("\n".join(lines))
    run.json("import", str(tmp_path / "old.jsonl"), *space)
    kept = run.json("save", "Kept " + "sentence of a long text. " * 80, *space)["ids"]
    private = run.json("save", "Said among us", "--audience", "us", *space)["ids"]
    assert len(kept) > 1

    unsaid = run("forget", "--source", "import:old", *space)
    assert (unsaid.status, "--yes" in unsaid.err) == (2, True)
    assert len(run.json("forget", "--source", "import:old", "--yes", *space)["erased"]) == 3
    assert {memory["id"] for memory in run.json("list", *space)["memories"]} == set(kept)
    again = run.json("import", str(tmp_path / "old.jsonl"), *space)
    assert (again["stored"], again["known"]) == (0, 3)

    assert run.json("forget", "--everything", "--yes", "--audience", "us", *space)["erased"] == private
    assert {memory["id"] for memory in run.json("list", *space)["memories"]} == set(kept)
    preview = run.json("forget", "--everything", "--dry-run", *space)
    assert preview["removed"]["memories"] == len(kept)
    everything = run("forget", "--everything", "--yes", *space)
    assert everything.out.startswith(f"Erased the space bulk: {len(kept)} memories, and all else that was in it.\n")
    for told in ("Removed rows: ", "Dead rows: ", "Log: ", "Backups: "):
        assert told in everything.out
    assert run.json("forget", "--everything", "--yes", *space)["removed"] == {}


def test_what_would_go_is_shown_first_and_an_unknown_source_names_the_known_ones(run: Perdure) -> None:
    space = ("--space", "looking")
    (memory_id,) = run.json("save", "Said by Ada", "--speaker", "Ada", *space)["ids"]
    shown = run("forget", "--speaker", "ada", "--dry-run", *space)
    assert f"#{memory_id}  Said by Ada\nKnown by: ada.\n" in shown.out
    assert run.json("forget", memory_id, "--dry-run", *space)["would_erase"] == [memory_id]
    nothing = run("forget", "--source", "import:nowhere", "--yes", *space)
    assert (nothing.status, "came from: user." in nothing.err) == (0, True)
    refused = run("forget", memory_id, "--everywhere", "--yes", *space)
    assert (refused.status, "--everywhere" in refused.err) == (2, True)
    assert run.json("stats", *space)["memories"] == 1
    assert run.json("forget", "--speaker", "ADA", "--everywhere", "--yes", *space)["erased"] == [memory_id]


@pytest.mark.parametrize("which", [(), ("1", "--everything"), ("--everything", "--source", "user")])
def test_forgetting_needs_one_way_of_saying_what(run: Perdure, which: tuple[str, ...]) -> None:
    result = run("forget", "--yes", *which)
    assert result.status == 2
    assert "--source" in result.err


def test_ids_are_read_as_they_are_printed_and_looked_for_in_the_space(run: Perdure) -> None:
    (memory_id,) = run.json("save", "Written with its mark", "--space", "marks")["ids"]
    assert run.json("show", f"#{memory_id}", "--space", "marks")["memory"]["id"] == memory_id
    run.json("save", "Something else")
    missing = run("show", memory_id)
    assert missing.status == 1
    assert "--space" in missing.err
    assert run.json("forget", f"#{memory_id}", "--yes", "--space", "marks")["erased"] == [memory_id]


def test_what_waits_is_told_and_drained_on_request(run: Perdure) -> None:
    async def capture() -> None:
        async with Memory.open(data_dir=run.environment["PERDURE_DATA_DIR"], worker=False) as memory:
            await memory.space("queue").capture(user="The ferry leaves from pier nine", operation_id="ferry")

    asyncio.run(capture())
    listed = run("list", "--space", "queue")
    assert "1 exchange waits" in listed.err
    assert "drain --space queue`" in listed.err
    assert "drain --all`" in run("stats", "--space", "queue").err
    # What is asked just now, and waits, too, is no news to the asker.
    asked = run.json("recall", "The ferry leaves from pier nine", "--space", "queue")
    assert asked["pending"] == []
    assert run.json("recall", "When does the ferry leave?", "--space", "queue")["pending"] != []

    drained = run.json("drain", "--space", "queue")
    assert (drained["done"], drained["failed"], drained["waiting"]) == (1, 0, 0)
    assert run("drain", "--all").out == "Nothing waits.\n"
    quiet = run("list", "--space", "queue")
    assert quiet.err == ""
    assert "The ferry leaves from pier nine" in quiet.out
    assert run("drain", "--all", "--space", "queue").status == 2


def test_pages_of_a_list_follow_each_other(run: Perdure) -> None:
    for day in ("01", "02", "03"):
        run.json("save", f"Day {day}", "--date", f"2026-05-{day}", "--space", "pages")
    first = run.json("list", "--limit", "2", "--space", "pages")["memories"]
    assert [memory["summary"] for memory in first] == ["Day 03", "Day 02"]
    second = run.json("list", "--limit", "2", "--before", first[-1]["id"], "--space", "pages")["memories"]
    assert [memory["summary"] for memory in second] == ["Day 01"]


def test_two_processes_save_and_recall_at_once(run: Perdure) -> None:
    facts = ["The boat is called Marlin", "The bicycle is called Rocinante"]
    saving = [run.start("save", fact, "--space", "both", "--json") for fact in facts]
    for process in saving:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert json.loads(out)["status"] == "stored"
    recalling = [run.start("recall", f"{what} name?", "--space", "both", "--json") for what in ("boat", "bicycle")]
    for process, fact in zip(recalling, facts, strict=True):
        out, _ = process.communicate(timeout=120)
        assert fact in [hit["summary"] for hit in json.loads(out)["memories"]]


def test_without_its_endpoint_nothing_is_saved_and_the_error_says_what_to_check(run: Perdure) -> None:
    endpoint = {
        "PERDURE_EMBEDDER": "openai",
        "PERDURE_EMBEDDER_URL": "http://127.0.0.1:9/v1",
        "PERDURE_EMBEDDER_MODEL": "multilingual-e5-small",
    }
    result = run("save", "Lost?", "--space", "outage", "--json", **endpoint)
    assert (result.status, result.data["error"]["code"]) == (1, "embedding_unavailable")
    assert run.json("list", "--space", "outage")["memories"] == []


def test_a_reader_that_has_seen_enough_ends_the_list_quietly(run: Perdure) -> None:
    run.json("save", "One line", "--space", "pipe")
    process = run.start("list", "--space", "pipe")
    assert process.stdout is not None
    process.stdout.close()
    process.wait(timeout=60)
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()


def test_doctor_finds_everything_in_order_and_names_what_is_not(run: Perdure) -> None:
    report = run.json("doctor")
    assert report["ok"]
    names = {check["name"] for check in report["checks"]}
    assert {"python", "data directory", "server", "pgvector", "schema", "isolation", "embedding model"} <= names
    broken: Result = run("doctor", PERDURE_EMBEDDER="openai")
    assert broken.status == 1
    assert "PERDURE_EMBEDDER_URL" in broken.out
    assert "Traceback" not in broken.err


def test_what_was_pruned_is_forgotten_by_id_by_source_and_with_everything(run: Perdure) -> None:
    clock = SimulatedClock(datetime(2026, 3, 1, 12, tzinfo=UTC))

    async def prune() -> None:
        async with Memory.open(data_dir=run.environment["PERDURE_DATA_DIR"], clock=clock, worker=False) as memory:
            space = memory.space("bygone")
            for number in range(4):
                await space.save(f"The boat number {number * 7919} is green", salience=2)
            clock.advance(timedelta(days=120))
            await space.upkeep()

    def known() -> list[str]:
        return [hit["id"] for hit in run.json("search", "boat", "--as-of", "2026-03-02", "--space", "bygone")["hits"]]

    asyncio.run(prune())
    first, second, *others = sorted(known())
    assert run.json("forget", first, "--yes", "--space", "bygone")["erased"] == [first]
    assert sorted(known()) == [second, *others]
    again = run("forget", first, "--yes", "--json", "--space", "bygone")
    assert (again.status, again.data["error"]["code"]) == (1, "not_found")
    assert run.json("forget", "--source", "import:x", "--yes", "--space", "bygone")["erased"] == []
    last = run.json("forget", "--source", "user", "--yes", "--space", "bygone")["erased"]
    assert sorted(last) == [second, *others]
    assert known() == []
