"""SQL stands only in `store/`; the time is asked for only in `clock.py`."""

from __future__ import annotations

import ast

from checks.report import Violation
from checks.sources import Names, Source, literals
from checks.sql.parsing import looks_like_sql

_CLOCKS = frozenset(
    {
        *(f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")),
        "datetime.date.today",
        *(
            f"time.{name}{suffix}"
            for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")
            for suffix in ("", "_ns")
        ),
        "time.localtime",
        "time.gmtime",
        "time.ctime",
        "time.strftime",
    }
)


def sql_outside_store(source: Source) -> list[Violation]:
    """Every statement in a file that is not part of the store."""
    if source.within("src/perdure/store"):
        return []
    return [
        Violation(
            source.path,
            literal.line,
            "sql-only-in-store",
            "a SQL statement stands here; fix by moving it, as a named constant, into a module of perdure.store.",
        )
        for literal in literals(source.tree)
        if looks_like_sql(literal.text)
    ]


def time_outside_clock(source: Source) -> list[Violation]:
    """Every reading of the system's time in a file that is not clock.py, including that of an event loop."""
    if source.path == "src/perdure/clock.py":
        return []
    names = Names(source.tree)
    found: list[Violation] = []
    for node in ast.walk(source.tree):
        if not isinstance(node, (ast.Attribute, ast.Name)):
            continue
        name = names.dotted(node)
        if name in _CLOCKS or _is_loop_time(node, names):
            found.append(
                Violation(
                    source.path,
                    node.lineno,
                    "now-only-in-clock",
                    f"{name or 'loop.time'} reads the system's time; fix by taking a Clock as an argument.",
                )
            )
    return found


def _is_loop_time(node: ast.AST, names: Names) -> bool:
    if not isinstance(node, ast.Attribute) or node.attr != "time":
        return False
    if isinstance(node.value, ast.Call):
        return names.dotted(node.value.func) in {"asyncio.get_running_loop", "asyncio.get_event_loop"}
    return isinstance(node.value, ast.Name) and node.value.id in {"loop", "_loop"}
