"""`perdure import`: a file of conversations becomes memories, each message exactly once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from perdure import door
from perdure.cli.call import Call, audience_option, common
from perdure.cli.exporting import import_export
from perdure.cli.failing import FAILED, REFUSED, Interrupted, error_data
from perdure.cli.items import import_source
from perdure.cli.printing import Screen, one_line
from perdure.cli.progress import ByteProgress, byte_progress
from perdure.cli.windows import NOTHING_INSIDE, calendar_options, require_zone, window_options
from perdure.cli.words import counted
from perdure.clock import DatabaseClock
from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from perdure.connect import Reader
    from perdure.ingest import BatchReport
    from perdure.memory import Memory
    from perdure.types import Message

SHOWN_REFUSALS: Final = 20
KEPT_REFUSALS: Final = 1000
"""Refusals that `--json` lists; all are counted."""
NAMED_BY_FORMAT: Final = frozenset({"chatgpt", "telegram", "locomo", "longmemeval", "mem0"})
"""Formats whose ids hold across files, so that a newer export of the same chats adds only what is new."""
FORMAT_NAMES: Final = (
    *("jsonl", "locomo", "longmemeval", "chatgpt", "telegram", "whatsapp", "mem0", "letta", "langgraph", "markdown"),
    *("eml", "mbox", "ics"),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is imported, and how what the file leaves open is read.

    `space` is where messages without a space of their own go; with `all_into` those that have one go there, too.
    `assume_time` dates messages without a time; None leaves them to be dated by their import.
    """

    source: str
    space: str
    all_into: bool
    assume_time: datetime | None
    audience: str | None


@dataclass(slots=True)
class Imported:
    """What an import has come to so far."""

    stored: int = 0
    merged: int = 0
    known: int = 0
    empty: int = 0
    refused: int = 0
    undated: int = 0
    refusals: list[InvalidInput] = field(default_factory=list)
    spaces: Counter[str] = field(default_factory=Counter)
    stopped: InvalidInput | None = None

    @property
    def messages(self) -> int:
        return self.stored + self.merged + self.known + self.empty + self.refused

    def refuse(self, error: InvalidInput) -> None:
        self.refused += 1
        if len(self.refusals) < KEPT_REFUSALS:
            self.refusals.append(error)

    def add(self, space: str, report: BatchReport) -> None:
        self.stored += report.stored
        self.merged += report.merged
        self.known += report.known
        self.empty += report.empty
        self.spaces[space] += report.seen
        for error in report.refused:
            self.refuse(error)


@click.command("import", short_help="Import a file of conversations, mails or events.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--format", "format_name", type=click.Choice(FORMAT_NAMES), help="What the file is. [default: judged by content]"
)
@click.option("--source", metavar="NAME", help="Name of this import. [default: the format, or the file's name]")
@click.option("--zone", default="UTC", show_default=True, metavar="ZONE", help="Zone of times written without one.")
@click.option("--day-first", is_flag=True, help="WhatsApp dates like 03/04/23 are day/month, if nothing shows it.")
@click.option("--month-first", is_flag=True, help="They are month/day.")
@click.option("--conversation", metavar="NAME", help="Name of the conversation, for files that don't name it.")
@click.option("--assume-time", metavar="TIME", help="Time of messages that have none, ISO 8601. [default: now]")
@window_options
@audience_option
@common
def import_file(
    call: Call,
    *,
    path: Path,
    format_name: str | None,
    source: str | None,
    zone: str,
    day_first: bool,
    month_first: bool,
    conversation: str | None,
    assume_time: str | None,
    past: int,
    ahead: int,
    audience: str | None,
) -> int:
    """Import what is in PATH: JSON Lines, ChatGPT, Telegram, WhatsApp, mem0, Letta, a LangGraph store, Markdown notes.

    A file of `perdure export` becomes the space again that it was, or the one that --space names.

    Mails (.eml, mbox) and events (.ics) are queued to be judged. Messages that name a space go there, unless --space is
    given; all others go to --space. Interrupt it whenever you like: the same command goes on where it stopped. Running
    it again stores nothing twice.
    """
    from perdure import connect  # noqa: PLC0415 - loads the readers

    if day_first and month_first:
        raise click.UsageError("--day-first and --month-first exclude each other.")
    from perdure.transfer import is_export  # noqa: PLC0415 - the driver

    if format_name is None and is_export(path):
        return import_export(call, path)
    format_name = format_name or connect.detect_format(path)
    if format_name in connect.ITEM_FORMATS:
        if format_name == "ics":
            events = connect.IcsFile(path, calendar_options(zone, past, ahead))
            return import_source(call, events, path.name, audience, advice=NOTHING_INSIDE)
        return import_source(call, connect.MailFile(path, format_name), path.name, audience)
    options = connect.ReadOptions(require_zone(zone), day_first if day_first or month_first else None, conversation)
    reader = connect.read_messages(path, format_name, options=options)
    plan = Plan(
        source=door.require_name(source or default_source(path, reader.format), "source"),
        space=door.require_key(call.space_name, "space"),
        all_into=call.space_given,
        assume_time=door.optional_time(assume_time, "assume-time", zone),
        audience=door.optional_key(audience, "audience"),
    )
    clock = DatabaseClock()
    began = clock.monotonic()
    imported = Imported()

    async def work(memory: Memory) -> None:
        with byte_progress(path.name, reader.progress.total_bytes) as progress:
            await import_messages(memory, reader, plan, imported, progress)

    try:
        call.run(work)
    except KeyboardInterrupt:
        raise Interrupted from None
    seconds = round(clock.monotonic() - began, 2)
    document: dict[str, object] = {"path": str(path), **import_data(imported, reader, plan), "seconds": seconds}
    if imported.stopped is not None:
        document["error"] = error_data(imported.stopped)
    call.answer(document, lambda screen: show_import(screen, path.name, imported, reader, seconds))
    if imported.stopped is not None:
        return REFUSED
    return FAILED if imported.refused else 0


