"""How long `perdure --help` takes in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from benchmarks.measuring import measured, say, summary

PROCESSES: Final = 7


def measure() -> dict[str, Any]:
    """Seconds from the start of the process to its end; the first one, which fills the file cache, doesn't count."""
    command = str(Path(sys.executable).with_name("perdure"))
    times = []
    for _ in range(1 + PROCESSES):
        with measured() as took:
            subprocess.run([command, "--help"], check=True, stdout=subprocess.DEVNULL)
        times.append(took.wall_s)
    found = {"processes": PROCESSES, "seconds": summary(times[1:])}
    say(f"perdure --help: {found['seconds']} s")
    return found
