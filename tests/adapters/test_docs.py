"""docs/adapters.md: each program runs as it stands, and prints what stands below it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.adapters.models import calls_tool, says
from tests.doubles.chat_server import serving

if TYPE_CHECKING:
    from perdure.store.embedded import ServerUrls

PAGE = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text()
PROGRAMS = re.findall(r"^## (.+?)\n\n```python\n(.+?)```\n\n```text\n(.+?)```", PAGE, re.DOTALL | re.MULTILINE)


def test_each_framework_has_its_program() -> None:
    assert [name for name, *_ in PROGRAMS] == ["LangGraph", "OpenAI Agents SDK", "LlamaIndex", "Pydantic AI"]


@pytest.mark.parametrize(("program", "printed"), [pytest.param(*rest, id=name) for name, *rest in PROGRAMS])
def test_a_program_prints_what_the_page_says(
    program: str, printed: str, fresh_database: ServerUrls, tmp_path: Path
) -> None:
    with serving("openai") as server:
        server.then("", calls_tool("save_memory", text="Ada is allergic to peanuts"), says("I will remember that."))
        named = {
            "PERDURE_DATABASE_URL": fresh_database.app,
            "PERDURE_DATABASE_WORKER_URL": fresh_database.worker,
            "PERDURE_DATABASE_OWNER_URL": fresh_database.owner,
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "none",
        }
        ran = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **named},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert (ran.stdout, ran.returncode) == (printed, 0), ran.stderr
