"""A space as a file: all its rows as they were at one moment, while writers go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from perdure.errors import InvalidInput
from perdure.resources import Resources
from perdure.store.audit import note
from perdure.store.catalogue import Table, tables_of_spaces
from perdure.store.database import SpaceTransaction
from perdure.store.embedded_files import perdure_version
from perdure.store.spaces import SpaceRow
from perdure.store.transfer_rows import count_rows, read_rows
from perdure.transfer.format import LEASES, LEFT_OUT, VECTORS, Manifest, Writer, writing

Progress = Callable[[int, int], None]
LONGEST_S: Final = 86_400.0
TOLD_EVERY: Final = 500


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export holds: rows by table; `vectors` whether those came along."""

    path: Path
    counts: dict[str, int]
    vectors: bool

    @property
    def rows(self) -> int:
        return sum(self.counts.values())


async def export_space(
    resources: Resources, space: SpaceRow, path: Path, *, vectors: bool, progress: Progress | None = None
) -> Exported:
    """Writes a space to a file. There is no file before it is whole.

    Raises:
        InvalidInput: the file can't be written. DatabaseUnavailable.
    """
    part = path.with_name(f"{path.name}.part")

    async def work(tx: SpaceTransaction) -> Exported:
        tables = [table for table in await tables_of_spaces(tx) if _comes_along(table, vectors=vectors)]
        counts = {table.name: await count_rows(tx, table) for table in tables}
        names = resources.family_names
        with writing(part) as file:
            writer = Writer(file)
            writer.manifest(_manifest(space, tx, tables, counts, vectors=vectors))
            for table in tables:
                async for row in read_rows(tx, table):
                    writer.write({"table": table.name, "row": _sent(row, names)})
                    if progress is not None and writer.lines % TOLD_EVERY == 0:
                        progress(writer.lines, sum(counts.values()))
            writer.end()
        return Exported(path, counts, vectors)

    try:
        exported = await resources.database.in_space(space.id, work, snapshot=True, timeout_s=LONGEST_S)
        # Reading leaves no entries, except where all is carried off; the file isn't there before it stands in the log.
        await resources.database.in_space(space.id, lambda tx: note(tx, "export_space", touched=exported.rows))
        part.replace(path)
    except OSError as error:
        raise InvalidInput("file", str(path), f"it can't be written ({error.strerror or error})") from None
    finally:
        part.unlink(missing_ok=True)
    return exported


def _comes_along(table: Table, *, vectors: bool) -> bool:
    return table.name not in LEFT_OUT and (vectors or VECTORS not in table.columns)


def _manifest(
    space: SpaceRow, tx: SpaceTransaction, tables: list[Table], counts: dict[str, int], *, vectors: bool
) -> Manifest:
    return Manifest(
        space=space.name,
        time_zone=space.time_zone,
        created_at=space.created_at.isoformat(),
        exported_at=tx.now.isoformat(),
        perdure=perdure_version(),
        vectors=vectors,
        columns={table.name: list(table.columns) for table in tables},
        counts=counts,
    )


def _sent(row: dict[str, Any], families: Mapping[int, str]) -> dict[str, Any]:
    for name in LEASES:
        if name in row:
            row[name] = None
    if row.get(VECTORS) is not None:
        row[VECTORS] = families.get(row[VECTORS], "")
    return row
