"""`perdure forget`: erasing for good, by id, by where memories came from, or everything."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import click

from perdure.cli.call import Call, audience_option, common
from perdure.cli.failing import FAILED
from perdure.cli.ids import called_for, memory_id
from perdure.cli.printing import one_line, tell
from perdure.cli.words import counted
from perdure.errors import NotFound

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.space import Space
    from perdure.types import StoredMemory

SHOWN: Final = 20
"""Memories shown before the question whether to erase them; all are counted."""
PAGE: Final = 500
"""Memories listed at a time."""
ERASED: Final = 50
"""Memories erased in one transaction: it holds the space's lock, and looks for what quotes each of them."""


@dataclass(frozen=True, slots=True)
class _Erased:
    """Ids of the memories, facts and documents that went, and how many memories of audiences are left."""

    ids: list[int]
    left: int = 0
    facts: list[str] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)


@click.command(short_help="Erase memories for good.")
@click.argument("written_ids", metavar="ID...", nargs=-1)
@click.option("--source", metavar="NAME", help="All that came from here, such as import:NAME, user, conversation.")
@click.option(
    "--everything", is_flag=True, help="All memories and documents of the space, and all facts, people and personas."
)
@click.option("--yes", is_flag=True, help="Don't ask. Needed where there is nobody to ask.")
@audience_option
@common
def forget(
    call: Call,
    *,
    written_ids: tuple[str, ...],
    source: str | None,
    everything: bool,
    yes: bool,
    audience: str | None,
) -> int:
    """Erase memories with everything known of them: chunks, words, vectors, evidence, history. Can't be undone.

    Which ones: their IDs, or --source NAME, or --everything. Single facts are erased by `perdure facts forget`.
    """
    if bool(written_ids) + (source is not None) + everything != 1:
        raise click.UsageError("Name the memories to erase: their IDs, or --source NAME, or --everything.")
    if not yes and (call.as_json or not sys.stdin.isatty()):
        raise click.UsageError("forget erases for good, and there is nobody to ask. Add --yes if you mean it.")

    async def look(memory: Memory) -> list[StoredMemory | int]:
        space = call.space(memory, audience)
        if written_ids:
            return [await _named(call, space, each) for each in written_ids]
        return [*await _all_of(space, source), *await space.pruned(source=source)]

    async def erase(memory: Memory) -> _Erased:
        space = call.space(memory, audience)
        if written_ids:
            ids = [each if isinstance(each, int) else each.id for each in await look(memory)]
            return _Erased(list((await space.forget(*ids)).ids))
        erased = await _erase_all(space, source)
        if not everything or await memory.find_space(call.space_name) is None:
            return _Erased(erased)
        # Facts belong to servers and people, and to no audience: whoever erases one audience leaves them alone.
        facts = await space.forget_all_facts() if audience is None else ()
        gone = [(await space.delete_document(document.id)).id for document in await space.documents()]
        return _Erased(erased, (await space.stats()).memories, [str(fact_id) for fact_id in facts], gone)

    if not yes and not _confirmed(call.run(look), everything=everything, facts=everything and audience is None):
        tell("Nothing was erased.")
        return FAILED
    _tell(call, call.run(erase), by_id=bool(written_ids))
    return 0


def _tell(call: Call, erased: _Erased, *, by_id: bool) -> None:
    """What went, and what is left."""
    ids = erased.ids
    named = ", ".join(f"#{number}" for number in ids) if by_id else counted(len(ids), "memory", "memories")
    if erased.facts:
        named += f" and {counted(len(erased.facts), 'fact')}"
    if erased.documents:
        named += f" and {counted(len(erased.documents), 'document')}"
    if erased.left:
        others = counted(erased.left, "memory", "memories")
        tell(f"{others} of audiences are left; --everything with --audience NAME erases those of one.")
    document: dict[str, object] = {
        "space": call.space_name,
        "erased": [str(number) for number in ids],
        "facts": erased.facts,
        "documents": [str(number) for number in erased.documents],
    }
    call.answer(document, lambda screen: screen.line(f"Erased {named} from space {call.space_name}."))


async def _named(call: Call, space: Space, written: str) -> StoredMemory | int:
    """The memory with that id, or the id of one that was pruned. Raises NotFound."""
    try:
        return await called_for(call, space, written)
    except NotFound:
        for gone in await space.pruned(memory_id=memory_id(written)):
            return gone
        raise


async def _all_of(space: Space, source: str | None) -> list[StoredMemory]:
    found: list[StoredMemory] = []
    while page := await space.list(limit=PAGE, before=found[-1] if found else None, superseded=True, source=source):
        found += page
    return found


async def _erase_all(space: Space, source: str | None) -> list[int]:
    erased: list[int] = []
    # Siblings of a page go with it, so what is left is listed anew each time.
    while page := await space.list(limit=ERASED, superseded=True, source=source):
        erased += (await space.forget(*[each.id for each in page])).ids
    while gone := await space.pruned(source=source, limit=ERASED):
        erased += (await space.forget(*gone)).ids
    return erased


def _confirmed(found: list[StoredMemory | int], *, everything: bool, facts: bool) -> bool:
    """Shows what would go and asks; with `everything` also of documents, with `facts` also of all of those.

    False where there is nothing.
    """
    for each in found[:SHOWN]:
        shown = f"#{each}  pruned" if isinstance(each, int) else f"#{each.id}  {one_line(each.summary)[:200]}"
        tell(shown)
    if len(found) > SHOWN:
        tell(f"... and {len(found) - SHOWN:,} more.")
    if not found and not everything:
        tell("There are no such memories.")
        return False
    others = ", and all documents" if everything else ""
    others += ", facts, people and personas of the space," if facts else ""
    return click.confirm(f"Erase {counted(len(found), 'memory', 'memories')}{others} for good?", err=True)
