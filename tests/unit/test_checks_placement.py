"""What the checks promise about where SQL, the time and imports may stand, and about work left open."""

from __future__ import annotations

import pytest

from checks import placement, rooms, tidy
from checks.sources import Source, read_sources

STAYS_OUTSIDE = "src/perdure/recall/search.py"


@pytest.mark.parametrize(
    "code",
    [
        "q = 'SELECT id FROM memories'",
        "q = 'select id from memories where id = %(id)s'",
        "q = f'DELETE FROM memories WHERE id = {x}'",
        "q = 'UPDATE memories SET a = 1'",
        "q = '''\n  WITH a AS (SELECT 1) SELECT * FROM a'''",
        "tx.execute('SET LOCAL x = 3')",
        "tx.execute('COMMIT')",
    ],
)
def test_sql_outside_the_store_is_reported(code: str) -> None:
    (violation,) = placement.sql_outside_store(Source(STAYS_OUTSIDE, code))
    assert violation.rule == "sql-only-in-store"


@pytest.mark.parametrize(
    "code",
    [
        '"""SELECT id FROM memories"""',
        "help = 'Select a space'",
        "help = 'Delete from memory what you no longer need'",
        "help = 'select a space'",
        "name = 'update'",
        "text = 'commit'",
        "text = 'with love from Ada'",
        "text = 'SELECT the best of all worlds, please do'",
    ],
)
def test_prose_is_not_taken_for_sql(code: str) -> None:
    assert placement.sql_outside_store(Source(STAYS_OUTSIDE, code)) == []


def test_sql_inside_the_store_is_left_to_the_sql_rules() -> None:
    assert placement.sql_outside_store(Source("src/perdure/store/x.py", "Q = 'SELECT 1'")) == []


@pytest.mark.parametrize(
    "code",
    [
        "import datetime\ndatetime.datetime.now()",
        "from datetime import datetime as dt\ndt.utcnow()",
        "from datetime import date\ndate.today()",
        "import time\ntime.time()",
        "import time as t\nclock = t.monotonic",
        "from time import perf_counter as tick\ntick()",
        "import asyncio\nasyncio.get_running_loop().time()",
        "def f(loop):\n    return loop.time()",
    ],
)
def test_the_time_is_asked_for_only_in_the_clock(code: str) -> None:
    assert {violation.rule for violation in placement.time_outside_clock(Source(STAYS_OUTSIDE, code))} == {
        "now-only-in-clock"
    }
    assert placement.time_outside_clock(Source("src/perdure/clock.py", code)) == []


def test_a_clock_and_a_timeout_are_allowed() -> None:
    code = (
        "import asyncio, time\nfrom datetime import datetime\n"
        "clock.now()\nasyncio.timeout(2)\ntime.sleep(1)\ndatetime.fromisoformat(x)\n"
    )
    assert placement.time_outside_clock(Source(STAYS_OUTSIDE, code)) == []


@pytest.mark.parametrize(
    ("check", "path", "code", "allowed"),
    [
        (rooms.rules_stay_pure, "src/perdure/rules/decay.py", "import numpy", False),
        (rooms.rules_stay_pure, "src/perdure/rules/decay.py", "from perdure.types import Hit", False),
        (rooms.rules_stay_pure, "src/perdure/rules/decay.py", "from ..types import Hit", False),
        (rooms.rules_stay_pure, "src/perdure/rules/decay.py", "import math\nfrom perdure.rules.x import y", True),
        (rooms.rules_stay_pure, "src/perdure/rules/decay.py", "from perdure.rules import x\nfrom . import x", True),
        (rooms.rules_stay_pure, "src/perdure/text/fold.py", "import regex", True),
        (rooms.connect_knows_only_messages, "src/perdure/connect/x.py", "from perdure.store import memories", False),
        (rooms.connect_knows_only_messages, "src/perdure/connect/x.py", "from perdure import Memory", False),
        (rooms.connect_knows_only_messages, "src/perdure/connect/x.py", "from perdure.types import Message", True),
        (rooms.connect_knows_only_messages, "src/perdure/connect/x.py", "from perdure import errors", True),
        (rooms.drivers_stay_in_store, "src/perdure/recall/x.py", "import psycopg.rows", False),
        (rooms.drivers_stay_in_store, "src/perdure/recall/x.py", "from pgvector.psycopg import register_vector", False),
        (rooms.drivers_stay_in_store, "src/perdure/store/x.py", "import psycopg", True),
    ],
)
def test_imports_follow_the_rooms(check: object, path: str, code: str, allowed: bool) -> None:
    assert callable(check)
    assert (check(Source(path, code)) == []) is allowed


@pytest.mark.parametrize(
    ("path", "code", "allowed"),
    [
        ("src/perdure/context/x.py", "from perdure.recall import search", True),
        ("src/perdure/context/x.py", "from perdure.recall import gate", False),
        ("src/perdure/context/x.py", "from perdure.recall.gate import Gate", False),
        ("src/perdure/context/x.py", "from ..recall.gate import Gate", False),
        ("src/perdure/context/x.py", "import perdure.recall.gate", False),
        ("src/perdure/context/x.py", "from perdure import recall", True),
        ("src/perdure/recall/x.py", "from perdure.recall.gate import Gate", True),
        ("src/perdure/context/x.py", "from perdure.store.memories import find", True),
    ],
)
def test_a_room_is_entered_by_its_door(path: str, code: str, allowed: bool) -> None:
    doors = rooms.doors([Source("src/perdure/recall/__init__.py", "from perdure.recall.search import search\n")])
    assert (rooms.rooms_have_one_door(Source(path, code), doors) == []) is allowed


def test_every_pipeline_room_of_the_package_has_a_door_or_does_not_exist_yet() -> None:
    package = read_sources("src/perdure")
    existing = {parts[2] for source in package if len(parts := source.path.split("/")) > 3} & rooms.PIPELINES
    assert existing == set(rooms.doors(package))


@pytest.mark.parametrize("word", ["TODO", "FIXME", "XXX", "HACK"])
def test_work_left_open_is_reported_in_comments_only(word: str) -> None:
    assert len(tidy.open_ends(Source("src/perdure/x.py", f"a = 1  # {word}: later\n"))) == 1
    assert tidy.open_ends(Source("src/perdure/x.py", f"a = '{word}'\n")) == []


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("@pytest.mark.skip\ndef test(): ...", False),
        ("@pytest.mark.skip()\ndef test(): ...", False),
        ("@pytest.mark.skip(reason='')\ndef test(): ...", False),
        ("@pytest.mark.skip(reason='needs a cluster')\ndef test(): ...", True),
        ("@pytest.mark.skipif(True)\ndef test(): ...", False),
        ("@pytest.mark.skipif(True, reason='needs a cluster')\ndef test(): ...", True),
        ("@pytest.mark.xfail\ndef test(): ...", False),
        ("pytest.skip()", False),
        ("pytest.skip('no data beside the checkout')", True),
        ("pytest.skip(why)", True),
        ("pytest.mark.long", True),
    ],
)
def test_a_skipped_test_says_why(code: str, allowed: bool) -> None:
    assert (tidy.silent_skips(Source("tests/unit/test_x.py", code)) == []) is allowed


def test_a_long_file_is_noted() -> None:
    assert tidy.long_files(Source("a.py", "\n" * tidy.LONGEST_FILE)) == []
    assert len(tidy.long_files(Source("a.py", "\n" * (tidy.LONGEST_FILE + 1)))) == 1
