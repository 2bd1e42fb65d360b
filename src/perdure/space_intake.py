"""Words in, besides the conversation of a turn: archives, files, mailboxes, calendars, a first text about the user."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from perdure import door, ingest
from perdure.ingest import BatchReport, ItemReport
from perdure.space_thinking import SpaceThinking
from perdure.store.checkpoints import read_checkpoint
from perdure.store.database import SpaceTransaction, Transaction
from perdure.text import require_text
from perdure.types import ItemSource, Message, Nothing, Outcome, SourceItem

MAX_RETRIAGED = 100_000


class SpaceIntake(SpaceThinking):
    """The verbs that hand a space more than one exchange at a time."""

    async def archive(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        speaker: str | None = None,
        conversation_id: str | None = None,
        operation_id: str | None = None,
        incognito: bool = False,
    ) -> Outcome:
        """Takes the messages that fall out of the model's window; they are safe once this returns.

        The worker distils lasting facts from them, if a subagent is configured; without one it keeps the text at a low
        salience.

        Args:
            messages: chat messages (`role`, `content`, and if known `speaker` and `at`), oldest first. Tool calls,
                tool results and what a recall had put into the prompt are left out.
            speaker: who the user is, for messages that don't say it.
            conversation_id: the archives of one conversation are worked off in order.
            operation_id: makes the call safe to repeat. incognito: keep nothing of it.

        Returns:
            `Pending` with the queue id, or `Nothing` with the reason.

        Raises:
            InvalidInput, Conflict. DatabaseUnavailable: not committed, as far as is known; repeat with the same
            operation_id before the messages are let go.
        """
        operation = operation_key(operation_id)
        unseen = door.require_flag(incognito, "incognito")
        archive = ingest.read_archive(
            door.require_list(messages, "messages"),
            speaker=door.optional_name(speaker, "speaker"),
            audience=self.audience,
            conversation_id=door.optional_name(conversation_id, "conversation_id"),
        )
        if isinstance(archive, Nothing):
            return archive
        if unseen:
            return Nothing("incognito")

        async def write(tx: SpaceTransaction) -> Outcome:
            return await ingest.enqueue_archive(
                tx, archive, operation, for_model=self._resources.models.can("distillation")
            )

        return await self._in(await self._memory.ensure_space(self.name), write)

    async def bootstrap(self, text: str, *, speaker: str | None = None, operation_id: str | None = None) -> Outcome:
        """Takes a text about the user to begin with: a profile, a letter, notes. The worker makes memories of it.

        Args:
            text: 1 byte to 256 KiB. speaker: whom it is about, in a space with many people.
            operation_id: makes the call safe to repeat.

        Raises:
            InvalidInput, Conflict, DatabaseUnavailable.
        """
        words = require_text(text)
        who = door.optional_name(speaker, "speaker")
        operation = operation_key(operation_id)

        async def write(tx: SpaceTransaction) -> Outcome:
            return await ingest.enqueue_bootstrap(
                tx,
                words,
                speaker=who,
                audience=self.audience,
                operation_id=operation,
                for_model=self._resources.models.can("bootstrap"),
            )

        return await self._in(await self._memory.ensure_space(self.name), write)

    async def import_messages(self, messages: Sequence[Message], *, source: str) -> BatchReport:
        """Stores a batch of messages that are not in yet, each exactly once; `source` names where they come from.

        Returns:
            What was stored; a message with a bad field is in `refused`, by field and line, and the rest goes on.

        Raises:
            InvalidInput: `source` is no name, or `messages` no list. EmbeddingUnavailable, EmbeddingFailed,
            FamilyMismatch, DatabaseUnavailable: nothing of this batch was stored; repeat it.
        """
        name = door.require_name(source, "source")
        batch, refused = ingest.read_messages(door.require_list(messages, "messages"))
        if not batch:
            return BatchReport(refused=refused)
        space = await self._memory.ensure_space(self.name)
        report = await ingest.import_batch(self._resources, space, name, batch, self.audience)
        return replace(report, refused=refused)

    async def import_items(
        self, items: Sequence[SourceItem], *, source: str, checkpoint: Mapping[str, object] | None = None
    ) -> ItemReport:
        """Queues mails and events that are not in yet, each exactly once, for the worker to judge.

        The marks of what is in, the queue and `checkpoint` (where the source goes on; see `checkpoint`) are committed
        together.

        Returns:
            What was queued; an item with a bad field is in `refused`, and the rest goes on.

        Raises:
            InvalidInput: `source` is no name, or `items` no list. DatabaseUnavailable: repeat the batch.
        """
        name = door.require_name(source, "source")
        place = None if checkpoint is None else door.require_metadata(checkpoint)
        batch, refused = ingest.read_items(door.require_list(items, "items"))
        space = await self._memory.ensure_space(self.name)
        report = await ingest.import_items(
            self._resources, space, name, batch, checkpoint=place, audience=self.audience
        )
        return replace(report, refused=(*report.refused, *refused))

    async def import_from(
        self, source: ItemSource, *, progress: Callable[[ItemReport], None] | None = None
    ) -> ItemReport:
        """Reads a mailbox or calendar from where the last import of it stopped, and queues what is new.

        Interrupt it whenever you like: the next call goes on after the last batch that is in.

        Args:
            source: one of `perdure.connect`. progress: gets what the import has come to, after each batch.

        Raises:
            SourceUnavailable: it can't be reached, or refused the login. DatabaseUnavailable: see `import_items`.
        """
        place = await self.checkpoint(source.name)
        now = await self._resources.database.across(_time)
        total = ItemReport()
        batches = source.batches(place, now=now)
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            report = await self.import_items(batch.items, source=source.name, checkpoint=batch.checkpoint)
            total += replace(report, refused=(*report.refused, *batch.refused))
            if progress is not None:
                progress(total)
        return total

    async def checkpoint(self, source: str) -> Mapping[str, object] | None:
        """Where reading this source goes on, as the last `import_items` left it; None to begin at the beginning."""
        name = door.require_name(source, "source")
        space = await self._memory.find_space(self.name)
        if space is None:
            return None

        async def read(tx: SpaceTransaction) -> Mapping[str, object] | None:
            return await read_checkpoint(tx, name, self.audience)

        return await self._in(space, read)

    async def retriage(self, *, limit: int = 1000) -> int:
        """Queues exchanges, mails and events stored verbatim, without a model, to be judged by the one there is now.

        What is worth keeping is replaced by the memory made of it; the rest sinks to the salience it deserves.

        Args:
            limit: exchanges at most, 1..100000.

        Returns:
            How many were queued. 0: none is left.

        Raises:
            ModelUnavailable: no language model is configured.
        """
        most = door.require_number(limit, "limit", 1, MAX_RETRIAGED)
        space = await self._memory.find_space(self.name)
        return 0 if space is None else await ingest.retriage(self._resources, space, limit=most)


async def _time(tx: Transaction) -> datetime:
    return tx.now


def operation_key(given: str | None) -> str:
    """The operation id as given, without a secret that stands in it, or a fresh one."""
    return str(uuid.uuid4()) if given is None else door.without_secrets(door.require_key(given, "operation_id"))
