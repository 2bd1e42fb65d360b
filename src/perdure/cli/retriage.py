"""`perdure retriage`: what was stored before there was a language model is judged by the one there is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli.call import Call, common
from perdure.cli.called import as_called
from perdure.cli.printing import tell
from perdure.cli.words import counted

if TYPE_CHECKING:
    from perdure.memory import Memory


@click.command(short_help="Judge what was stored without a language model.")
@click.option("--limit", type=int, default=1000, show_default=True, help="Exchanges at most, 1 to 100000.")
@common
def retriage(call: Call, *, limit: int) -> None:
    """Put exchanges, mails and events that were kept word for word back into the queue.

    The model that is configured now judges them.
    What is worth keeping is replaced by the memory made of it, which `perdure restore` can undo; the rest sinks to the
    salience that it deserves. A worker does the judging.
    """

    async def work(memory: Memory) -> int:
        return await call.space(memory).retriage(limit=limit)

    queued = call.run(work)
    call.answer(
        {"space": call.space_name, "queued": queued},
        lambda screen: screen.line(f"{counted(queued, 'exchange')} of space {call.space_name} back in the queue."),
    )
    if queued:
        tell(as_called("A worker judges them (`perdure worker`), or `perdure drain` does so now."))
