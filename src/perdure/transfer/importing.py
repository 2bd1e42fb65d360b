"""A space from a file. It is put together under a name of its own, and gets its real one once it is whole.

So nobody sees half a space, an import that was interrupted goes on where it stopped, and one that fails leaves nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from perdure import documents, door, ingest
from perdure.errors import Conflict, InvalidInput
from perdure.item_vectors import embed_items
from perdure.resources import Resources
from perdure.store.audit import note
from perdure.store.catalogue import Table, tables_of_spaces
from perdure.store.checkpoints import forget_checkpoint, read_checkpoint, write_checkpoint
from perdure.store.database import SpaceTransaction, Transaction
from perdure.store.memories import insert_vectors
from perdure.store.memories import read_rows as read_memories
from perdure.store.postings import insert_postings
from perdure.store.sketches import sketches
from perdure.store.spaces import SpaceRow, create_space, find_space, lock_space, set_family
from perdure.store.transfer_rows import (
    RowsRefused,
    bare_memories,
    delete_rows,
    delete_space,
    memory_ids,
    reach,
    rename_space,
    set_sketches,
    write_rows,
)
from perdure.transfer.format import LEFT_OUT, VECTORS, Checked, check

Progress = Callable[[str, int, int], None]
BATCH: Final = 500
"""Rows of a transaction."""
EMBEDDED: Final = 64
"""Memories embedded in one request."""
FARTHEST: Final = 200_000_000
"""Steps that a sequence is moved at most: some minutes."""
LONGEST_S: Final = 3600.0
STAGED: Final = "~import "
"""What the name of a space begins with while it is put together."""
_PLACE: Final = "perdure:import"
_LAST: Final = frozenset(
    {"pending_triage", "pending_distillation", "pending_followups", "upkeep_state", "cognition_state", "current_tasks"}
)
"""Tables in which workers look for work: they come when all else is there."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What came in: rows by table; `embedded` memories that had no vector the embedder at hand can use."""

    space: str
    counts: Mapping[str, int]
    embedded: int

    @property
    def rows(self) -> int:
        return sum(self.counts.values())


@dataclass(slots=True)
class _Import:
    """An import under way."""

    resources: Resources
    file: Checked
    name: str
    space: SpaceRow
    tables: Mapping[str, Table]
    progress: Progress | None

    def tell(self, step: str, done: int, of: int) -> None:
        if self.progress is not None:
            self.progress(step, done, of)


async def import_space(
    resources: Resources, path: Path, *, name: str | None = None, progress: Progress | None = None
) -> Imported:
    """Makes a space of an export; see `Memory.import_space`."""
    file = check(path)
    wanted = door.require_key(name if name is not None else file.manifest.space, "space")
    database = resources.database

    async def begin(tx: Transaction) -> tuple[SpaceRow, dict[str, Table]]:
        if await find_space(tx, wanted) is not None:
            hint = "Import it under another name (--space), or erase that space first."
            raise Conflict(f"There is a space {wanted!r} already.", hint=hint)
        tables = {table.name: table for table in await tables_of_spaces(tx) if table.name not in LEFT_OUT}
        return await create_space(tx, f"{STAGED}{file.digest[:32]}"), tables

    space, tables = await database.across(begin)
    _require_known(file, tables)
    moving = _Import(resources, file, wanted, space, tables, progress)
    try:
        await _rows(moving)
        await _reach(moving)
        await _postings(moving)
        embedded = await _embed(moving)
        await documents.embed_missing(resources, space)
        await embed_items(resources, space)
        return await _finish(moving, embedded)
    except (InvalidInput, Conflict):
        await discard(moving.resources, space)
        raise


async def discard(resources: Resources, space: SpaceRow) -> None:
    """Removes a space that was not finished, with all its rows."""

    async def erase(tx: SpaceTransaction) -> None:
        for table in reversed(await tables_of_spaces(tx)):
            await delete_rows(tx, table)
        await delete_space(tx)

    await resources.database.in_space(space.id, erase, writer=True, timeout_s=LONGEST_S)


def _require_known(file: Checked, tables: Mapping[str, Table]) -> None:
    """An export of a newer Perdure may hold what this one has no place for."""
    for name, columns in file.manifest.columns.items():
        missing = [column for column in columns if name not in tables or column not in tables[name].columns]
        if missing:
            limit = "this Perdure has no place for it; update it, then import the file again"
            raise InvalidInput("manifest", f"{name}.{missing[0]}", limit, line=1)


async def _rows(moving: _Import) -> None:
    """Adds the rows in batches, each with the place where the next begins; what workers look for comes at the end."""
    done = await _in(moving, lambda tx: read_checkpoint(tx, _PLACE, None))
    after = int(done["line"]) if done else 0
    for batch in _batches(moving.file.rows(after)):
        numbers, rows = [number for number, _, _ in batch], [row for _, _, row in batch]
        table = moving.tables[batch[0][1]]
        if table.name in _LAST:
            continue

        async def write(
            tx: SpaceTransaction, table: Table = table, rows: list[dict[str, Any]] = rows, number: int = numbers[-1]
        ) -> None:
            await _write(tx, moving, table, rows)
            await write_checkpoint(tx, _PLACE, None, {"line": number})

        await _checked(moving, write, numbers)
        moving.tell("rows", numbers[-1], moving.file.manifest.rows)


