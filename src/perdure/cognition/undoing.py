"""Taking a conclusion back: what it wrote goes, what it stood in place of comes back, nobody's words are touched."""

from __future__ import annotations

from typing import Final

from perdure.errors import Conflict, NotFound
from perdure.resources import Resources
from perdure.store.audit import note
from perdure.store.changes import restore, supersede
from perdure.store.cognition import Run, list_runs, set_undone
from perdure.store.database import SpaceTransaction
from perdure.store.memories import MemoryRow, read_rows
from perdure.store.spaces import SpaceRow, lock_space
from perdure.store.traits import changed_by, undo_traits

UNDONE: Final = "undone"


async def undo(resources: Resources, space: SpaceRow, run_id: int, audience: str | None) -> Run:
    """Undoes what one run wrote. What it read counts as used still, so that it isn't concluded again.

    Raises:
        NotFound: there is no such run, or it wrote nothing.
        Conflict: it was undone before, or a later run has built on it: that one has to be undone first.
    """

    async def write(tx: SpaceTransaction) -> Run:
        await lock_space(tx)
        run = await require_run(tx, space, run_id, audience)
        if run.status != "done":
            raise NotFound(f"Run {run_id} wrote nothing.", hint="`perdure cognition runs` says what each wrote.")
        if run.undone_at is not None:
            raise Conflict(f"Run {run_id} was undone before.", hint="Nothing is left to undo.")
        rows = await read_rows(tx, space.name, run.wrote_ids)
        _require_last(run, rows)
        later = await changed_by(tx, run_id)
        if later is not None:
            raise Conflict(f"A trait that run {run_id} set was changed by run {later}.", hint="Undo that one first.")
        live = [row for row in rows.values() if row.memory.superseded_at is None]
        await supersede(tx, live, None, reason=UNDONE, changed_by="user", at=tx.now)
        before = await read_rows(tx, space.name, run.superseded_ids)
        dead = [row for row in before.values() if row.memory.superseded_by in {None, *run.wrote_ids}]
        await restore(tx, [row for row in dead if row.memory.superseded_at is not None], "user")
        await undo_traits(tx, run_id)
        await set_undone(tx, run_id)
        await note(tx, "undo_run", [run_id])
        return await require_run(tx, space, run_id, audience)

    return await resources.database.in_space(space.id, write, writer=True)


async def require_run(tx: SpaceTransaction, space: SpaceRow, run_id: int, audience: str | None) -> Run:
    """The run of this id, if this audience may see it. Raises NotFound."""
    for run in await list_runs(tx, 1, audience, run_id):
        return run
    raise NotFound(f"Space {space.name!r} has no cognitive run {run_id}.", hint="`perdure cognition runs` lists them.")


def _require_last(run: Run, rows: dict[int, MemoryRow]) -> None:
    later = sorted(
        row.memory.superseded_by
        for row in rows.values()
        if row.memory.superseded_by is not None and row.memory.superseded_by not in run.wrote_ids
    )
    if later:
        raise Conflict(
            f"What run {run.id} wrote was replaced by memory {later[0]}.",
            hint="Undo the run that wrote that one first; `perdure cognition runs` names what each wrote.",
        )
