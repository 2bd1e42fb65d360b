"""`create_long_term_memory`: what a model wants to keep is checked step by step, and stored where there is room."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Final, NoReturn

from perdure.errors import DatabaseUnavailable
from perdure.fact_types import (
    FIRST_LINEAGE,
    Fact,
    FactId,
    FactKind,
    FactOutcome,
    FactScope,
    FactStatus,
    Participant,
    Persona,
    TurnState,
)
from perdure.ltm.arguments import TARGET_USER, CreateArguments, read_create
from perdure.ltm.content import as_kept, is_blank, require_length, require_wish_to_be_remembered
from perdure.ltm.privacy import still_agrees, wish_of
from perdure.ltm.publishing import publish
from perdure.ltm.refusing import Refused, refuse
from perdure.ltm.room import make_room
from perdure.ltm.state import evidence_of, require_state, taught_for
from perdure.ltm.targets import resolve
from perdure.resources import Resources
from perdure.store.audit import note
from perdure.store.database import SpaceTransaction
from perdure.store.fact_archive import name_successor
from perdure.store.fact_scopes import lock_scope
from perdure.store.fact_writing import NewFact, insert_fact
from perdure.store.facts import find_same
from perdure.store.people import self_teaching_enabled
from perdure.store.spaces import SpaceRow

UNAVAILABLE: Final = FactOutcome(
    FactStatus.UNAVAILABLE,
    "The memory could not be reached, so nothing may have been saved. Go on without it, and don't say that it was.",
)


@dataclass(frozen=True, slots=True)
class _Taught:
    """What has passed all checks but those that need the scope's lock."""

    scope: FactScope
    new: NewFact
    by: str


async def create_long_term_memory(
    resources: Resources,
    space: SpaceRow | None,
    state: TurnState,
    arguments: object,
    *,
    make_space: Callable[[], Awaitable[SpaceRow]] | None = None,
    winners: Collection[FactId] = (),
) -> FactOutcome:
    """Stores one fact that an assistant teaches itself, or says why not; nothing is written unless it is stored.

    Args:
        space: where; None where it isn't there yet, and then `make_space` makes it once all checks are passed.
        arguments: `memory_content`, `memory_scope` (server_wide, target_user), `target_user`; others are ignored.
        winners: facts that won in this turn, which never make room for another.

    Raises:
        InvalidInput: the state is none (the host's mistake).
    """
    turn = require_state(state)
    try:
        taught = await _checked(resources, space, turn, read_create(arguments))
        if space is None:
            assert make_space is not None, "a space that isn't there needs somebody who makes it"
            space = await make_space()
        fact, replaced = await _store(resources, space, taught, winners)
    except Refused as refused:
        return refused.outcome
    except DatabaseUnavailable:
        return UNAVAILABLE
    await publish(resources, space, fact, "created", taught.by, replaced=replaced)
    told = f" It took the place of {replaced}, which had long not been needed." if replaced else ""
    return FactOutcome(FactStatus.SAVED, f"Saved as {fact.id}.{told}", fact.id, fact.scope, fact.content, replaced)


async def _checked(resources: Resources, space: SpaceRow | None, turn: TurnState, given: CreateArguments) -> _Taught:
    """Every check in the mission's order, of which the first that fails ends the call."""
    await require_self_teaching(resources, space, turn)
    persona, speaker = require_complete(turn)
    if given.scope != TARGET_USER:
        _require_server(turn)
    if is_blank(given.content):
        refuse(FactStatus.BLANK_CONTENT, "Nothing was saved: memory_content is blank. Say what to remember.")
    require_wish_to_be_remembered(given.content, turn.message)
    target = _target(given, turn)
    server_id = "" if target else _require_server(turn)
    content = as_kept(given.content)
    if is_blank(content):
        refuse(
            FactStatus.BLANK_CONTENT,
            "Nothing was saved: memory_content holds nothing but memories that were shown to you. They are known.",
        )
    require_length(content, resources.settings.max_memory_length)
    if persona.lineage < FIRST_LINEAGE:
        refuse(
            FactStatus.RESERVED_LINEAGE,
            "Nothing was saved: what every persona knows is written by people alone. Go on without saving.",
        )
    if target is not None and not (await wish_of(resources, space, target.user_id)).self_taught:
        _restricted()
    scope = (
        FactScope(FactKind.PERSONAL, target.user_id, persona.lineage)
        if target
        else FactScope(FactKind.SERVER, server_id, persona.lineage)
    )
    return _Taught(scope, NewFact(content, taught_by=speaker.user_id, evidence=evidence_of(turn)), taught_for(turn))


def _target(given: CreateArguments, turn: TurnState) -> Participant | None:
    """Whom it is about; None is everybody in the server, which also the assistant's own name means."""
    if given.scope != TARGET_USER:
        return None
    if given.target_user is None:
        refuse(
            FactStatus.TARGET_MISSING,
            "Nothing was saved: target_user is missing. Give the name of the person this is about, "
            "or use memory_scope 'server_wide'.",
        )
    return resolve(given.target_user, turn)


async def _store(
    resources: Resources, space: SpaceRow, taught: _Taught, winners: Collection[FactId]
) -> tuple[Fact, FactId | None]:
    """Stores it, unless it is known; and the fact that made room for it, if one had to."""
    scope, new = taught.scope, taught.new

    async def write(tx: SpaceTransaction) -> tuple[Fact, FactId | None]:
        await lock_scope(tx, scope, make=True)
        if scope.kind is FactKind.PERSONAL and not await still_agrees(tx, scope.owner):
            _restricted()
        same = await find_same(tx, scope, new.content)
        if same is not None:
            message = f"This is known already, as {same}. Nothing needs to be done."
            raise Refused(FactOutcome(FactStatus.ALREADY_KNOWN, message, same, scope, new.content))
        replaced = await make_room(tx, resources, scope, winners, taught.by)
        fact = await insert_fact(tx, scope, new)
        if replaced is not None:
            await name_successor(tx, replaced, fact.id)
        await note(tx, "create_long_term_memory", [fact.id] if replaced is None else [fact.id, replaced])
        return fact, replaced

    return await resources.database.in_space(space.id, write, writer=True)


async def require_self_teaching(resources: Resources, space: SpaceRow | None, turn: TurnState) -> None:
    """Raises Refused where an assistant may not teach itself in this server."""
    if space is None or turn.server_id is None:
        return
    server_id = turn.server_id
    if not await resources.database.in_space(space.id, lambda tx: self_teaching_enabled(tx, server_id)):
        refuse(FactStatus.DISABLED, "Memory tools are switched off in this server. Go on without them.")


def require_complete(turn: TurnState) -> tuple[Persona, Participant]:
    """Who the assistant is, and to whom it speaks. Raises Refused where the turn doesn't say."""
    if turn.persona is None or turn.speaker is None:
        _incomplete("who speaks here")
    return turn.persona, turn.speaker


def _require_server(turn: TurnState) -> str:
    if turn.server_id is None:
        _incomplete("which server this is; memory_scope can only be 'target_user' here")
    return turn.server_id


def _restricted() -> NoReturn:
    refuse(
        FactStatus.PRIVACY_RESTRICTED,
        "Nothing was saved: this person doesn't want to be remembered, or it can't be told whether they do. "
        "Don't try again.",
    )


def _incomplete(what: str) -> NoReturn:
    refuse(FactStatus.INCOMPLETE_TURN, f"Nothing was saved: it isn't known {what}. Go on without saving.")
