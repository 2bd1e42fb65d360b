"""`perdure documents`: files that are looked up by passages, by hand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from perdure.cli.call import Call, audience_option, common
from perdure.cli.documents_view import (
    HEADS,
    added_line,
    document_data,
    document_row,
    hit_data,
    part_data,
    show_document,
    show_hits,
)
from perdure.cli.facts import known_persona
from perdure.cli.failing import FAILED, Interrupted
from perdure.cli.ids import memory_id
from perdure.cli.printing import tell
from perdure.cli.progress import count_progress
from perdure.cli.words import counted

if TYPE_CHECKING:
    from perdure.cli.printing import Screen
    from perdure.document_types import AddedDocument, Document, DocumentHit, DocumentText
    from perdure.memory import Memory
    from perdure.space import Space

ACTIONS: Final = ("add", "list", "show", "search", "delete", "embed")
FORMATS: Final = {
    "text": "text/plain",
    "markdown": "text/markdown",
    "html": "text/html",
    "pdf": "application/pdf",
}
TAKES: Final = {
    "list": (0, 0, "no argument; `perdure documents show ID` shows one"),
    "embed": (0, 0, "no argument"),
    "show": (1, 1, "one ID; `perdure documents list` shows them"),
    "search": (1, 1, "one QUERY, in quotes"),
    "add": (1, sys.maxsize, "at least one FILE, or - for stdin"),
    "delete": (1, sys.maxsize, "at least one ID; `perdure documents list` shows them"),
}


@dataclass(frozen=True, slots=True)
class _Asked:
    """What stands on the command line besides the action."""

    words: tuple[str, ...]
    name: str | None
    media_type: str | None
    encoding: str | None
    server: str | None
    persona: str | None
    channels: tuple[str, ...]
    limit: int
    yes: bool
    audience: str | None


@click.command(short_help="Hand in files, look them up, and delete them.")
@click.argument("action", metavar="ACTION", type=click.Choice(ACTIONS))
@click.argument("words", metavar="FILE|ID|QUERY", nargs=-1)
@click.option("--name", metavar="NAME", help="Of add: its name here. [default: that of the file]")
@click.option("--format", "format_name", type=click.Choice(list(FORMATS)), help="Of add: what the file is.")
@click.option("--encoding", metavar="NAME", help="Of add: of a text that is neither UTF-8 nor UTF-16.")
@click.option("--server", metavar="ID", help="Of add, list and search: the server. [add: the whole space]")
@click.option("--persona", metavar="NAME", help="Of add, list and search: who knows it. [add: every persona]")
@click.option("--channel", "channels", multiple=True, metavar="ID", help="Of add: only shown there. Of search: where.")
@click.option("--limit", type=int, default=6, show_default=True, help="Of search: passages at most, 1 to 100.")
@click.option("--yes", is_flag=True, help="Of delete: don't ask. Needed where there is nobody to ask.")
@audience_option
@common
def documents(
    call: Call,
    *,
    action: str,
    words: tuple[str, ...],
    name: str | None,
    format_name: str | None,
    encoding: str | None,
    server: str | None,
    persona: str | None,
    channels: tuple[str, ...],
    limit: int,
    yes: bool,
    audience: str | None,
) -> int:
    """Text, Markdown, HTML and PDF files stand beside memories: passages of them are found, and nothing fades.

    ACTION is add FILE..., list, show ID, search QUERY, delete ID..., or embed (after the embedder was changed).
    A file of the same name takes the place of the one before. Interrupt add whenever you like: the same command goes
    on where it stopped.
    """
    media_type = None if format_name is None else FORMATS[format_name]
    asked = _Asked(words, name, media_type, encoding, server, persona, channels, limit, yes, audience)
    least, most, takes = TAKES[action]
    if not least <= len(words) <= most:
        raise click.UsageError(f"documents {action} takes {takes}.")
    return {"add": _add, "list": _list, "show": _show, "search": _search, "delete": _delete, "embed": _embed}[action](
        call, asked
    )


def _add(call: Call, asked: _Asked) -> int:
    if asked.name is not None and len(asked.words) > 1:
        raise click.UsageError("--name names one file.")
    if "-" in asked.words and asked.name is None:
        raise click.UsageError("What comes from stdin needs a --name.")
    sources = [sys.stdin.buffer.read() if word == "-" else Path(word) for word in asked.words]

    async def work(memory: Memory) -> list[AddedDocument]:
        space = call.space(memory, asked.audience)
        persona = None if asked.persona is None else await space.persona(asked.persona)
        added = []
        for word, source in zip(asked.words, sources, strict=True):
            with ExitStack() as stack:
                one = await space.add_document(
                    source,
                    name=asked.name,
                    media_type=asked.media_type,
                    encoding=asked.encoding,
                    server=asked.server,
                    persona=persona,
                    channels=asked.channels,
                    progress=_progress(stack, asked.name or Path(word).name),
                )
            added.append(one)
        return added

    try:
        added = call.run(work)
    except KeyboardInterrupt:
        raise Interrupted from None

    def show(screen: Screen) -> None:
        for one in added:
            screen.line(added_line(one))

    found = [{"status": one.status.value, **document_data(one.document)} for one in added]
    call.answer({"space": call.space_name, "added": found}, show)
    return 0


def _progress(stack: ExitStack, name: str) -> Callable[[int, int], None]:
    """Shows how many passages of a file are done, as soon as it is known how many there are."""
    told: list[Callable[[int], None]] = []

    def tell_done(done: int, total: int) -> None:
        if not told:
            told.append(stack.enter_context(count_progress(name, total, "passages")))
        told[0](done)

    return tell_done


def _list(call: Call, asked: _Asked) -> int:
    async def work(memory: Memory) -> tuple[Document, ...]:
        space = call.space(memory, asked.audience)
        return await space.documents(server=asked.server, persona=await known_persona(space, asked.persona))

    found = call.run(work)

    def show(screen: Screen) -> None:
        if not found:
            screen.line(f"Space {call.space_name} has no documents like that.")
            return
        screen.table(HEADS, map(document_row, found), right=[0, 2, 3, 4])

    call.answer({"space": call.space_name, "documents": [document_data(document) for document in found]}, show)
    _tell_unfound(found)
    return 0


def _tell_unfound(found: Sequence[Document]) -> None:
    if any(document.embedded < document.parts and document.state == "complete" for document in found):
        tell("Some passages were embedded by another model and are not found; `perdure documents embed` mends that.")
    if any(document.state == "arriving" for document in found):
        tell("What is arriving is not found yet; add the same file again, and it goes on where it stopped.")


def _show(call: Call, asked: _Asked) -> int:
    async def work(memory: Memory) -> DocumentText:
        return await call.space(memory, asked.audience).document(memory_id(asked.words[0]))

    found = call.run(work)
    document: dict[str, object] = {
        "space": call.space_name,
        "document": document_data(found.document),
        "parts": [part_data(part) for part in found.parts],
    }
    call.answer(document, lambda screen: show_document(screen, found))
    return 0


def _search(call: Call, asked: _Asked) -> int:
    if len(asked.channels) > 1:
        raise click.UsageError("documents search looks from one channel.")

    async def work(memory: Memory) -> tuple[DocumentHit, ...]:
        space = call.space(memory, asked.audience)
        return await space.search_documents(
            asked.words[0],
            server=asked.server,
            persona=await known_persona(space, asked.persona),
            channel=asked.channels[0] if asked.channels else None,
            limit=asked.limit,
        )

    hits = call.run(work)

    def show(screen: Screen) -> None:
        if not hits:
            screen.line("No passage is near enough to that.")
            return
        show_hits(screen, hits)

    call.answer({"space": call.space_name, "hits": [hit_data(hit) for hit in hits]}, show)
    return 0


def _delete(call: Call, asked: _Asked) -> int:
    if not asked.yes and (call.as_json or not sys.stdin.isatty()):
        raise click.UsageError("delete erases for good, and there is nobody to ask. Add --yes if you mean it.")
    ids = [memory_id(word) for word in asked.words]

    async def look(memory: Memory) -> list[Document]:
        space = call.space(memory, asked.audience)
        return [(await space.document(each)).document for each in ids]

    async def erase(memory: Memory) -> list[Document]:
        space = call.space(memory, asked.audience)
        await look(memory)
        return [await space.delete_document(each) for each in ids]

    if not asked.yes:
        for document in call.run(look):
            tell(f"#{document.id}  {document.name}")
        if not click.confirm(f"Erase {counted(len(ids), 'document')} for good?", err=True):
            tell("Nothing was erased.")
            return FAILED
    gone = call.run(erase)
    named = ", ".join(document.name for document in gone)
    call.answer(
        {"space": call.space_name, "erased": [str(document.id) for document in gone]},
        lambda screen: screen.line(f"Erased {named} from space {call.space_name}."),
    )
    return 0


def _embed(call: Call, asked: _Asked) -> int:
    async def work(memory: Memory) -> int:
        space: Space = call.space(memory, asked.audience)
        with ExitStack() as stack:
            return await space.embed_documents(progress=_progress(stack, "embedding"))

    try:
        embedded = call.run(work)
    except KeyboardInterrupt:
        raise Interrupted from None
    told = f"Embedded {counted(embedded, 'passage')}." if embedded else "Every passage is embedded."
    call.answer({"space": call.space_name, "embedded": embedded}, lambda screen: screen.line(told))
    return 0
