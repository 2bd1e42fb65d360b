"""`perdure failed`: what was given up, looked at, tried again or dropped."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from perdure.cli.call import Call, audience_option, common
from perdure.cli.failing import FAILED
from perdure.cli.printing import Screen, local, moment, one_line, tell

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.types import FailedOperation

ACTIONS = ("list", "show", "replay", "drop")


@click.command(short_help="Show, replay or drop what failed for good.")
@click.argument("action", metavar="ACTION", type=click.Choice(ACTIONS))
@click.argument("failed_ids", metavar="ID...", nargs=-1)
@click.option("--limit", type=int, default=100, show_default=True, help="Of list: operations at most, 1 to 10000.")
@click.option("--yes", is_flag=True, help="Of drop: don't ask. Needed where there is nobody to ask.")
@audience_option
@common
def failed(call: Call, *, action: str, failed_ids: tuple[str, ...], limit: int, yes: bool, audience: str | None) -> int:
    """List what was given up after its last attempt, show one with what was said, put some back, or drop them.

    ACTION is list, show (one ID), replay (some IDs, or all without one) or drop (some IDs). What is replayed waits in
    the queue as if it had been captured just now; doing it twice puts nothing back twice.
    """
    if action == "list":
        if failed_ids:
            raise click.UsageError("failed list takes no ID; `perdure failed show ID` shows one.")
        return _list(call, limit)
    if action == "show":
        if len(failed_ids) != 1:
            raise click.UsageError("failed show takes one ID; `perdure failed list` shows them.")
        return _show(call, failed_ids[0], audience)
    if action == "drop":
        return _drop(call, failed_ids, yes=yes)
    return _replay(call, failed_ids)


def _list(call: Call, limit: int) -> int:
    async def work(memory: Memory) -> tuple[FailedOperation, ...]:
        return await call.space(memory).failed(limit=limit)

    found = call.run(work)

    def show(screen: Screen) -> None:
        if not found:
            screen.line(f"Nothing failed in space {call.space_name}.")
            return
        rows = (
            (str(f.id), local(f.created_at), f.audience or "", f"{f.context_bytes:,}", f"{f.label}: {f.error}")
            for f in found
        )
        screen.table(["id", "given up", "audience", "bytes", "what and why"], rows, right=[0, 3])

    call.answer({"space": call.space_name, "failed": [_data(each) for each in found]}, show)
    return 0


def _show(call: Call, failed_id: str, audience: str | None) -> int:
    async def work(memory: Memory) -> Mapping[str, Any]:
        return await call.space(memory, audience).failed_context(failed_id)  # type: ignore[arg-type]  # the door reads digits

    context = call.run(work)

    def show(screen: Screen) -> None:
        for name, value in context.items():
            if isinstance(value, Mapping):
                for part, text in value.items():
                    screen.line((f"{part:<16}", "dim"), str(text))
            elif value is not None:
                screen.line((f"{name:<16}", "dim"), str(value))

    call.answer({"space": call.space_name, "id": failed_id, "context": {**context, "id": str(context["id"])}}, show)
    return 0


def _replay(call: Call, failed_ids: tuple[str, ...]) -> int:
    async def work(memory: Memory) -> tuple[int, ...]:
        return await call.space(memory).replay_failed(*failed_ids)  # type: ignore[arg-type]

    return _answer(call, "replayed", failed_ids, call.run(work), "back in the queue of")


def _drop(call: Call, failed_ids: tuple[str, ...], *, yes: bool) -> int:
    if not failed_ids:
        raise click.UsageError("failed drop takes the IDs to drop; `perdure failed list` shows them.")
    if not yes:
        if call.as_json or not sys.stdin.isatty():
            raise click.UsageError("failed drop erases for good, and there is nobody to ask. Add --yes if you mean it.")
        if not click.confirm(f"Erase {', '.join(map(one_line, failed_ids))} for good?", err=True):
            tell("Nothing was erased.")
            return FAILED

    async def work(memory: Memory) -> tuple[int, ...]:
        return await call.space(memory).drop_failed(*failed_ids)  # type: ignore[arg-type]

    return _answer(call, "dropped", failed_ids, call.run(work), "erased from")


def _answer(call: Call, done: str, asked: tuple[str, ...], ids: tuple[int, ...], where: str) -> int:
    """What was done; the status says whether each one that was named was there."""
    named = ", ".join(f"#{number}" for number in ids) or "Nothing"
    call.answer(
        {"space": call.space_name, done: [str(number) for number in ids]},
        lambda screen: screen.line(f"{named} {'are' if len(ids) > 1 else 'is'} {where} space {call.space_name}."),
    )
    return FAILED if len(ids) < len(set(asked)) else 0


def _data(failed: FailedOperation) -> dict[str, object]:
    return {
        "id": str(failed.id),
        "op_type": failed.op_type,
        "label": failed.label,
        "error": failed.error,
        "created_at": moment(failed.created_at),
        "audience": failed.audience,
        "context_bytes": failed.context_bytes,
    }
