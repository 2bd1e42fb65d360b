"""`perdure doctor`: checks one thing after another and says what to do about what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli.call import Call, common, run_async
from perdure.cli.called import as_called
from perdure.cli.failing import FAILED

if TYPE_CHECKING:
    from perdure.cli.printing import Screen

MARKS = {"ok": ("ok  ", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "bold red")}


@click.command(short_help="Check everything and say what to do about what is wrong.")
@common
def doctor(call: Call) -> int:
    """Check Python, data directory, database, embedding model and queues; say what to do about what is wrong.

    Exit status 1 if something fails; warnings don't count.
    """
    from perdure.cli.checkup import examine  # noqa: PLC0415 - the driver and the model's libraries

    findings = run_async(examine(call.data_dir))
    failed = [finding for finding in findings if finding.status == "fail"]

    def show(screen: Screen) -> None:
        for finding in findings:
            screen.line(MARKS[finding.status], f"  {finding.name}: {finding.detail}")
            if finding.advice:
                screen.line((f"→ {as_called(finding.advice)}", "bold"), indent=6)
        screen.line("")
        screen.line("Everything needed works." if not failed else f"{len(failed)} of {len(findings)} checks failed.")

    checks = [
        {"name": each.name, "status": each.status, "detail": each.detail, "advice": each.advice} for each in findings
    ]
    call.answer({"ok": not failed, "checks": checks}, show)
    return FAILED if failed else 0
