"""What of a calendar is known already: which instances are new or changed since, and which have vanished."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Final

from perdure.connect.calendar_events import Window
from perdure.connect.calendar_items import digest, gone, item
from perdure.errors import InvalidInput
from perdure.types import SourceBatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from perdure.connect.calendar_events import Reading
    from perdure.types import SourceItem

MAX_KNOWN: Final = 20_000
"""The most instances of one source inside its window; later ones are left out, and said so."""

MAX_REFUSED: Final = 1000
"""The most parts of one reading that are reported as refused one by one."""

BATCH_ITEMS: Final = 200
REREAD_AFTER: Final = timedelta(hours=24)
"""An unchanged source is read again after this long all the same, because the window has moved on."""

_VERSION: Final = 1
_FAR_SECONDS: Final = 8_000_000_000


@dataclass(frozen=True, slots=True)
class CalendarOptions:
    """How calendars are read.

    `zone` is the zone of whole days and of times written without one. Instances count from `past` before now to `ahead`
    after it.
    """

    zone: tzinfo = UTC
    past: timedelta = timedelta(days=30)
    ahead: timedelta = timedelta(days=365)

    def window(self, now: datetime) -> Window:
        """The window around now. Raises InvalidInput for a now without a zone and for negative spans."""
        return Window.around(now, self.past, self.ahead)

    def __str__(self) -> str:
        return f"{self.zone} {self.past} {self.ahead}"


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one instance. A closed one was cancelled or has vanished; times are seconds since 1970."""

    digest: str
    begins: int
    ends: int
    revision: int
    live: bool

    @classmethod
    def read(cls, value: object) -> Entry | None:
        """The entry of a checkpoint, or None for what is none."""
        kinds = (str, int, int, int, bool)
        if isinstance(value, list | tuple) and len(value) == len(kinds):
            sound = all(map(isinstance, value, kinds)) and max(abs(value[1]), abs(value[2])) < _FAR_SECONDS
            return cls(*value) if sound else None
        return None

    def as_json(self) -> list[object]:
        return [self.digest, self.begins, self.ends, self.revision, self.live]


class Checkpoint:
    """Where a calendar source stands: what it knows, and what told it that nothing had changed (`state`)."""

    def __init__(self, stored: Mapping[str, object] | None, options: CalendarOptions) -> None:
        """A checkpoint of another version, or one that is damaged, is none."""
        sound = stored is not None and stored.get("version") == _VERSION
        values: Mapping[str, Any] = stored if sound and stored is not None else {}
        known = values.get("known")
        read = {str(series): Entry.read(value) for series, value in known.items()} if isinstance(known, dict) else {}
        self.known: dict[str, Entry] = {series: entry for series, entry in read.items() if entry is not None}
        self._options = str(options)
        state = values.get("state")
        self.state: dict[str, Any] = state if isinstance(state, dict) and values.get("options") == str(options) else {}
        self._read_at = values.get("read_at")

    def fresh(self, now: datetime) -> bool:
        """Whether `state` may be relied on: it belongs to these options, and a whole reading isn't long ago."""
        if not self.state or not isinstance(self._read_at, str):
            return False
        try:
            passed = now - datetime.fromisoformat(self._read_at)
        except (ValueError, TypeError):  # a damaged checkpoint: read it all again
            return False
        return timedelta(0) <= passed < REREAD_AFTER

    def json(self, state: Mapping[str, object], read_at: datetime | None) -> dict[str, object]:
        """As it is stored; `read_at` None while a reading isn't finished, so that the next one begins anew."""
        known = {series: entry.as_json() for series, entry in self.known.items()}
        when = None if read_at is None else read_at.isoformat()
        return {"version": _VERSION, "options": self._options, "read_at": when, "state": dict(state), "known": known}


def news(
    reading: Reading, checkpoint: Checkpoint, now: datetime, options: CalendarOptions, state: Mapping[str, object]
) -> Iterator[SourceBatch]:
    """What changed since the checkpoint: what has vanished first, then new and changed instances by their starts.

    At least one batch comes, so that the checkpoint of a reading without news is stored, too.
    """
    window = options.window(now)
    cut = reading.instances[MAX_KNOWN:]
    refused = list(reading.refused)
    if cut:
        limit = f"at most {MAX_KNOWN:,} instances are read, by their starts; narrow the window of time"
        refused.append(InvalidInput("calendar", f"{len(reading.instances):,} instances", limit))
    if (more := len(refused) - MAX_REFUSED) > 0:
        refused[MAX_REFUSED:] = [InvalidInput("calendar", f"{more:,} more events", "they can't be read either")]
    changes = list(_vanished(reading, checkpoint, window, options.zone) if reading.complete and not cut else ())
    changes += _changed(reading, checkpoint)
    _forget_passed(checkpoint, window, {series for series, _, _ in changes})
    if not reading.complete or cut:
        state = {}
    last = max(0, (len(changes) - 1) // BATCH_ITEMS) * BATCH_ITEMS
    for first in range(0, last + 1, BATCH_ITEMS):
        part = changes[first : first + BATCH_ITEMS]
        checkpoint.known.update((series, entry) for series, entry, _ in part)
        done = checkpoint.json(state, now) if first == last else checkpoint.json({}, None)
        yield SourceBatch(tuple(found for _, _, found in part), done, tuple(refused))
        refused = []


def _changed(reading: Reading, checkpoint: Checkpoint) -> Iterator[tuple[str, Entry, SourceItem]]:
    for instance in reading.instances[:MAX_KNOWN]:
        known = checkpoint.known.get(instance.series)
        fingerprint = digest(instance)
        if known is not None and known.digest == fingerprint:
            continue
        revision = 1 if known is None else known.revision + 1
        begins, ends = (int(moment.timestamp()) for moment in (instance.begins, instance.ends))
        entry = Entry(fingerprint, begins, ends, revision, not instance.cancelled)
        yield instance.series, entry, item(instance, revision)


def _vanished(
    reading: Reading, checkpoint: Checkpoint, window: Window, zone: tzinfo
) -> Iterator[tuple[str, Entry, SourceItem]]:
    present = {instance.series for instance in reading.instances}
    for series, known in checkpoint.known.items():
        unread = not reading.unread.isdisjoint((series, series.rpartition("/")[0]))
        begins, ends = (datetime.fromtimestamp(seconds, zone) for seconds in (known.begins, known.ends))
        if known.live and series not in present and not unread and window.holds(begins, ends):
            entry = Entry("", known.begins, known.ends, known.revision + 1, False)
            yield series, entry, gone(series, begins, ends, entry.revision)


def _forget_passed(checkpoint: Checkpoint, window: Window, changed: set[str]) -> None:
    """Drop what lies outside the window: it can't vanish from it any more."""
    for series, entry in list(checkpoint.known.items()):
        begins, ends = (datetime.fromtimestamp(seconds, UTC) for seconds in (entry.begins, entry.ends))
        if series not in changed and not window.holds(begins, ends):
            del checkpoint.known[series]
