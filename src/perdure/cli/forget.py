"""`perdure forget`: erasing for good: memories, a source, a speaker, an audience, a space."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from perdure.cli.call import Call, audience_option, common
from perdure.cli.failing import FAILED
from perdure.cli.forget_view import SHOWN, preview_data, preview_lines, receipt_data, show_receipt
from perdure.cli.ids import memory_id
from perdure.cli.printing import Screen, tell
from perdure.cli.words import counted
from perdure.clock import DatabaseClock
from perdure.errors import NotFound

if TYPE_CHECKING:
    from perdure.ingest import Preview, Receipt
    from perdure.memory import Memory
    from perdure.space import Space
    from perdure.types import StoredMemory

QUIET_S: Final = 5.0
"""Seconds between two lines of progress."""
ONE_WAY: Final = "Name what to erase: IDs, or --source NAME, or --speaker NAME, or --everything."


@dataclass(frozen=True, slots=True)
class _What:
    """What is to go: one of these."""

    ids: tuple[int, ...]
    source: str | None
    speaker: str | None
    everything: bool
    everywhere: bool

    async def preview(self, space: Space) -> Preview:
        return await space.preview_forget(
            ids=self.ids,
            source=self.source,
            user_id=self.speaker,
            everything=self.everything,
            everywhere=self.everywhere,
        )

    async def erase(self, space: Space) -> Receipt:
        progress = _progress("rows" if self.everything and space.audience is None else "memories")
        if self.ids:
            return await space.forget(*self.ids)
        if self.source is not None:
            return await space.forget_source(self.source, everywhere=self.everywhere, progress=progress)
        if self.speaker is not None:
            return await space.forget_person(self.speaker, everywhere=self.everywhere, progress=progress)
        return await space.forget_everything(progress=progress)


@click.command(short_help="Erase memories for good.")
@click.argument("written_ids", metavar="ID...", nargs=-1)
@click.option("--source", metavar="NAME", help="All that came from here, such as import:NAME, user, conversation.")
@click.option(
    "--speaker", metavar="NAME", help="All that this person said, and all facts about them: their id or name."
)
@click.option("--everything", is_flag=True, help="The whole space; with --audience all that was told to that one.")
@click.option("--everywhere", is_flag=True, help="Of a source or a speaker, in all audiences.")
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@click.option("--yes", is_flag=True, help="Don't ask. Needed where there is nobody to ask.")
@audience_option
@common
def forget(
    call: Call,
    *,
    written_ids: tuple[str, ...],
    source: str | None,
    speaker: str | None,
    everything: bool,
    everywhere: bool,
    dry_run: bool,
    yes: bool,
    audience: str | None,
) -> int:
    """Erase memories with everything known of them: chunks, words, vectors, evidence, history. Can't be undone.

    Which ones: their IDs, or --source NAME, or --speaker NAME, or --everything. Conclusions that rest on them go, too.
    Single facts are erased by `perdure facts forget`.
    """
    what = _What(tuple(map(memory_id, written_ids)), source, speaker, everything, everywhere)
    _require_one_way(what, audience)
    if not yes and not dry_run and (call.as_json or not sys.stdin.isatty()):
        raise click.UsageError("forget erases for good, and there is nobody to ask. Add --yes, or --dry-run to look.")

    async def look(memory: Memory) -> tuple[Preview, list[StoredMemory]]:
        return await _look(call, call.space(memory, audience), what)

    async def erase(memory: Memory) -> Receipt:
        space = call.space(memory, audience)
        if what.ids:
            await _look(call, space, what)
        return await what.erase(space)

    if dry_run or not yes:
        preview, shown = call.run(look)
        if dry_run:
            lines = preview_lines(preview, shown) or ["Nothing would go."]
            call.answer({"space": call.space_name, **preview_data(preview)}, lambda screen: _show(screen, lines))
            return 0
        if not _confirmed(call, preview, shown, what, audience):
            tell("Nothing was erased.")
            return FAILED
    receipt = call.run(erase)
    if not receipt.removed and (source is not None or speaker is not None):
        _tell_nothing(what, call.run(look)[0])
    document = {"space": call.space_name, **receipt_data(receipt)}
    call.answer(document, lambda screen: show_receipt(screen, receipt, call.space_name))
    return 0


def _require_one_way(what: _What, audience: str | None) -> None:
    """Raises UsageError unless one thing is named."""
    if bool(what.ids) + (what.source is not None) + (what.speaker is not None) + what.everything != 1:
        raise click.UsageError(ONE_WAY)
    if what.everywhere and (audience is not None or what.ids or what.everything):
        raise click.UsageError("--everywhere goes with --source or --speaker, and without --audience.")


async def _look(call: Call, space: Space, what: _What) -> tuple[Preview, list[StoredMemory]]:
    """What would go, and the first of its memories. Raises NotFound with the hint that it may be in another space."""
    try:
        preview = await what.preview(space)
    except NotFound as error:
        elsewhere = f"This looked in the space {call.space_name!r}; --space NAME looks in another one."
        raise NotFound(error.message, hint=f"{error.hint} {elsewhere}" if error.hint else elsewhere) from error
    shown: list[StoredMemory] = []
    for each in preview.ids[:SHOWN]:
        try:
            shown.append(await space.get(each))
        except NotFound:
            continue  # of what was pruned only the id is shown
    return preview, shown


def _confirmed(call: Call, preview: Preview, shown: list[StoredMemory], what: _What, audience: str | None) -> bool:
    """Shows what would go and asks; False where there is nothing."""
    for line in preview_lines(preview, shown):
        tell(line)
    if not preview.removed and not preview.facts:
        tell("There is nothing to erase.")
        return False
    if what.everything and audience is None:
        return click.confirm(f"Erase the whole space {call.space_name} for good?", err=True)
    facts = f" and {counted(len(preview.facts), 'fact')}" if preview.facts else ""
    return click.confirm(f"Erase {counted(len(preview.ids), 'memory', 'memories')}{facts} for good?", err=True)


def _tell_nothing(what: _What, preview: Preview) -> None:
    """Why nothing went: what there is instead."""
    if preview.sources:
        tell(f"Nothing came from {what.source}. What there is came from: {', '.join(preview.sources)}.")
    elif preview.shared:
        tell(f"Somebody else bears the name {', '.join(preview.shared)}, too; name the id of the one who is meant.")


def _show(screen: Screen, lines: list[str]) -> None:
    for line in lines:
        screen.line(line)


def _progress(what: str) -> Callable[[int], None]:
    """Says how far it is, now and then."""
    clock = DatabaseClock()
    told = clock.monotonic()

    def reached(done: int) -> None:
        nonlocal told
        if clock.monotonic() - told >= QUIET_S:
            told = clock.monotonic()
            tell(f"{done:,} {what} erased so far ...")

    return reached
