"""The container file: what an image of the server must and must not hold. No engine is needed to read it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = re.sub(r"\\\n\s*", "", (ROOT / "Containerfile").read_text("utf-8")).splitlines()
INSTRUCTIONS = [line.split(maxsplit=1) for line in LINES if line and not line.startswith("#")]


def of(name: str) -> list[str]:
    return [rest for instruction, rest in INSTRUCTIONS if instruction == name]


def test_it_runs_without_rights_and_says_whether_it_lives() -> None:
    last = max(number for number, (name, _) in enumerate(INSTRUCTIONS) if name == "FROM")
    assert [rest for name, rest in INSTRUCTIONS[last:] if name == "USER"] == ["10001"]
    assert "/livez" in of("HEALTHCHECK")[0]
    assert of("ENTRYPOINT") == ['["perdure", "serve", "--host", "0.0.0.0"]']


def test_it_holds_no_secret_and_only_what_it_needs() -> None:
    assert not re.search(r"password|secret|_key|_url=", " ".join(of("ENV") + of("ARG")), re.IGNORECASE)
    kept = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text("utf-8").split() if line[0] == "!"}
    copied = {word for rest in of("COPY") if "--from" not in rest for word in rest.split()[:-1]}
    assert copied == kept
    assert all((ROOT / name).exists() for name in kept)


def test_every_base_is_pinned() -> None:
    assert all(re.match(r"python:\d+\.\d+-slim-\w+( AS \w+)?$", base) for base in of("FROM"))
    assert "--no-cache-dir" in of("RUN")[0]
