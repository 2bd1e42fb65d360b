"""`perdure list` and `perdure show`: looking at what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from perdure.cli.as_data import evidence_data, memory_data
from perdure.cli.call import Call, audience_option, common
from perdure.cli.drain import tell_waiting
from perdure.cli.filters import filters as filter_options
from perdure.cli.ids import called_for, memory_id
from perdure.cli.printing import Screen, local, moment

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.types import Evidence, StoredMemory


@click.command("list", short_help="List memories, newest first.")
@filter_options
@click.option("--limit", type=int, default=50, show_default=True, help="Memories at most, 1 to 1000.")
@click.option("--before", metavar="ID", help="Go on after this memory, the last of the page before.")
@click.option("--superseded", is_flag=True, help="Include memories that newer ones replaced.")
@audience_option
@common
def list_memories(
    call: Call,
    *,
    filters: dict[str, Any],
    limit: int,
    before: str | None,
    superseded: bool,
    audience: str | None,
) -> None:
    """List the memories of a space by their date, newest first."""

    async def work(memory: Memory) -> tuple[StoredMemory, ...]:
        space = call.space(memory, audience)
        await tell_waiting(call, memory)
        last = None if before is None else await space.get(memory_id(before))
        return await space.list(limit=limit, before=last, superseded=superseded, **filters)

    found = call.run(work)

    def show(screen: Screen) -> None:
        if not found:
            screen.line(f"Space {call.space_name} has no memories like that.")
            return
        rows = ((str(m.id), local(m.source_date), m.speaker or "", str(m.memory_type), m.summary) for m in found)
        screen.table(["id", "date", "speaker", "type", "memory"], rows, right=[0])

    call.answer({"space": call.space_name, "memories": [memory_data(memory) for memory in found]}, show)


@click.command(short_help="Show one memory with its evidence and history.")
@click.argument("written_id", metavar="ID")
@audience_option
@common
def show(call: Call, *, written_id: str, audience: str | None) -> None:
    """Show one memory: all it says, what it rests on, and what it was before each change."""

    async def work(
        memory: Memory,
    ) -> tuple[StoredMemory, tuple[Evidence, ...], tuple[Mapping[str, object], ...]]:
        space = call.space(memory, audience)
        found = await called_for(call, space, written_id)
        return found, await space.evidence(found.id), await space.history(found.id)

    found, evidence, history = call.run(work)
    document: dict[str, object] = {
        "memory": memory_data(found),
        "evidence": [evidence_data(item) for item in evidence],
        "history": [_plain(entry) for entry in history],
    }

    def print_all(screen: Screen) -> None:
        _show_memory(screen, found)
        for item in evidence:
            when = local(item.observed_at) if item.observed_at else ""
            screen.line("")
            screen.line(("evidence", "bold"), f"  {'  '.join(filter(None, (item.kind, item.external_id, when)))}")
            screen.line(f"{item.speaker}: {item.excerpt}" if item.speaker else item.excerpt, indent=3)
        for entry in history:
            screen.line("")
            screen.line(("history", "bold"))
            for name, value in _plain(entry).items():
                screen.line((f"{name:<14}", "dim"), str(value), indent=3)

    call.answer(document, print_all)


def _show_memory(screen: Screen, memory: StoredMemory) -> None:
    screen.line((f"#{memory.id}", "bold cyan"), f"  space {memory.space}")
    for line in memory.summary.split("\n"):
        screen.line(line, indent=3)
    facts = {
        "type": memory.memory_type,
        "date": local(memory.source_date),
        "speaker": memory.speaker,
        "audience": memory.audience,
        "conversation": memory.conversation_id,
        "source": f"{memory.source} (trust: {memory.trust})",
        "tags": ", ".join(memory.tags),
        "entities": ", ".join(memory.entities),
        "salience": f"{memory.salience:g} of 10{', pinned' if memory.pinned else ''}",
        "usefulness": f"{memory.usefulness:.2f}",
        "confidence": f"{memory.confidence:.2f}",
        "retrieved": f"{memory.retrieval_count} times",
        "replaced by": f"#{memory.superseded_by}" if memory.superseded_by else None,
        "part of": f"#{memory.chunk_of}, part {memory.chunk_no + 1}" if memory.chunk_of else None,
        "metadata": ", ".join(f"{key}={value}" for key, value in memory.metadata.items()),
        "saved": local(memory.created_at),
    }
    for name, value in facts.items():
        if value:
            screen.line((f"{name:<14}", "dim"), str(value), indent=3)


def _plain(value: Mapping[str, object]) -> dict[str, object]:
    """A row of the history with times and ids as `--json` writes them."""
    return {key: _plain_value(key, item) for key, item in value.items()}


def _plain_value(key: str, value: object) -> object:
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, Mapping):
        return _plain(value)
    if isinstance(value, list | tuple):
        return [_plain_value(key, item) for item in value]
    is_id = (key == "id" or key.endswith(("_id", "_ids", "_by", "_of"))) and isinstance(value, int)
    return str(value) if is_id else value
