"""Facts by hand on the command line, from one process to the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from perdure.store.embedded import EmbeddedServer
from tests.acceptance.cli_process import Perdure


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Perdure]:
    path = tmp_path_factory.mktemp("facts")
    with EmbeddedServer.open(path):  # kept running for all commands of this module
        yield Perdure(path)


def test_a_fact_is_kept_listed_changed_pinned_restored_and_forgotten(run: Perdure) -> None:
    space = ("--space", "by-hand")
    added = run.json("facts", "add", "{user} loves tea", "--tag", "drinks", "--channel", "kitchen", *space)
    assert added["status"] == "saved"
    fact_id = added["id"]
    assert run.json("facts", "add", "{USER} loves  TEA", *space) == {**added, "status": "already_known"}

    (listed,) = run.json("facts", "list", "--about", "user", *space)["facts"]
    assert (listed["id"], listed["content"], listed["stage"]) == (fact_id, "{user} loves tea", "active")
    assert (listed["tags"], listed["channels"], listed["lineage"]) == (["drinks"], ["kitchen"], 0)

    edited = run.json("facts", "edit", fact_id, "{user} loves coffee", *space)["fact"]
    assert (edited["content"], edited["revision"], edited["tags"]) == ("{user} loves coffee", 2, ["drinks"])
    assert run.json("facts", "edit", fact_id, "--tag", "coffee", *space)["fact"]["tags"] == ["coffee"]
    assert run.json("facts", "pin", fact_id, *space)["fact"]["pinned"] is True
    assert run.json("facts", "unpin", fact_id, *space)["fact"]["pinned"] is False
    history = run.json("facts", "history", fact_id, *space)["history"]
    assert [change["content"] for change in history][:2] == ["{user} loves tea", "{user} loves coffee"]
    back = run.json("facts", "restore", fact_id, "--revision", "1", *space)["fact"]
    assert (back["content"], back["tags"]) == ("{user} loves tea", ["drinks"])

    shown = run("facts", "show", fact_id, *space)
    assert "{user} loves tea" in shown.out
    assert "every persona" in shown.out
    asked = run("facts", "forget", fact_id, *space)
    assert (asked.status, "--yes" in asked.err) == (2, True)
    assert run.json("facts", "forget", fact_id, "--yes", *space)["erased"] == [fact_id]
    assert run.json("facts", "list", "--archived", *space)["facts"] == []
    gone = run("facts", "show", fact_id, *space)
    assert (gone.status, fact_id in gone.err) == (1, True)


def test_facts_of_servers_people_and_personas_are_kept_apart(run: Perdure) -> None:
    space = ("--space", "apart")
    run.json("facts", "add", "Chess on Mondays", "--about", "server:482", *space)
    run.json("facts", "add", "{user} plays white", "--about", "person:ada", "--persona", "Momo", *space)
    run.json("facts", "add", "{user} naps", *space)

    def contents(*options: str) -> list[str]:
        return [fact["content"] for fact in run.json("facts", "list", *options, *space)["facts"]]

    assert contents() == ["{user} naps", "{user} plays white", "Chess on Mondays"]
    assert contents("--about", "server:482") == ["Chess on Mondays"]
    assert contents("--persona", "momo", "--about", "person:ada") == ["{user} plays white"]
    table = run("facts", "list", *space)
    assert "server:482" in table.out
    assert "person:ada" in table.out
    unknown = run("facts", "list", "--persona", "Kiki", *space)
    assert (unknown.status, "Kiki" in unknown.err) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "S1"),
        ("add",),
        ("add", "one", "two"),
        ("show",),
        ("edit",),
        ("forget",),
        ("add", "x", "--about", "somebody"),
        ("show", "24"),
        ("add", "x", *(part for tag in "abcdef" for part in ("--tag", tag))),
    ],
)
def test_what_makes_no_sense_is_refused_with_status_2(run: Perdure, arguments: tuple[str, ...]) -> None:
    result = run("facts", *arguments, "--space", "refused")
    assert result.status == 2
    assert result.out == ""


def test_forgetting_everything_takes_the_facts_along(run: Perdure) -> None:
    space = ("--space", "emptied")
    run.json("save", "The spare key hangs at Mrs Aerts's", *space)
    fact_id = run.json("facts", "add", "{user} naps", *space)["id"]
    audience = run.json("forget", "--everything", "--yes", "--audience", "us", *space)
    assert audience["removed"] == {}, "facts belong to no audience, and what everybody may see is not that one's"
    done = run("forget", "--everything", "--yes", *space)
    assert done.out.startswith("Erased the space emptied: 1 memory, 1 fact, and all else that was in it.\n")
    missing = run("facts", "show", fact_id, *space)
    assert missing.status == 1
