"""Runs `perdure` as a person or a script would: another process, nothing shared but the data directory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TIMEOUT_S = 120


@dataclass(frozen=True)
class Result:
    """How a command ended and what it wrote."""

    status: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


class Perdure:
    """The command with a data directory and an environment of its own."""

    def __init__(self, data_dir: Path, **environment: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PERDURE_")}
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.environment = kept | threads | {"PERDURE_DATA_DIR": str(data_dir)} | environment

    def __call__(self, *arguments: str, stdin: bytes = b"", **environment: str) -> Result:
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment | environment,
        )
        try:
            out, err = process.communicate(stdin, TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # faulthandler then says where every thread hangs
            out, err = process.communicate()
            pytest.fail(f"perdure {arguments} did not end within {TIMEOUT_S} s:\n{err.decode()}")
        return Result(process.returncode, out.decode("utf-8"), err.decode("utf-8"))

    def json(self, *arguments: str, **environment: str) -> Any:
        """The document of a command that has to succeed."""
        result = self(*arguments, "--json", **environment)
        assert result.status == 0, result
        return result.data

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts a command and leaves it running."""
        return subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment,
            text=True,
        )


COMMAND = (sys.executable, "-X", "faulthandler", "-m", "perdure")
