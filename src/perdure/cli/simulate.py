"""`perdure simulate`: a scripted life on a simulated clock, through the real database, and what must hold in it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli.call import Call, common, run_async
from perdure.cli.failing import FAILED
from perdure.cli.printing import tell
from perdure.cli.progress import count_progress

if TYPE_CHECKING:
    from perdure.cli.printing import Screen
    from perdure.simulation import Year


@click.command(short_help="Live through a scripted year in minutes, and check what must hold.")
@click.option("--days", type=click.IntRange(1, 3650), default=365, show_default=True, help="Days that are lived.")
@click.option(
    "--plot", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Draw it (needs matplotlib)."
)
@common
def simulate(call: Call, *, days: int, plot: Path | None) -> int:
    """Live through a scripted life: chats, mail, trips, changed facts, months away, noise.

    Everything goes through a database of its own, on a simulated clock, with a model that answers from a script. Exit
    status 1 if something doesn't hold that must: what is important is still found, noise is gone, what was superseded
    is gone, the store levels off, the identity card holds the newest truth.
    """
    from perdure.simulation import draw, invariants, live_through, scripted_life  # noqa: PLC0415 - the driver

    life = scripted_life(days)

    async def work(directory: Path) -> Year:
        with count_progress("Living", days, "days") as advance:
            return await live_through(life, directory, progress=advance)

    with tempfile.TemporaryDirectory(prefix="perdure-simulation-") as scratch:
        year = run_async(work(call.data_dir or Path(scratch)))
    checked = invariants(year)
    if plot is not None:
        draw(year, plot)
        tell(f"The picture is in {plot}.")

    def show(screen: Screen) -> None:
        for one in checked:
            screen.line(
                ("holds   " if one.holds else "BROKEN  ", "green" if one.holds else "bold red"),
                one.name,
                (f"  ({one.seen})", "dim"),
            )

    call.answer(
        {
            "days": days,
            "holds": all(one.holds for one in checked),
            "invariants": [{"name": one.name, "holds": one.holds, "seen": one.seen} for one in checked],
            "conclusions": dict(year.conclusions),
            "asked": dict(year.asked),
            "samples": [
                {
                    "day": sample.day,
                    "live": sample.live,
                    "superseded": sample.superseded,
                    "salience": dict(sample.salience),
                    "episodes": sample.episodes,
                    "reflections": sample.reflections,
                }
                for sample in year.samples
            ],
        },
        show,
    )
    return 0 if all(one.holds for one in checked) else FAILED
