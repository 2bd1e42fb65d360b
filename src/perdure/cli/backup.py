"""`perdure backup`: the embedded database as one file, and a new data directory from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli.call import Call, common
from perdure.cli.printing import tell
from perdure.errors import ConfigurationError

if TYPE_CHECKING:
    from perdure.memory import Memory


@click.command(short_help="Back the embedded database up, or make a new one of a backup.")
@click.argument("action", metavar="ACTION", type=click.Choice(("make", "restore")))
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@common
def backup(call: Call, *, action: str, path: Path) -> int:
    """Write all spaces, keys and logs to FILE while everything runs (make), or begin anew with it (restore).

    restore needs --data-dir DIRECTORY, one that isn't there yet. FILE is a dump of PostgreSQL's own: pg_restore reads
    it, too. A server of your own is backed up by its own means.
    """
    if call.space_given:
        raise click.UsageError("A backup holds every space. `perdure export --space NAME` writes one of them.")
    if action == "make":
        return _make(call, path)
    from perdure.store.embedded_backup import restore  # noqa: PLC0415 - the driver

    if call.data_dir is None:
        raise click.UsageError("Name the directory that it is to become: --data-dir DIRECTORY.")
    restore(path, call.data_dir, tell)
    document: dict[str, object] = {"path": str(path), "data_dir": str(call.data_dir)}
    call.answer(document, lambda screen: screen.line(f"{call.data_dir} is what {path.name} held."))
    return 0


def _make(call: Call, path: Path) -> int:
    from perdure.store.embedded_backup import back_up  # noqa: PLC0415 - the driver

    async def work(memory: Memory) -> int:
        if memory.server is None:
            raise ConfigurationError(
                "PERDURE_DATABASE_URL names a server of your own.", hint="Back it up by its own means, such as pg_dump."
            )
        return back_up(memory.server, path, tell)

    size = call.run(work)
    document: dict[str, object] = {"path": str(path), "bytes": size}
    call.answer(document, lambda screen: screen.line(f"Everything is in {path} ({size / 1e6:,.1f} MB)."))
    return 0
