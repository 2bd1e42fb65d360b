"""Mails and events on their way in: the part that files, mailboxes and calendars share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from perdure import door
from perdure.cli.call import Call
from perdure.cli.called import as_called
from perdure.cli.failing import FAILED, Interrupted, error_data
from perdure.cli.printing import Screen, one_line, tell
from perdure.cli.progress import QUIET_S
from perdure.cli.words import counted
from perdure.clock import DatabaseClock

if TYPE_CHECKING:
    from perdure.ingest import ItemReport
    from perdure.memory import Memory
    from perdure.types import ItemSource

SHOWN_REFUSALS: Final = 20


def import_source(call: Call, source: ItemSource, title: str, audience: str | None, *, advice: str = "") -> int:
    """Queues what is new in a source, and tells what came of it; the exit status.

    `advice` is told where a source holds nothing at its first import.
    """
    door.optional_key(audience, "audience")
    clock = DatabaseClock()
    told = clock.monotonic()

    def progress(report: ItemReport) -> None:
        nonlocal told
        if clock.monotonic() - told >= QUIET_S:
            told = clock.monotonic()
            tell(f"{title}: {counted(report.enqueued, 'item')} queued, {report.known:,} in already")

    first = False

    async def work(memory: Memory) -> ItemReport:
        nonlocal first
        space = call.space(memory, audience)
        first = await space.checkpoint(source.name) is None
        return await space.import_from(source, progress=progress)

    try:
        report = call.run(work)
    except KeyboardInterrupt:
        raise Interrupted from None
    finally:
        source.close()
    notes = [*source.notes]
    if not report.seen:
        notes += [advice] if first and advice else [] if first else ["Nothing is new since the last import of it."]
    document: dict[str, object] = {
        "source": source.name,
        "space": call.space_name,
        "enqueued": report.enqueued,
        "known": report.known,
        "empty": report.empty,
        "refused": len(report.refused),
        "refusals": [error_data(error) for error in report.refused],
        "notes": notes,
    }
    call.answer(document, lambda screen: _show(screen, call, title, report, notes))
    if report.enqueued:
        tell(as_called("A worker judges what was queued (`perdure worker`), or `perdure drain` does so now."))
    return FAILED if report.refused else 0


def _show(screen: Screen, call: Call, title: str, report: ItemReport, notes: list[str]) -> None:
    counts = {"in already": report.known, "without words": report.empty, "refused": len(report.refused)}
    more = "".join(f", {count:,} {what}" for what, count in counts.items() if count)
    screen.line(f"{title}: {counted(report.enqueued, 'item')} queued for space {call.space_name}{more}.")
    for note in notes:
        screen.line(f"Note: {note}")
    for error in report.refused[:SHOWN_REFUSALS]:
        screen.line((f"Refused: {one_line(error.message)}", "yellow"))
    if len(report.refused) > SHOWN_REFUSALS:
        screen.line((f"... and {len(report.refused) - SHOWN_REFUSALS:,} more refused; --json lists them.", "yellow"))
