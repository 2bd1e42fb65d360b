"""What time and quiet hours make of a space: upkeep, conclusions, who the user is, and taking conclusions back."""

from __future__ import annotations

import uuid
from datetime import datetime

from perdure import door
from perdure.cognition import CognitionReport, Consultation, Identity, consult, read_identity, require_run, think, undo
from perdure.observing import observed
from perdure.space_queue import MAX_DRAIN_S, SpaceQueue
from perdure.store.cognition import Layer, Run, list_runs
from perdure.store.database import SpaceTransaction
from perdure.store.traits import TraitRow, list_traits
from perdure.text import require_text
from perdure.upkeep import UpkeepReport, keep_up

MAX_RUNS = 1000


class SpaceThinking(SpaceQueue):
    """A handle on one space, with the verbs of upkeep and cognition."""

    async def upkeep(self, *, dry_run: bool = False, timeout_s: float = 600.0) -> UpkeepReport:
        """Takes off the decay that is due, prunes what has had its time, and clears what side tables need not keep.

        A worker does this by itself; safe at any time, from any number of processes, and to be cut off.

        Args:
            dry_run: change nothing; the report says what would go, and why.
            timeout_s: seconds after which no further step is begun.

        Returns:
            What was done or would be; memories of other audiences are counted, and not named.
        """
        only_look = door.require_flag(dry_run, "dry_run")
        end = self._end_of(timeout_s)
        space = await self._memory.find_space(self.name)
        if space is None:
            return UpkeepReport(dry_run=only_look)
        holder = f"upkeep-{uuid.uuid4()}"
        return await keep_up(self._resources, space, holder, audience=self.audience, dry_run=only_look, until=end)

    async def think(self, *, timeout_s: float = 600.0) -> CognitionReport:
        """Draws conclusions now: reflection, episodes, consolidation. Needs a thinker; a worker does it in quiet hours.

        Args:
            timeout_s: seconds after which no further question is asked.

        Returns:
            How many conclusions each layer wrote. With no model, or nothing new, none.

        Raises:
            DatabaseUnavailable: what was written until then stays.
        """
        return await self._think(timeout_s)

    async def consolidate(self, *, timeout_s: float = 600.0) -> CognitionReport:
        """Brings the identity card and the traits up to date, and does nothing else of what `think` does.

        The mission's consolidate_memory: of memories of salience 8 or more that are not on the card yet.

        Raises:
            DatabaseUnavailable: what was written until then stays.
        """
        return await self._think(timeout_s, only="consolidation")

    async def identity(self) -> Identity:
        """The identity card: who the user is, line by line, each with the memories it rests on; empty before the first.

        It is made of what the whole space may see.
        """
        space = await self._memory.find_space(self.name)
        if space is None:
            return Identity()

        async def read(tx: SpaceTransaction) -> Identity:
            return await read_identity(tx, space)

        return await self._in(space, read)

    async def traits(self, *, former: bool = False) -> tuple[TraitRow, ...]:
        """Traits of the user by category and key; with `former` those that no longer hold, too."""
        ended = door.require_flag(former, "former")
        space = await self._memory.find_space(self.name)
        if space is None:
            return ()

        async def read(tx: SpaceTransaction) -> tuple[TraitRow, ...]:
            return tuple(await list_traits(tx, former=ended))

        return await self._in(space, read)

    async def cognition_runs(self, *, limit: int = 20, before: int | None = None) -> tuple[Run, ...]:
        """What was concluded when, newest first: 1..1000 runs, each of one layer, with the ids it read and wrote.

        `before` is the id of the last one of the page before.

        A handle of an audience sees, and may undo, what was made of its own memories and of the whole space's; a handle
        of the whole space, which an operator holds, all of it.
        """
        most = door.require_number(limit, "limit", 1, MAX_RUNS)
        end = None if before is None else door.require_id(before, "before")
        space = await self._memory.find_space(self.name)
        if space is None:
            return ()

        async def read(tx: SpaceTransaction) -> tuple[Run, ...]:
            return tuple(await list_runs(tx, most, self.audience, before=end))

        return await self._in(space, read)

    async def cognition_run(self, run_id: int) -> Run:
        """One run. Raises NotFound."""
        wanted = door.require_id(run_id)
        space = await self._require_space()

        async def read(tx: SpaceTransaction) -> Run:
            return await require_run(tx, space, wanted, self.audience)

        return await self._in(space, read)

    async def undo_run(self, run_id: int) -> Run:
        """Takes back what one run concluded; what it had put something in the place of comes back.

        Raises:
            NotFound: there is no such run, or it wrote nothing.
            Conflict: it was undone before, or a later run has built on it.
        """
        wanted = door.require_id(run_id)
        return await undo(self._resources, await self._require_space(), wanted, self.audience)

    @observed
    async def consult(self, question: str) -> Consultation:
        """Puts a hard question to the thinker, thinking on: it is shown three memories, and may search twice for more.

        The mission's consult_deep_thinker. Takes up to minutes; nothing is remembered of it.

        Raises:
            InvalidInput: no question. ModelUnavailable: there is no thinker, or it is out of reach. ModelFailed.
        """
        asked = require_text(question, "question")
        space = await self._require_space()

        async def time(tx: SpaceTransaction) -> datetime:
            return tx.now

        now = await self._in(space, time)
        return await consult(self._resources, space, asked, audience=self.audience, now=now)

    async def _think(self, timeout_s: float, only: Layer | None = None) -> CognitionReport:
        end = self._end_of(timeout_s)
        space = await self._memory.find_space(self.name)
        if space is None:
            return CognitionReport()
        holder = f"think-{uuid.uuid4()}"
        return await think(self._resources, space, holder, trigger="asked", only=only, until=end)

    def _end_of(self, timeout_s: float) -> float:
        seconds = door.require_seconds(timeout_s, "timeout_s", MAX_DRAIN_S)
        return self._resources.database.clock.monotonic() + seconds
