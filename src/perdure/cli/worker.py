"""`perdure worker`: the heartbeat in a process of its own."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from perdure.cli.as_data import optional_moment
from perdure.cli.call import Call, common
from perdure.cli.printing import local, moment, tell

if TYPE_CHECKING:
    from perdure.cli.printing import Screen
    from perdure.memory import Memory
    from perdure.store.workers import WorkerState, WorkerStatus


@click.command(short_help="Work for all spaces until it is stopped; or say what workers do.")
@click.argument("action", metavar="[ACTION]", required=False, type=click.Choice(("status",)))
@common
def worker(call: Call, *, action: str | None) -> int:
    """Work for all spaces until it is stopped with Ctrl-C or SIGTERM: drain, upkeep, conclusions.

    Any number of workers may run, on one machine or several: they share the work, fairly among spaces. A program that
    keeps a Memory open runs one by itself. With the ACTION status it says instead which workers there are, what they
    did, and what waits.
    """
    if call.space_given:
        raise click.UsageError("A worker serves every space. `perdure drain --space NAME` works off one of them.")
    if action == "status":
        return _status(call)

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


def _status(call: Call) -> int:
    async def work(memory: Memory) -> WorkerStatus:
        return await memory.worker_status()

    status = call.run(work)

    def show(screen: Screen) -> None:
        if not status.workers:
            screen.line("No worker is running. `perdure worker` runs one; a program with an open Memory is one, too.")
        else:
            rows = (
                (
                    f"{each.host}:{each.process}",
                    local(each.seen_at),
                    local(each.beat_at) if each.beat_at else "not yet",
                    each.doing,
                    f"{each.drained:,}",
                    f"{each.kept_up:,}",
                    f"{each.concluded:,}",
                    each.trouble or "",
                )
                for each in status.workers
            )
            heads = ["worker", "seen", "last beat", "doing", "drained", "kept up", "concluded", "trouble"]
            screen.table(heads, rows, right=[4, 5, 6])
        for queue in status.queues:
            screen.line(f"{queue.queue}: {queue.waiting:,} wait since {local(queue.oldest)}, {queue.leased:,} at work")
        if not status.queues:
            screen.line("Nothing waits.")

    call.answer(
        {
            "workers": [_worker_data(each) for each in status.workers],
            "queues": [
                {
                    "queue": queue.queue,
                    "waiting": queue.waiting,
                    "oldest": moment(queue.oldest),
                    "leased": queue.leased,
                }
                for queue in status.queues
            ],
        },
        show,
    )
    return 0


def _worker_data(state: WorkerState) -> dict[str, object]:
    return {
        "name": state.name,
        "host": state.host,
        "process": state.process,
        "started_at": moment(state.started_at),
        "seen_at": moment(state.seen_at),
        "beat_at": optional_moment(state.beat_at),
        "doing": state.doing,
        "drained": state.drained,
        "kept_up": state.kept_up,
        "concluded": state.concluded,
        "trouble": state.trouble,
    }
