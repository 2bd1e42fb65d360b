"""`perdure cognition`: what was concluded in quiet hours, from what, and taking it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli.call import Call, common
from perdure.cli.failing import FAILED
from perdure.cli.printing import local, moment, tell
from perdure.cli.words import counted

if TYPE_CHECKING:
    from perdure.cli.printing import Screen
    from perdure.cognition import CognitionReport, Identity
    from perdure.memory import Memory
    from perdure.store.cognition import Run
    from perdure.store.traits import TraitRow

ACTIONS = ("run", "runs", "show", "undo", "identity")
TAKING_AN_ID = ("show", "undo")


@click.command(short_help="Show, draw or take back conclusions.")
@click.argument("action", metavar="ACTION", type=click.Choice(ACTIONS))
@click.argument("run_id", metavar="ID", required=False)
@click.option("--limit", type=int, default=20, show_default=True, help="Of runs: at most, 1 to 1000.")
@common
def cognition(call: Call, *, action: str, run_id: str | None, limit: int) -> int:
    """Draw conclusions now, list what was concluded, show one run with what it rests on, take one back.

    ACTION is run, runs, show ID, undo ID, or identity (the card and the traits of the user). A worker draws conclusions
    by itself in quiet hours; that needs a thinker. Undoing brings back what a conclusion had taken the place of.
    """
    if (action in TAKING_AN_ID) != (run_id is not None):
        takes = "takes one ID; `perdure cognition runs` shows them" if run_id is None else "takes no ID"
        raise click.UsageError(f"cognition {action} {takes}.")
    match action:
        case "run":
            return _run(call)
        case "runs":
            return _runs(call, limit)
        case "identity":
            return _identity(call)
        case _:
            return _one(call, run_id or "", undo=action == "undo")


def _run(call: Call) -> int:
    async def work(memory: Memory) -> CognitionReport:
        return await call.space(memory).think()

    report = call.run(work)
    wrote = {str(layer): count for layer, count in report.conclusions.items()}

    def show(screen: Screen) -> None:
        told = ", ".join(f"{layer}: {counted(count, 'conclusion')}" for layer, count in wrote.items())
        screen.line(f"{told or 'Nothing was concluded'}.")

    for layer, why in report.failed.items():
        tell(f"perdure: {layer} failed ({why}); it is tried again at the next run.")
    if report.outage:
        tell(f"perdure: {report.outage}")
    if report.busy:
        tell("A worker is at it in this space; nothing was done.")
    call.answer(
        {
            "space": call.space_name,
            "conclusions": wrote,
            "failed": {str(layer): why for layer, why in report.failed.items()},
            "outage": report.outage,
            "busy": report.busy,
        },
        show,
    )
    return FAILED if report.failed or report.outage else 0


def _runs(call: Call, limit: int) -> int:
    async def work(memory: Memory) -> tuple[Run, ...]:
        return await call.space(memory).cognition_runs(limit=limit)

    runs = call.run(work)

    def show(screen: Screen) -> None:
        if not runs:
            screen.line(f"Nothing has been concluded in space {call.space_name}.")
            return
        rows = ((str(run.id), local(run.ended_at), run.layer, run.trigger, _status(run), run.told) for run in runs)
        screen.table(["id", "when", "layer", "because", "status", "what"], rows, right=[0])

    call.answer({"space": call.space_name, "runs": [_run_data(run) for run in runs]}, show)
    return 0


def _one(call: Call, run_id: str, *, undo: bool) -> int:
    async def work(memory: Memory) -> tuple[Run, dict[int, str]]:
        space = call.space(memory)
        # The door reads digits.
        run = await (space.undo_run(run_id) if undo else space.cognition_run(run_id))  # type: ignore[arg-type]
        words = {row.id: row.summary for row in await space.list(limit=1000, superseded=True)}
        return run, words

    run, words = call.run(work)

    def show(screen: Screen) -> None:
        screen.line(f"Run {run.id}: {run.layer}, {_status(run)}, {local(run.ended_at)}, because {run.trigger}")
        screen.line(run.told, indent=2)
        for heading, ids in (
            ("wrote", run.wrote_ids),
            ("in the place of", run.superseded_ids),
            ("rests on", run.read_ids),
        ):
            for memory_id in ids:
                screen.line((f"{heading:<16}", "dim"), f"{memory_id}  {words.get(memory_id, '')}")

    call.answer({"space": call.space_name, "run": _run_data(run)}, show)
    return 0


def _identity(call: Call) -> int:
    from perdure.rules.identity import as_data, card  # noqa: PLC0415 - `--help` does without it

    async def work(memory: Memory) -> tuple[Identity, tuple[TraitRow, ...]]:
        space = call.space(memory)
        return await space.identity(), await space.traits()

    identity, traits = call.run(work)

    def show(screen: Screen) -> None:
        screen.line(card(identity.profile) or f"Space {call.space_name} has no identity yet.")
        if traits:
            rows = ((row.category, row.key, row.value, ", ".join(map(str, row.evidence_ids))) for row in traits)
            screen.table(["trait", "of", "what", "rests on"], rows)

    call.answer(
        {
            "space": call.space_name,
            "id": None if identity.row is None else str(identity.row.memory.id),
            "card": card(identity.profile),
            "profile": as_data(identity.profile),
            "traits": [_trait_data(row) for row in traits],
        },
        show,
    )
    return 0


def _status(run: Run) -> str:
    return "undone" if run.undone_at is not None else run.status


def _run_data(run: Run) -> dict[str, object]:
    return {
        "id": str(run.id),
        "layer": run.layer,
        "trigger": run.trigger,
        "began_at": moment(run.began_at),
        "ended_at": moment(run.ended_at),
        "status": _status(run),
        "told": run.told,
        "made_by": run.made_by,
        "read_ids": [str(each) for each in run.read_ids],
        "wrote_ids": [str(each) for each in run.wrote_ids],
        "superseded_ids": [str(each) for each in run.superseded_ids],
    }


def _trait_data(row: TraitRow) -> dict[str, object]:
    return {
        "category": row.category,
        "key": row.key,
        "value": row.value,
        "evidence_ids": [str(each) for each in row.evidence_ids],
        "began_at": moment(row.began_at),
    }
