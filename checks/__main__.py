"""Runs every style check, prints one line per check and what each found, and exits with 1 if any failed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable

from checks import placement, rooms, tidy
from checks.report import Violation
from checks.sources import ROOT, Source, read_sources
from checks.sql import check_sql

PYTHON_FOLDERS = ("src", "tests", "benchmarks", "checks", "examples")

TOOLS: dict[str, tuple[str, ...]] = {
    "ruff check": ("-m", "ruff", "check", "--quiet", "."),
    "ruff format": ("-m", "ruff", "format", "--check", "--quiet", "."),
    "mypy": ("-m", "mypy", "--no-error-summary"),
    "import layers": (
        "-c",
        "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True, no_logo=True))",
    ),
}


def own_checks() -> dict[str, Callable[[], list[Violation]]]:
    """Name of each of our own checks -> what runs it."""
    package = read_sources("src/perdure")
    all_python = read_sources(*PYTHON_FOLDERS)
    shipped = [source for source in all_python if source.within("src", "examples")]
    tests = [source for source in all_python if source.within("tests")]
    doors = rooms.doors(package)
    return {
        "pure rules": lambda: _each(rooms.rules_stay_pure, package),
        "one door per room": lambda: _each(lambda source: rooms.rooms_have_one_door(source, doors), package),
        "connect is a source": lambda: _each(rooms.connect_knows_only_messages, package),
        "drivers only in store": lambda: _each(rooms.drivers_stay_in_store, package),
        "SQL only in store": lambda: _each(placement.sql_outside_store, shipped),
        "now only in clock": lambda: _each(placement.time_outside_clock, package),
        "SQL rules": lambda: check_sql(
            read_sources("src/perdure/store"), read_sources("src/perdure/store/migrations", suffix=".sql")
        ),
        "no open ends": lambda: _each(tidy.open_ends, all_python),
        "no silent skips": lambda: _each(tidy.silent_skips, tests),
    }


def main() -> int:
    failed = [name for name, command in TOOLS.items() if not _run_tool(name, command)]
    for name, check in own_checks().items():
        found = check()
        _say(name, ok=not found)
        for violation in found:
            print(f"    {violation}")
        failed += [name] if found else []
    for warning in _each(tidy.long_files, read_sources(*PYTHON_FOLDERS)):
        print(f"  note    {warning}")
    total = len(TOOLS) + len(own_checks())
    print(f"{total - len(failed)} of {total} checks passed" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


def _each(check: Callable[[Source], Iterable[Violation]], sources: Iterable[Source]) -> list[Violation]:
    return list(dict.fromkeys(violation for source in sources for violation in check(source)))


def _run_tool(name: str, command: tuple[str, ...]) -> bool:
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    _say(name, ok=done.returncode == 0)
    if done.returncode:
        for line in (done.stdout + done.stderr).splitlines():
            print(f"    {line}")
    return done.returncode == 0


def _say(name: str, *, ok: bool) -> None:
    print(f"  {'ok    ' if ok else 'FAILED'}  {name}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
