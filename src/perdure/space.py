"""What one caller can do in one space: the turns of a conversation, and what is saved and found on request.

A space is made on its first write and never by reading. Every method checks its arguments at the door: bad input is an
`InvalidInput` that names field, value and limit, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Unpack

from perdure import door, ingest, ltm, recall
from perdure.assembling import start_after_reply
from perdure.context import Context
from perdure.door import FilterArguments
from perdure.errors import InvalidInput
from perdure.ingest import Draft, ToolResult
from perdure.observing import observed
from perdure.space_context import MAX_HISTORY, MAX_RECALLED, SpaceContext
from perdure.space_documents import SpaceDocuments
from perdure.space_facts import SpaceFacts
from perdure.space_forgetting import SpaceForgetting
from perdure.space_intake import operation_key
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.memories import EXCERPT_CHARS
from perdure.store.operations import find_operation
from perdure.store.spaces import SpaceRow
from perdure.store.tasks import drop_task, set_task
from perdure.text import require_text
from perdure.types import (
    Evidence,
    Feedback,
    MemoryType,
    Nothing,
    Outcome,
    Recall,
    SearchResult,
    TaskRecall,
    Trust,
    WhyNot,
)

MAX_FOUND = 100
MAX_SEARCH_DEADLINE_S = 300


class Space(SpaceContext, SpaceFacts, SpaceDocuments, SpaceForgetting):
    """A handle on one space, bound to an audience. Cheap to make; holds no connection.

    `audience` is who may see what is said here (a private or a group conversation); None is the whole space. Every
    retrieval sees memories of the whole space and of its own audience, and nothing else.
    """

    # -- one turn ----------------------------------------------------------------------------------------------------

    @observed
    async def recall(
        self,
        message: str,
        *,
        history: Sequence[Mapping[str, object]] | None = (),
        limit: int | None = None,
        deadline_s: float | None = None,
        **filters: Unpack[FilterArguments],
    ) -> Recall:
        """The few memories that this turn needs, within the deadline, or none. Writes nothing.

        Args:
            message: what the user just said.
            history: the conversation so far as chat messages (`role`, `content`), oldest first.
            limit: memories at most, 1..20 (setting `recall_limit`, mission: 3).
            deadline_s: seconds for everything, above 0 up to 60 (setting `recall_deadline_s`, mission: 2).
            filters: what may come, also of exchanges that wait; see `door.FilterArguments`.

        Returns:
            A `Recall`; what failed or was late is named in `degraded`, and the reply can go on without it.

        Raises:
            InvalidInput: the message is empty or too long, or an argument is out of its range.
        """
        text = require_text(message, "message")
        most, seconds = self._limits(limit, deadline_s)
        earlier = recall.read_history(door.require_list(history, "history")[-MAX_HISTORY:])
        filters["tags"] = door.require_filters(**filters).tags

        async def find_turn() -> tuple[SpaceRow, recall.Turn] | None:
            space = await self._memory.find_space(self.name)
            if space is None:
                return None
            wanted = door.require_filters(space.time_zone, **filters)
            return space, recall.Turn(text, earlier, self.audience, most, wanted)

        return await recall.prefetch(self._resources, find_turn, text, deadline_s=seconds)

    @observed
    async def capture(
        self,
        user: str | None = None,
        assistant: str | None = None,
        tools: Sequence[ToolResult | Mapping[str, object]] | None = (),
        *,
        speaker: str | None = None,
        conversation_id: str | None = None,
        occurred_at: datetime | str | None = None,
        operation_id: str | None = None,
        recall: Recall | Context | Iterable[int] | None = None,
        incognito: bool = False,
    ) -> Outcome:
        """Commits one exchange to the queue and returns at once; the worker turns it into memories.

        Args:
            user: what the user said. assistant: the reply. tools: results of tools in this exchange.
            speaker: who the user is, in a space with many people; whom the context's state names, if it isn't given.
            conversation_id: exchanges of one conversation are drained in order.
            occurred_at: when it was said; now if missing.
            operation_id: makes the call safe to repeat: a replay changes nothing and returns the first outcome.
            recall: what `recall` or `context` returned for this turn, or the ids of the memories that were shown.
            incognito: keep nothing of this exchange.

        Returns:
            `Pending` with the queue id, or `Nothing` with the reason.

        Raises:
            InvalidInput: a text is too long or no text. Conflict: the operation id was used for something else.
            DatabaseUnavailable: not committed, as far as is known; repeat with the same operation_id.
        """
        prompt = recall if isinstance(recall, Context) else None
        who = door.optional_name(speaker if speaker is not None else _spoke(prompt), "speaker")
        where = door.optional_name(conversation_id, "conversation_id")
        when = door.optional_time(occurred_at, "occurred_at")
        operation = operation_key(operation_id)
        exchange = ingest.read_exchange(
            user=user,
            assistant=assistant,
            tools=tools,
            speaker=who,
            audience=self.audience,
            conversation_id=where,
            occurred_at=when,
            recalled_ids=_recalled(recall),
        )
        if door.require_flag(incognito, "incognito"):
            return exchange if isinstance(exchange, Nothing) else Nothing("incognito")
        if isinstance(exchange, Nothing):
            await self._follow_up(prompt)
            return exchange

        async def write(tx: SpaceTransaction) -> tuple[Outcome, bool]:
            replayed = prompt is not None and await find_operation(tx, operation) is not None
            for_model = self._resources.models.can("triage")
            return await ingest.enqueue_exchange(tx, exchange, operation, for_model=for_model), replayed

        outcome, replayed = await self._in(await self._memory.ensure_space(self.name), write)
        await self._follow_up(prompt, replayed=replayed)
        return outcome

    async def _follow_up(self, prompt: Context | None, *, replayed: bool = False) -> None:
        """Begins what follows a reply; waits for none of it."""
        space = None if prompt is None else await self._memory.find_space(self.name)
        if prompt is not None and space is not None:
            start_after_reply(self._resources, space, prompt, replayed=replayed)

    @observed
    async def feedback(
        self,
        retrieved: Recall | SearchResult | Iterable[int],
        *,
        useful: Mapping[int, bool] | None = None,
    ) -> Feedback:
        """Counts memories as retrieved once more, and learns which of them were of use.

        For what the host took out by itself, as when a model called a tool that searches. A turn whose recall is given
        to `capture` is counted by that, and a `recall` or `search` that nothing comes of counts nowhere.

        Args:
            retrieved: what `recall` or `search` returned, or ids; at most 100 memories.
            useful: true or false of those that somebody can judge; the others keep their usefulness.

        Returns:
            The memories that were counted, with all chunks of their texts, and those that are not there (any more) for
            this audience, or superseded.

        Raises:
            InvalidInput. DatabaseUnavailable: not counted, as far as is known; a repeated call counts anew.
        """
        verdicts = recall.read_feedback(retrieved, useful)
        space = await self._memory.find_space(self.name)
        return await recall.give_feedback(self._resources, space, verdicts, self.audience)

    async def set_task(self, task: str | None) -> None:
        """Says what is being worked on: the worker recalls for it at each heartbeat. None: nothing any more.

        There is one task for each audience of a space; the same task said again goes on.

        Raises:
            InvalidInput: the text is empty or too long.
        """

        async def drop(tx: SpaceTransaction) -> None:
            await drop_task(tx, self.audience)
            await note(tx, "set_task", touched=1)

        if task is None:
            space = await self._memory.find_space(self.name)
            if space is not None:
                await self._in(space, drop)
            return
        words = ingest.own_words(require_text(task, "task"))

        async def write(tx: SpaceTransaction) -> None:
            await set_task(tx, self.audience, words)
            await note(tx, "set_task", touched=1)

        await self._in(await self._memory.ensure_space(self.name), write)

    async def task_recall(self) -> TaskRecall | None:
        """What the worker last recalled for the task at hand, at most 3 memories; None where no task is set."""
        space = await self._memory.find_space(self.name)
        return None if space is None else await recall.task_recall(self._resources, space, self.audience)

    # -- on request --------------------------------------------------------------------------------------------------

    @observed
    async def save(
        self,
        text: str,
        *,
        salience: float = 5,
        memory_type: MemoryType | str = MemoryType.GENERAL,
        tags: Iterable[str] | str = (),
        entities: Iterable[str] | str = (),
        speaker: str | None = None,
        conversation_id: str | None = None,
        source_date: datetime | str | None = None,
        metadata: Mapping[str, object] | None = None,
        pinned: bool = False,
        operation_id: str | None = None,
    ) -> Outcome:
        """Stores a text as asked, without judging it; retrievable as soon as this returns.

        Args:
            text: 1 byte to 256 KiB; more than 1200 bytes become sibling memories.
            salience: 1..10; 11..100 is read as a percentage.
            memory_type: one of `MemoryType`. tags, entities: at most 32 each, a bare string is one.
            speaker: who said it. source_date: when it happened; now if missing.
            metadata: yours, JSON, filterable by equality. pinned: never decays.
            operation_id: makes the call safe to repeat.

        Returns:
            `Stored` with one id per chunk, or `Merged` when exactly this text was there.

        Raises:
            InvalidInput, Conflict, EmbeddingUnavailable, EmbeddingFailed, FamilyMismatch, DatabaseUnavailable.
        """
        words = ingest.own_words(require_text(text))
        kind = door.require_own_type(memory_type)
        weight = door.require_salience(salience)
        labels = ingest.masked_labels(door.require_labels(tags, "tags"))
        names = ingest.masked_labels(door.require_labels(entities, "entities"))
        extra = ingest.masked_metadata(door.require_metadata(metadata))
        when = door.optional_time(source_date, "source_date")
        who = door.optional_name(speaker, "speaker")
        where = door.optional_name(conversation_id, "conversation_id")
        keep = door.require_flag(pinned, "pinned")
        operation = operation_key(operation_id)
        asked = ingest.operation_fingerprint(
            "save", words, kind, weight, labels, names, extra, when, who, self.audience, where, keep
        )
        space = await self._memory.find_space(self.name)
        first, now = await ingest.replayed(self._resources, space, operation, asked)
        if first is not None:
            return first
        draft = Draft(
            text=words,
            source="user",
            trust=Trust.USER,
            source_date=when or now,
            memory_type=kind,
            salience=weight,
            tags=labels,
            entities=names,
            speaker=who,
            audience=self.audience,
            conversation_id=where,
            metadata=extra,
            pinned=keep,
            evidence=(Evidence("save", operation, who, when or now, words[:EXCERPT_CHARS]),),
        )

        async def make_space() -> SpaceRow:
            return await self._memory.ensure_space(self.name)

        return await ingest.save_draft(self._resources, make_space, draft, operation, asked)

    @observed
    async def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        profile: str | None = None,
        exact: bool = False,
        plain: bool = False,
        as_of: datetime | str | None = None,
        asked_at: datetime | str | None = None,
        deadline_s: float | None = None,
        **filters: Unpack[FilterArguments],
    ) -> SearchResult:
        """The best memories for a query, by meaning and by words, best first. Writes nothing about memories.

        With a small model (subagent) the query is also asked in up to 3 other ways, and what was found is put in order
        by it; docs/recall.md tells how.

        Args:
            query: what to look for.
            limit: 1..100 (setting `search_limit`, mission: 10).
            filters: see `door.FilterArguments`.
            profile: `default` or `seed`. exact: scan every memory instead of using indexes (the oracle).
            plain: ask no language model.
            as_of: answer with what was live at this time; a bare date is the end of that day in the space's zone.
            asked_at: what "yesterday" and "last month" in the query are counted from; as_of if given, else now.
            deadline_s: seconds for everything, above 0 up to 300 (setting `search_deadline_s`).

        Returns:
            Hits with the contribution of each term of the formula, and the arms that brought them; `degraded` names
            what had to be done without (rewrite, embedding, rerank, history).

        Raises:
            InvalidInput, FamilyMismatch. DatabaseUnavailable: it did not answer in time.
        """
        text = require_text(query, "query")
        most = (
            self._resources.settings.search_limit
            if limit is None
            else door.require_number(limit, "limit", 1, MAX_FOUND)
        )
        ranking = recall.require_profile(profile)
        every = door.require_flag(exact, "exact")
        alone = door.require_flag(plain, "plain")
        seconds = (
            self._resources.settings.search_deadline_s
            if deadline_s is None
            else door.require_seconds(deadline_s, "deadline_s", MAX_SEARCH_DEADLINE_S)
        )
        space = await self._memory.find_space(self.name)
        zone = space.time_zone if space else "UTC"
        wanted = door.require_filters(zone, **filters)
        then = door.optional_as_of(as_of, zone)
        asked = door.optional_time(asked_at, "asked_at", zone)
        if space is None:
            return SearchResult(text, (), (), {}, "exact", (text,), as_of=then)
        sought = recall.Sought(
            self.audience, wanted, most, ranking, exact=every, plain=alone, as_of=then, asked_at=asked
        )
        return await recall.search(self._resources, space, text, sought, deadline_s=seconds)

    async def why_not(
        self,
        memory_id: int,
        message: str,
        *,
        history: Sequence[Mapping[str, object]] | None = (),
        limit: int | None = None,
        searched: bool = False,
        **filters: Unpack[FilterArguments],
    ) -> WhyNot:
        """Where a memory fell out of `recall(message, history=history, **filters)`, or of a search for it.

        The recall or search is carried out as always. Writes nothing about memories.

        Args:
            memory_id: the memory that was expected. message: what was said, or searched for.
            history, limit, filters: as for `recall`; `limit` as for `search` where that is meant.
            searched: a search is meant, not a recall.

        Returns:
            A `WhyNot`: its `fate`, a sentence, its place by the formula and in each arm, both numbers of the gate, and
            what came before it.

        Raises:
            InvalidInput, FamilyMismatch, EmbeddingUnavailable, EmbeddingFailed, DatabaseUnavailable.
        """
        wanted = door.require_id(memory_id)
        text = require_text(message, "message")
        a_search = door.require_flag(searched, "searched")
        settings = self._resources.settings
        most = settings.search_limit if a_search else settings.recall_limit
        if limit is not None:
            most = door.require_number(limit, "limit", 1, MAX_FOUND if a_search else MAX_RECALLED)
        earlier = recall.read_history(door.require_list(history, "history")[-MAX_HISTORY:])
        space = await self._memory.find_space(self.name)
        chosen = door.require_filters(space.time_zone if space else "UTC", **filters)
        if space is None:
            return WhyNot(wanted, text, "not_there", f"There is no space {self.name!r}.", limit=most)
        asked = recall.Asked(wanted, recall.Turn(text, earlier, self.audience, most, chosen), searched=a_search)
        return await recall.why_not(self._resources, space, asked)


def _spoke(prompt: Context | None) -> str | None:
    """The name of who spoke in a turn, if its host said so."""
    spoken = None if prompt is None or prompt.facts is None else prompt.facts.turn.state.speaker
    return None if spoken is None or spoken.user_id == ltm.USER else spoken.name


def _recalled(given: object) -> tuple[int, ...]:
    if given is None:
        return ()
    if isinstance(given, Context):
        return given.recall.ids if given.real else ()
    if isinstance(given, Recall):
        return given.ids
    if isinstance(given, Mapping | str | bytes) or not isinstance(given, Iterable):
        limit = "it has to be what `recall` or `context` returned for this turn, or the ids of those memories"
        raise InvalidInput("recall", given, limit)
    return tuple(door.require_id(memory_id, "recall") for memory_id in given)
