"""What one caller can do with facts of servers and people: the tools of a model, and the verbs of a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perdure import door, ingest, ltm
from perdure.errors import InvalidInput
from perdure.fact_types import (
    EVERY_LINEAGE,
    FIRST_LINEAGE,
    Fact,
    FactChange,
    FactId,
    FactKind,
    FactOutcome,
    FactScope,
    ListedFact,
    Persona,
    TurnState,
)
from perdure.ltm import FactEdit, Remembered
from perdure.rules.fact_ids import parse
from perdure.rules.fact_tags import checked_tags
from perdure.space_intake import operation_key
from perdure.space_people import SpacePeople
from perdure.store.fact_writing import NewFact
from perdure.store.spaces import SpaceRow
from perdure.text import require_text

MAX_CHANNELS = 100
MAX_LISTED = 10_000
MAX_FACT_BYTES = 16 * 1024


class SpaceFacts(SpacePeople):
    """A handle on one space, with facts. They are told apart by server, person and persona, and not by audience."""

    # -- what a model does -------------------------------------------------------------------------------------------

    async def create_long_term_memory(
        self, state: TurnState, arguments: Mapping[str, object], *, winners: Iterable[FactId] = ()
    ) -> FactOutcome:
        """The tool of this name: an assistant teaches itself one fact. Nothing is written unless it succeeds.

        Args:
            state: the turn in which the model called it.
            arguments: as the model wrote them: memory_content, memory_scope (server_wide, target_user), target_user.
            winners: facts that were recalled in this turn, which never make room for the new one.

        Returns:
            A status, and a sentence that tells the model what to do. `replaced` names the dormant fact that made room;
            `restore_fact(replaced, instead_of=id)` undoes that.

        Raises:
            InvalidInput: the state is none; what is wrong with the arguments is an outcome.
        """
        space = await self._memory.find_space(self.name)
        kept = tuple(winners)
        return await ltm.create_long_term_memory(
            self._resources, space, state, arguments, make_space=self._make_space, winners=kept
        )

    async def update_long_term_memory(self, state: TurnState, arguments: Mapping[str, object]) -> FactOutcome:
        """The tool of this name: other words for a fact, or none, which deletes it.

        Args:
            arguments: as the model wrote them: memory_id (S24, P24 or 24), memory_content, target_user.

        Raises:
            InvalidInput: the state is none; what is wrong with the arguments is an outcome.
        """
        space = await self._memory.find_space(self.name)
        return await ltm.update_long_term_memory(self._resources, space, state, arguments)

    # -- what a person does ------------------------------------------------------------------------------------------

    async def remember(
        self,
        fact: str,
        *,
        about: str = ltm.USER,
        persona: Persona | None = None,
        tags: Iterable[str] | str = (),
        channels: Iterable[str] | str = (),
        pinned: bool = False,
        operation_id: str | None = None,
    ) -> FactOutcome:
        """Keeps a fact about the user, a server or a person; it stands in every prompt until it is dormant.

        Args:
            fact: 1..1000 characters; `{user}` and `{bot}` stand for the names.
            about: "user", "server:<id>" or "person:<id>".
            persona: who is to know it; None is every persona.
            tags: at most 5 keywords of 32 characters, one of which has to occur; none: always.
            channels: ids of the channels it is used in; none: everywhere.
            pinned: never dormant. operation_id: makes the call safe to repeat.

        Returns:
            Status saved, or already_known with the id of the fact that says the same.

        Raises:
            InvalidInput, Conflict, DatabaseUnavailable. ScopeFull: there is no room, and nothing is pushed out.
            PrivacyRestricted: the person's privacy level is full.
        """
        kind, owner = ltm.read_about(about)
        scope = FactScope(kind, owner, lineage_of(persona))
        new = NewFact(
            self._content(fact),
            tags=_tags(tags),
            channel_ids=read_channels(channels),
            taught_by=ltm.USER,
            pinned=door.require_flag(pinned, "pinned"),
        )
        operation = None if operation_id is None else operation_key(operation_id)
        fingerprint = ingest.operation_fingerprint(
            "remember", kind, owner, scope.lineage, new.content, new.tags, new.channel_ids, new.pinned
        )
        space = await self._memory.find_space(self.name)
        asked = Remembered(scope, new, operation, fingerprint)
        return await ltm.remember_fact(self._resources, space, self._make_space, asked)

    async def facts(
        self, *, about: str | None = None, persona: Persona | None = None, archived: bool = False, limit: int = 1000
    ) -> tuple[ListedFact, ...]:
        """Facts and their stages, newest first.

        Args:
            about: "user", "server:<id>" or "person:<id>"; None is everything in the space.
            persona: what this one knows, what every persona knows included; None is what any of them knows.
            archived: also what was replaced or deleted and can be restored, after the others.
            limit: of each at most, 1..10000.
        """
        kinds, owner = (tuple(FactKind), None)
        if about is not None:
            kind, owner = ltm.read_about(about)
            kinds = (kind,)
        lineages = None if persona is None else (lineage_of(persona), EVERY_LINEAGE)
        gone = door.require_flag(archived, "archived")
        most = door.require_number(limit, "limit", 1, MAX_LISTED)
        space = await self._memory.find_space(self.name)
        if space is None:
            return ()
        return await ltm.list_known(
            self._resources, space, kinds=kinds, owner=owner, lineages=lineages, archived=gone, limit=most
        )

    async def fact(self, fact_id: FactId | str) -> ListedFact:
        """One fact and its stage, an archived one too. Raises NotFound."""
        wanted = _id(fact_id)
        return await ltm.get_fact(self._resources, await self._require_space(), wanted)

    async def fact_history(self, fact_id: FactId | str) -> tuple[FactChange, ...]:
        """What a fact was before each change, oldest first. Raises NotFound."""
        wanted = _id(fact_id)
        return await ltm.fact_changes(self._resources, await self._require_space(), wanted)

    async def edit_fact(
        self,
        fact_id: FactId | str,
        *,
        content: str | None = None,
        tags: Iterable[str] | str | None = None,
        channels: Iterable[str] | str | None = None,
    ) -> Fact:
        """Changes a fact; what isn't given stays, what it was is kept in its history. Other words make it active.

        Raises:
            NotFound, InvalidInput, PrivacyRestricted. Conflict: another fact there says the same.
        """
        wanted = _id(fact_id)
        edit = FactEdit(
            None if content is None else self._content(content),
            None if tags is None else _tags(tags),
            None if channels is None else read_channels(channels),
        )
        return await ltm.edit_fact(self._resources, await self._require_space(), wanted, edit)

    async def pin_fact(self, fact_id: FactId | str, *, pinned: bool = True) -> Fact:
        """A pinned fact is never dormant, never makes room, and no model changes it. Raises NotFound."""
        wanted = _id(fact_id)
        edit = FactEdit(pinned=door.require_flag(pinned, "pinned"))
        action = "pin" if edit.pinned else "unpin"
        return await ltm.edit_fact(self._resources, await self._require_space(), wanted, edit, action=action)

    async def restore_fact(
        self, fact_id: FactId | str, *, revision: int | None = None, instead_of: FactId | str | None = None
    ) -> Fact:
        """Brings back a fact that was replaced or deleted, or what a live one said at a former revision.

        Args:
            revision: of a live fact, see `fact_history`.
            instead_of: a fact of the same server or person and persona that is archived for it, where there is no room:
                that which had replaced it, say.

        Raises:
            NotFound, PrivacyRestricted. ScopeFull: there is no room. Conflict: another fact says the same by now, or a
            live one is to be restored without a revision.
        """
        wanted = _id(fact_id)
        other = None if instead_of is None else _id(instead_of, "instead_of")
        if revision is None:
            return await ltm.restore_archived(self._resources, await self._require_space(), wanted, instead_of=other)
        if other is not None:
            raise InvalidInput("instead_of", instead_of, "what goes back to a revision needs no room")
        number = door.require_number(revision, "revision", 1, door.MAX_ID)
        return await ltm.undo_to(self._resources, await self._require_space(), wanted, number)

    async def forget_fact(self, *fact_ids: FactId | str) -> tuple[FactId, ...]:
        """Erases facts with vectors, history and what is archived of them. Cannot be undone.

        Raises:
            NotFound: one of them isn't there; then none is erased.
        """
        if not fact_ids:
            raise InvalidInput("ids", fact_ids, "at least one fact has to be named")
        wanted = [_id(fact_id) for fact_id in fact_ids]
        return await ltm.forget_facts(self._resources, await self._require_space(), wanted)

    async def forget_all_facts(self) -> tuple[FactId, ...]:
        """Erases all facts of the space, and all that is set about people, servers and personas. Irreversible.

        Returns:
            The facts that were erased.
        """
        space = await self._memory.find_space(self.name)
        return () if space is None else await ltm.forget_all(self._resources, space)

    async def _make_space(self) -> SpaceRow:
        return await self._memory.ensure_space(self.name)

    def _content(self, fact: str) -> str:
        words = require_text(fact, "fact", MAX_FACT_BYTES)
        return ltm.require_content(words, self._resources.settings.max_memory_length)


def lineage_of(persona: Persona | None) -> int:
    """The lineage of a persona as something may be kept for it; None is every persona."""
    if persona is None:
        return EVERY_LINEAGE
    lineage = ltm.require_persona(persona).lineage
    if EVERY_LINEAGE < lineage < FIRST_LINEAGE:
        raise InvalidInput("persona.lineage", lineage, f"lineages of personas begin at {FIRST_LINEAGE}")
    return lineage


def _id(fact_id: object, field: str = "id") -> FactId:
    if isinstance(fact_id, FactId):
        return fact_id
    if not isinstance(fact_id, str):
        raise InvalidInput(field, fact_id, "it has to be the id of a fact, such as S24 or P24")
    try:
        return parse(fact_id)
    except ValueError as error:
        raise InvalidInput(field, fact_id, str(error)) from None


def _tags(tags: Iterable[str] | str) -> tuple[str, ...]:
    labels = ingest.masked_labels(door.require_labels(tags, "tags"))
    try:
        return checked_tags(labels)
    except ValueError as error:
        raise InvalidInput("tags", tags, str(error)) from None


def read_channels(channels: Iterable[str] | str) -> tuple[str, ...]:
    """Ids of channels, each once; a bare text is one."""
    given = [channels] if isinstance(channels, str) else channels
    if not isinstance(given, Iterable):
        raise InvalidInput("channels", channels, "it has to be a list of ids")
    ids = tuple(dict.fromkeys(door.require_key(channel, "channels") for channel in given))
    door.require_number(len(ids), "channels", 0, MAX_CHANNELS)
    return ids
