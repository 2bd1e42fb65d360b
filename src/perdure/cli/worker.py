"""`perdure worker`: the heartbeat in a process of its own."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from perdure.cli.call import Call, common
from perdure.cli.printing import tell

if TYPE_CHECKING:
    from perdure.memory import Memory


@click.command(short_help="Turn what is captured into memories, until it is stopped.")
@common
def worker(call: Call) -> int:
    """Work off the queues of all spaces until it is stopped with Ctrl-C or SIGTERM.

    Any number of workers may run, on one machine or several: they share the work, fairly among spaces. A program that
    keeps a Memory open runs one by itself.
    """
    if call.space_given:
        raise click.UsageError("A worker serves every space. `perdure drain --space NAME` works off one of them.")

    async def work(memory: Memory) -> None:
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            # Where the platform's loop knows no signal handlers, Ctrl-C ends the command as it ends any other.
            with suppress(NotImplementedError):
                loop.add_signal_handler(each, stopped.set)
        features = memory.resources.models.off()
        tell(f"Working. Off without a language model: {', '.join(features)}." if features else "Working.")
        await stopped.wait()
        tell("Stopping after the exchanges at hand.")

    call.run(work, worker=True)
    call.answer({"stopped": True}, lambda screen: screen.line("Stopped."))
    return 0
