"""`perdure simulate ltm`: the life of two servers whose personas teach themselves facts, and what must hold of them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from perdure.cli.printing import tell
from perdure.cli.progress import count_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perdure.simulation import Invariant, Lived

DAYS: Final = 200


async def live(days: int, directory: Path) -> Lived:
    """Lives through so many days in a database under `directory`."""
    from perdure.simulation import live_in_servers, scripted_servers  # noqa: PLC0415 - the driver

    # That facts can't be scored is what days without a model are for.
    logging.getLogger("perdure.ltm").setLevel(logging.ERROR)
    with count_progress("Living", days, "days") as advance:
        return await live_in_servers(scripted_servers(days), directory, progress=advance)


def judge(lived: Lived, plot: Path | None) -> tuple[Sequence[Invariant], dict[str, Any]]:
    """What held and what didn't, and the figures for `--json`; draws the picture, if one is wanted."""
    from perdure.simulation import draw_servers, fact_invariants, share_shown  # noqa: PLC0415

    if plot is not None:
        draw_servers(lived, plot)
        tell(f"The picture is in {plot}.")
    return fact_invariants(lived), {
        "turns": lived.turns,
        "taught": lived.taught,
        "tokens_share": round(share_shown(lived), 4),
        "numbers": {name: round(value) for name, value in lived.numbers.items()},
        "evenings": [
            {
                "day": one.day,
                "down": one.down,
                "turns": one.turns,
                "shown_tokens": one.shown,
                "all_tokens": one.everything,
                "active": one.active,
                "dormant": one.dormant,
            }
            for one in lived.evenings
        ],
        "asked": [
            {"day": one.day, "questions": one.questions, "answered": one.answered, "active": one.active}
            for one in lived.asked
        ],
    }
