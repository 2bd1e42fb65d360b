"""The text of a PDF, page by page, from a process that is ended when it takes too long."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from perdure.documents import pdf_process
from perdure.documents.refusing import Refused

MAX_MEMORY_BYTES: Final = 1024**3
"""Address space; some 100 MB of it are taken by Python and the library."""

_PROGRAM: Final = Path(pdf_process.__file__)


async def pdf_pages(data: bytes, *, most_chars: int, timeout_s: float) -> list[str]:
    """The text of each page; reading stops once there are more than `most_chars` characters.

    Raises:
        Refused: it is encrypted, damaged, nothing but pictures, or takes more than `timeout_s` seconds.
    """
    reading = _Reading(data, most_chars, timeout_s)
    try:
        return await asyncio.to_thread(reading.run)
    finally:
        reading.end()


class _Reading:
    """One process for one file."""

    def __init__(self, data: bytes, most_chars: int, timeout_s: float) -> None:
        limits = {"most_chars": most_chars, "seconds": int(timeout_s) + 1, "memory_bytes": MAX_MEMORY_BYTES}
        self._input = json.dumps(limits).encode() + b"\n" + data
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False

    def run(self) -> list[str]:
        """Blocks until the file is read."""
        # It finds what this process finds, and nothing that lies about in the current directory.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        process = self._process = subprocess.Popen(  # noqa: S603 - the program is ours
            [sys.executable, "-P", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        with process:
            if self._ended:
                process.kill()
            try:
                output, _ = process.communicate(self._input, timeout=self._timeout_s)
            except subprocess.TimeoutExpired:
                process.kill()
                raise Refused(f"it could not be read within {self._timeout_s:g} s") from None
        return _pages_in(output)

    def end(self) -> None:
        """Ends the process, if it is still there: nobody waits for it any more."""
        self._ended = True
        if self._process is not None:
            with suppress(OSError):
                self._process.kill()


def _pages_in(output: bytes) -> list[str]:
    try:
        answer = json.loads(output)
    except ValueError:
        # Ended by the system, for what it took of memory or time.
        raise Refused(pdf_process.TOO_MUCH) from None
    if "refused" in answer:
        raise Refused(answer["refused"])
    pages: list[str] = answer["pages"]
    return pages
