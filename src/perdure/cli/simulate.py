"""`perdure simulate`: a scripted life on a simulated clock, through the real database, and what must hold in it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from perdure.cli import simulate_ltm
from perdure.cli.call import Call, common, run_async
from perdure.cli.failing import FAILED
from perdure.cli.printing import tell
from perdure.cli.progress import count_progress

if TYPE_CHECKING:
    from perdure.cli.printing import Screen
    from perdure.simulation import Invariant, Year

T = TypeVar("T")
YEAR_DAYS: Final = 365


@click.command(short_help="Live through a scripted life in minutes, and check what must hold.")
@click.argument("what", type=click.Choice(("year", "ltm")), default="year", metavar="[{year,ltm}]")
@click.option("--days", type=click.IntRange(1, 3650), help="Days that are lived. [default: 365; ltm: 200]")
@click.option(
    "--plot", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Draw it (needs matplotlib)."
)
@common
def simulate(call: Call, *, what: str, days: int | None, plot: Path | None) -> int:
    """Live through a scripted life on a simulated clock, in a database of its own; exit status 1 if a promise breaks.

    year: one person's chats, mail, trips, changed facts, months away, noise, with a model that answers from a script.
    What is important must still be found, noise be gone, what was superseded be gone, the store level off, the
    identity card hold the newest truth.

    ltm: ten people and three personas in two servers, which teach themselves facts. A fact must age once a day at
    most, an outage age nothing, what won be active in the next prompt, prompts cost less, and questions still get
    their facts.
    """
    if what == "ltm":
        length = days or simulate_ltm.DAYS
        checked, figures = simulate_ltm.judge(_lived(call, lambda place: simulate_ltm.live(length, place)), plot)
    else:
        length = days or YEAR_DAYS
        checked, figures = _judge_year(_lived(call, lambda place: _live_year(length, place)), plot)

    def show(screen: Screen) -> None:
        for one in checked:
            screen.line(
                ("holds   " if one.holds else "BROKEN  ", "green" if one.holds else "bold red"),
                one.name,
                (f"  ({one.seen})", "dim"),
            )

    holds = all(one.holds for one in checked)
    invariants = [{"name": one.name, "holds": one.holds, "seen": one.seen} for one in checked]
    call.answer({"days": length, "holds": holds, "invariants": invariants, **figures}, show)
    return 0 if holds else FAILED


def _lived(call: Call, work: Callable[[Path], Coroutine[Any, Any, T]]) -> T:
    with tempfile.TemporaryDirectory(prefix="perdure-simulation-") as scratch:
        return run_async(work(call.data_dir or Path(scratch)))


async def _live_year(days: int, directory: Path) -> Year:
    from perdure.simulation import live_through, scripted_life  # noqa: PLC0415 - the driver

    with count_progress("Living", days, "days") as advance:
        return await live_through(scripted_life(days), directory, progress=advance)


def _judge_year(year: Year, plot: Path | None) -> tuple[Sequence[Invariant], dict[str, Any]]:
    """What held and what didn't, and the figures for `--json`; draws the picture, if one is wanted."""
    from perdure.simulation import draw, invariants  # noqa: PLC0415

    if plot is not None:
        draw(year, plot)
        tell(f"The picture is in {plot}.")
    return invariants(year), {
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
    }
