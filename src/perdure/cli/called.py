"""How this program is called here: `perdure` where the shell finds it, else what works instead."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

NAME: Final = "perdure"


def program() -> str:
    """What a person types to call this program again: its name, a path such as .venv/bin/perdure, or `python -m`.

    A `perdure` that the shell finds but that isn't the one that runs now doesn't count.
    """
    found = shutil.which(NAME)
    running = Path(sys.argv[0])
    is_script = running.stem == NAME and running.exists()
    if found is not None and (not is_script or Path(found).resolve() == running.resolve()):
        return NAME
    return shlex.quote(sys.argv[0]) if is_script else f"{shlex.quote(sys.executable)} -m {NAME}"


def as_called(text: str) -> str:
    """The text with every command that it names in backquotes spelled so that it works here."""
    return text.replace(f"`{NAME} ", f"`{program()} ")