def _batches(rows: Iterator[tuple[int, str, dict[str, Any]]]) -> Iterator[list[tuple[int, str, dict[str, Any]]]]:
    for _, of_one_table in groupby(rows, key=lambda each: each[1]):
        batch: list[tuple[int, str, dict[str, Any]]] = []
        for each in of_one_table:
            batch.append(each)
            if len(batch) == BATCH:
                yield batch
                batch = []
        if batch:
            yield batch


async def _write(tx: SpaceTransaction, moving: _Import, table: Table, rows: list[dict[str, Any]]) -> None:
    columns = moving.file.manifest.columns[table.name]
    if VECTORS in columns:
        family = moving.resources.family
        rows = [{**row, VECTORS: family.id} for row in rows if row.get(VECTORS) == family.name]
    if rows:
        await write_rows(tx, table, columns, rows)


async def _reach(moving: _Import) -> None:
    """Moves the sequences past the ids that came in: they are kept."""
    highest: dict[str, int] = {}
    for _, name, row in moving.file.rows(0):
        for column, sequence in moving.tables[name].sequences.items():
            if isinstance(row.get(column), int):
                highest[sequence] = max(highest.get(sequence, 0), row[column])

    async def move(tx: Transaction) -> None:
        for sequence, number in sorted(highest.items()):
            if not await reach(tx, sequence, number, FARTHEST):
                limit = f"its highest id, {number:,}, is too far from what this database has reached"
                raise InvalidInput("file", sequence, limit)

    await moving.resources.database.across(move, timeout_s=LONGEST_S)


async def _postings(moving: _Import) -> None:
    """Spells out what memories are found by, and counts it."""
    done = await _in(moving, lambda tx: read_checkpoint(tx, _PLACE, "postings"))
    after, total = int(done["id"]) if done else 0, moving.file.manifest.counts.get("memories", 0)
    seen = 0
    while True:

        async def write(tx: SpaceTransaction, after: int = after) -> int:
            await lock_space(tx)
            ids = await memory_ids(tx, after, BATCH)
            if not ids:
                return 0
            rows = await read_memories(tx, moving.name, ids)
            await insert_postings(tx, [ingest.stored_postings(rows[each]) for each in ids])
            await write_checkpoint(tx, _PLACE, "postings", {"id": ids[-1]})
            return ids[-1]

        reached = await _in(moving, write)
        if not reached:
            return
        after, seen = reached, seen + BATCH
        moving.tell("words", min(seen, total), total)


async def _embed(moving: _Import) -> int:
    """Embeds the memories that came without a vector of the embedder at hand; how many."""
    family, embedder = moving.resources.family, moving.resources.embedder
    after = embedded = 0
    total = moving.file.manifest.counts.get("memories", 0)
    while True:

        async def read(tx: SpaceTransaction, after: int = after) -> list[tuple[int, str]]:
            ids = await bare_memories(tx, family.id, after, EMBEDDED)
            rows = await read_memories(tx, moving.name, ids)
            return [(each, ingest.read_again(rows[each].memory)[1]) for each in ids]

        texts = await _in(moving, read)
        if not texts:
            return embedded
        ids = [each for each, _ in texts]
        vectors = await embedder.embed([text for _, text in texts], "document")

        async def write(tx: SpaceTransaction, ids: list[int] = ids, vectors: Any = vectors) -> None:
            await insert_vectors(tx, family.id, list(zip(ids, vectors, strict=True)))
            await set_sketches(tx, ids, sketches(vectors))

        await _in(moving, write)
        after, embedded = ids[-1], embedded + len(ids)
        moving.tell("embedding", embedded, total)


async def _finish(moving: _Import, embedded: int) -> Imported:
    """Adds what workers look for, and gives the space its name, in one step."""
    manifest = moving.file.manifest

    async def finish(tx: SpaceTransaction) -> None:
        await lock_space(tx)
        await set_family(tx, moving.resources.family.id)
        for batch in _batches(moving.file.rows(0)):
            table = moving.tables[batch[0][1]]
            if table.name in _LAST:
                await _write(tx, moving, table, [row for _, _, row in batch])
        await forget_checkpoint(tx, _PLACE)
        await note(tx, "import_space", (), touched=manifest.rows)
        await rename_space(tx, moving.name, manifest.time_zone, manifest.created_at)

    await _checked(moving, finish, [])
    return Imported(moving.name, dict(manifest.counts), embedded)


async def _checked(moving: _Import, work: Callable[[SpaceTransaction], Awaitable[None]], lines: list[int]) -> None:
    """Runs work, and says which lines the database refused; never what stands in them."""
    try:
        await _in(moving, work)
    except RowsRefused as error:
        if error.rule == "spaces_name_key":
            raise Conflict(f"A space {moving.name!r} was made meanwhile.", hint="Name another one.") from None
        limit = f"the database refuses one of the rows up to line {lines[-1] if lines else 'the last'} ({error.rule})"
        line = lines[0] if lines else None
        raise InvalidInput("file", moving.file.path.name, limit, line=line) from None


async def _in(moving: _Import, work: Callable[[SpaceTransaction], Awaitable[Any]]) -> Any:
    return await moving.resources.database.in_space(moving.space.id, work, writer=True, timeout_s=LONGEST_S)
