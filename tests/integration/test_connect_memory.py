"""A file of any size is read in the same few megabytes."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.connect import Rejected, detect_format, read_messages

MB = 1024 * 1024
WORDS = "The ferry leaves at seven and the bakery on the pier opens half an hour before. " * 4


def jsonl(count: int) -> Iterator[str]:
    for number in range(count):
        yield json.dumps({"type": "message", "id": number, "time": 1.7e9 + number, "text": f"{number} {WORDS}"}) + "\n"


def telegram(count: int) -> Iterator[str]:
    yield '{"name":"Pier","type":"private_group","id":5,"messages":[\n'
    for number in range(count):
        date = 1_700_000_000 + number
        entry = {
            "id": number,
            "type": "message",
            "date_unixtime": str(date),
            "from": "Ann",
            "text": f"{number} {WORDS}",
        }
        yield ("," if number else "") + json.dumps(entry) + "\n"
    yield "]}"


def chatgpt(count: int) -> Iterator[str]:
    yield "["
    for number in range(count):
        message = {
            "id": str(number),
            "author": {"role": "user"},
            "create_time": 1.7e9,
            "content": {"content_type": "text", "parts": [WORDS]},
        }
        entry = {"id": f"c{number}", "current_node": "n", "mapping": {"n": {"parent": None, "message": message}}}
        yield (",\n" if number else "") + json.dumps(entry)
    yield "]"


def whatsapp(count: int) -> Iterator[str]:
    for number in range(count):
        yield f"{1 + number // 1000 % 28:02}.05.23, {number // 60 % 24:02}:{number % 60:02} - Ann: {number} {WORDS}\n"


WRITERS = {"jsonl": jsonl, "telegram": telegram, "chatgpt": chatgpt, "whatsapp": whatsapp}


def peak_memory(path: Path, format: str, count: int) -> int:  # noqa: A002
    """Most bytes allocated while reading; checks on the way that every message arrives and progress only grows."""
    tracemalloc.start()
    try:
        assert detect_format(path) == format
        reader = read_messages(path, format)
        seen, before = 0, 0
        for item in reader:
            assert not isinstance(item, Rejected), item
            seen += 1
            progress = reader.progress
            assert before <= progress.bytes_read <= progress.total_bytes
            before = progress.bytes_read
        assert seen == count
        assert reader.progress.bytes_read == reader.progress.total_bytes
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def write(path: Path, format: str, count: int) -> None:  # noqa: A002
    with path.open("w", encoding="utf-8") as file:
        file.writelines(WRITERS[format](count))


@pytest.mark.parametrize("format", WRITERS)
def test_reading_needs_the_same_memory_for_ten_times_the_file(tmp_path: Path, format: str) -> None:  # noqa: A002
    path = tmp_path / "export"
    peaks = []
    for count in (800, 8_000):
        write(path, format, count)
        peaks.append(peak_memory(path, format, count))
    assert path.stat().st_size > 2 * MB
    assert peaks[1] < 2 * MB
    assert peaks[1] < peaks[0] + MB / 2


READ_IN_A_FRESH_PROCESS = """
import resource, sys
from pathlib import Path
from perdure.connect import Rejected, read_messages
reader = read_messages(Path(sys.argv[1]))
next(reader)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
read = sum(not isinstance(item, Rejected) for item in reader)
print(1 + read, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.long
@pytest.mark.parametrize("format", WRITERS)
def test_two_hundred_megabytes_are_read_in_a_few(tmp_path: Path, format: str) -> None:  # noqa: A002
    path, count = tmp_path / "export", 620_000
    write(path, format, count)
    assert path.stat().st_size > 200 * MB
    command = [sys.executable, "-c", READ_IN_A_FRESH_PROCESS, str(path)]
    read, grown_kib = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert int(read) == count
    assert int(grown_kib) < 8 * 1024
