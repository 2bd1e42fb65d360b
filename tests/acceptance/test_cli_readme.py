"""What the README shows works as it stands there, and once more."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.store.embedded import EmbeddedServer
from tests.acceptance.cli_process import TIMEOUT_S, Perdure

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Perdure]:
    path = tmp_path_factory.mktemp("readme")
    with EmbeddedServer.open(path):
        yield Perdure(path)


def _program(run: Perdure, program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=run.environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_programs_recall_what_they_saved_and_run_twice(run: Perdure) -> None:
    turn, blocking, _ = PROGRAMS
    for _ in range(2):
        printed = _program(run, turn)
        assert printed.count("Ada is allergic to peanuts") >= 2  # recalled, and found by the search
        assert "Ada moved to Lisbon in May" in _program(run, blocking)
    memories = run.json("list", "--space", "ada", "--source", "user")["memories"]
    assert len(memories) == 2


def test_its_prompt_holds_facts_of_server_and_person_and_the_passage_that_answers(run: Perdure) -> None:
    first, again = (_program(run, PROGRAMS[2]) for _ in range(2))
    for printed in (first, again):
        assert "Ada is vegetarian" in printed
        assert "Game night is on Fridays at eight" in printed
        assert "['create_long_term_memory', 'update_long_term_memory']" in printed
    # The second time nothing is embedded before the prompt, and on a busy machine a cold model may miss its deadline.
    assert "The club house opens at seven" in first


def test_its_commands_recall_what_they_saved(run: Perdure) -> None:
    run.json("save", "Ada is allergic to peanuts", "--salience", "9", "--tag", "health")
    assert 'recall "Is Ada allergic to anything?" --explain' in README
    assert "Ada is allergic to peanuts" in run.json("recall", "Is Ada allergic to anything?", "--explain")["tail"]


def test_every_command_it_shows_is_there(run: Perdure) -> None:
    shown = set(re.findall(r"^\$ perdure (\w+)|`perdure (\w+)", README, re.MULTILINE))
    for name in {first or second for first, second in shown}:
        assert run(name, "--help").status == 0


def test_the_example_of_a_chat_recalls_and_ends_with_its_input(run: Perdure) -> None:
    def chat(*lines: str) -> str:
        done = subprocess.run(
            [sys.executable, str(ROOT / "examples" / "chat_loop.py")],
            env=run.environment,
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout

    chat("I am allergic to peanuts")
    assert run.json("stats", "--space", "you")["pending"] == 0
    assert "I am allergic to peanuts" in chat("Am I allergic to anything?", "")