async def import_messages(
    memory: Memory, reader: Reader, plan: Plan, imported: Imported, progress: ByteProgress
) -> None:
    """Imports all that the reader yields, batch by batch, and counts it in `imported`.

    A file too damaged to go on ends the import: what stood before is in, and `imported.stopped` says why.
    """
    from perdure.ingest import batches  # noqa: PLC0415 - the driver and numpy

    try:
        for space, batch in batches(_readable(reader, plan, imported)):
            assert space is not None
            report = await memory.space(space, audience=plan.audience).import_messages(batch, source=plan.source)
            imported.add(space, report)
            progress.reached(reader.progress.bytes_read, imported.messages)
    except InvalidInput as error:
        imported.stopped = error
    finally:
        reader.close()


def _readable(reader: Reader, plan: Plan, imported: Imported) -> Iterator[Message]:
    from perdure.connect import Rejected  # noqa: PLC0415

    for item in reader:
        if isinstance(item, Rejected):
            imported.refuse(item.error)
            continue
        try:
            message = placed(item, plan)
        except InvalidInput as error:
            imported.refuse(error if item.line is None else error.at_line(item.line))
            continue
        imported.undated += item.occurred_at is None
        yield message


def placed(message: Message, plan: Plan) -> Message:
    """The message with its space and time settled. Raises InvalidInput if its space can't be named so."""
    moved = plan.all_into and message.space not in {None, plan.space}
    space = plan.space if plan.all_into or message.space is None else message.space
    occurred_at = message.occurred_at or plan.assume_time
    # Ids are unique within a space. Where several spaces are put into one, their names keep them apart.
    external_id = f"{message.space}/{message.external_id}" if moved else message.external_id
    return replace(message, space=door.require_key(space, "space"), occurred_at=occurred_at, external_id=external_id)


def default_source(path: Path, format_name: str) -> str:
    """The format's name where its ids hold across files, else the file's name without endings."""
    if format_name in NAMED_BY_FORMAT:
        return format_name
    return path.name.removesuffix(".gz").rsplit(".", 1)[0] or path.name


def import_data(imported: Imported, reader: Reader, plan: Plan) -> dict[str, object]:
    """What `--json` says of an import."""
    return {
        "format": reader.format,
        "source": f"import:{plan.source}",
        "spaces": dict(imported.spaces),
        "messages": imported.messages,
        "stored": imported.stored,
        "merged": imported.merged,
        "known": imported.known,
        "empty": imported.empty,
        "refused": imported.refused,
        "undated": imported.undated,
        "refusals": [error_data(error) for error in imported.refusals],
        "skipped": dict(reader.skipped),
        "notes": list(reader.notes),
    }


def show_import(screen: Screen, name: str, imported: Imported, reader: Reader, seconds: float) -> None:
    """The summary for a person."""
    counts = {
        "stored": imported.stored,
        "merged into the same words": imported.merged,
        "in already or forgotten": imported.known,
        "without words": imported.empty,
        "refused": imported.refused,
    }
    told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count or what == "stored")
    screen.line(f"{name} ({reader.format}): {counted(imported.messages, 'message')} in {seconds:.1f} s: {told}.")
    names = [f"{space} ({count:,})" for space, count in imported.spaces.most_common(SHOWN_REFUSALS)]
    more = len(imported.spaces) - len(names)
    if names:
        screen.line(f"Into space {', '.join(names)}{f' and {more} more' if more else ''}.")
    skipped = ", ".join(f"{count:,} × {reason}" for reason, count in reader.skipped.most_common())
    if skipped:
        screen.line(f"Left out on purpose: {skipped}.")
    for note in reader.notes:
        # The readers name their option as a program spells it.
        screen.line(f"Note: {note.replace('(day_first)', 'with --day-first or --month-first')}")
    if imported.undated:
        screen.line(
            f"Note: {counted(imported.undated, 'message')} without a time; --assume-time says when new ones were said."
        )
    for error in imported.refusals[:SHOWN_REFUSALS]:
        screen.line((f"Refused: {one_line(error.message)}", "yellow"))
    unseen = imported.refused - min(len(imported.refusals), SHOWN_REFUSALS)
    if unseen:
        screen.line((f"... and {unseen:,} more refused; --json lists the first {KEPT_REFUSALS:,}.", "yellow"))
    if imported.stopped is not None:
        screen.line((f"Stopped: {one_line(imported.stopped.message)}", "red"))
        screen.line("What stood before that place is imported. Mend the file and run the same command again.")
