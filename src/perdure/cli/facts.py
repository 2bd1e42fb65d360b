"""`perdure facts`: facts about the user, servers and people, by hand."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from perdure.cli.call import Call, argument_or_stdin, common
from perdure.cli.facts_view import change_data, change_row, fact_data, fact_row, show_fact
from perdure.cli.failing import FAILED
from perdure.cli.printing import tell
from perdure.errors import NotFound

if TYPE_CHECKING:
    from perdure.cli.printing import Screen
    from perdure.fact_types import Fact, FactChange, FactId, FactOutcome, ListedFact, Persona
    from perdure.memory import Memory
    from perdure.space import Space

ACTIONS: Final = ("list", "add", "show", "edit", "pin", "unpin", "restore", "forget", "history")
ONE_ID: Final = frozenset({"show", "pin", "unpin", "restore", "history"})


@dataclass(frozen=True, slots=True)
class _Asked:
    """What stands on the command line besides the action."""

    words: tuple[str, ...]
    about: str | None
    persona: str | None
    tags: tuple[str, ...]
    channels: tuple[str, ...]
    pinned: bool
    archived: bool
    limit: int
    revision: int | None
    instead_of: str | None
    operation_id: str | None
    yes: bool


@click.command(short_help="Keep, show and change facts about the user, servers and people.")
@click.argument("action", metavar="ACTION", type=click.Choice(ACTIONS))
@click.argument("words", metavar="ID|TEXT", nargs=-1)
@click.option("--about", metavar="WHOM", help="Of add and list: user, server:ID or person:ID. [add: user]")
@click.option("--persona", metavar="NAME", help="Of add and list: who knows it. [default: every persona]")
@click.option("--tag", "tags", multiple=True, metavar="WORD", help="Of add and edit: one of these has to occur.")
@click.option("--channel", "channels", multiple=True, metavar="ID", help="Of add and edit: only used there.")
@click.option("--pin", "pinned", is_flag=True, help="Of add: never let it become dormant.")
@click.option("--archived", is_flag=True, help="Of list: also what was replaced or deleted.")
@click.option("--limit", type=int, default=1000, show_default=True, help="Of list: at most, 1 to 10000.")
@click.option("--revision", type=int, metavar="N", help="Of restore: what a live fact said at this revision.")
@click.option("--instead-of", metavar="ID", help="Of restore: the fact that is archived for it.")
@click.option("--operation-id", metavar="ID", help="Of add: makes the call safe to repeat.")
@click.option("--yes", is_flag=True, help="Of forget: don't ask. Needed where there is nobody to ask.")
@common
def facts(
    call: Call,
    *,
    action: str,
    words: tuple[str, ...],
    about: str | None,
    persona: str | None,
    tags: tuple[str, ...],
    channels: tuple[str, ...],
    pinned: bool,
    archived: bool,
    limit: int,
    revision: int | None,
    instead_of: str | None,
    operation_id: str | None,
    yes: bool,
) -> int:
    """Facts stand in every prompt until they have long not been needed; then they come back when they are.

    ACTION is list, add TEXT, show ID, edit ID [TEXT], pin ID, unpin ID, restore ID, forget ID..., or history ID.
    IDs are S24 of a server and P24 of a person.
    """
    asked = _Asked(
        words, about, persona, tags, channels, pinned, archived, limit, revision, instead_of, operation_id, yes
    )
    _require_words(action, words)
    match action:
        case "list":
            return _list(call, asked)
        case "add":
            return _add(call, asked)
        case "history":
            return _history(call, words[0])
        case "forget":
            return _forget(call, asked)
        case _:
            return _one(call, action, asked)


def _require_words(action: str, words: Sequence[str]) -> None:
    if action == "list" and words:
        raise click.UsageError("facts list takes no ID; `perdure facts show ID` shows one.")
    if action == "add" and len(words) != 1:
        raise click.UsageError("facts add takes one TEXT, in quotes.")
    if action in ONE_ID and len(words) != 1:
        raise click.UsageError(f"facts {action} takes one ID; `perdure facts list` shows them.")
    if action == "edit" and len(words) not in {1, 2}:
        raise click.UsageError("facts edit takes one ID, and the new TEXT in quotes if that is to change.")
    if action == "forget" and not words:
        raise click.UsageError("facts forget takes at least one ID; `perdure facts list` shows them.")


def _list(call: Call, asked: _Asked) -> int:
    async def work(memory: Memory) -> tuple[ListedFact, ...]:
        space = call.space(memory)
        persona = await known_persona(space, asked.persona)
        return await space.facts(about=asked.about, persona=persona, archived=asked.archived, limit=asked.limit)

    found = call.run(work)

    def show(screen: Screen) -> None:
        if not found:
            screen.line(f"Space {call.space_name} has no facts like that.")
            return
        screen.table(["id", "about", "lineage", "stage", "days", "fact"], map(fact_row, found), right=[0, 2, 4])

    call.answer({"space": call.space_name, "facts": [fact_data(listed) for listed in found]}, show)
    return 0


def _add(call: Call, asked: _Asked) -> int:
    text = argument_or_stdin(asked.words[0], "text")

    async def work(memory: Memory) -> FactOutcome:
        space = call.space(memory)
        persona = None if asked.persona is None else await space.persona(asked.persona)
        return await space.remember(
            text,
            about=asked.about or "user",
            persona=persona,
            tags=asked.tags,
            channels=asked.channels,
            pinned=asked.pinned,
            operation_id=asked.operation_id,
        )

    outcome = call.run(work)
    call.answer(
        {"space": call.space_name, "status": outcome.status.value, "id": str(outcome.id)},
        lambda screen: screen.line(outcome.message),
    )
    return 0


def _one(call: Call, action: str, asked: _Asked) -> int:
    """Does something with one fact, and shows what it is now."""

    async def work(memory: Memory) -> ListedFact:
        space = call.space(memory)
        fact_id = asked.words[0]
        if action != "show":
            await _changed(space, action, fact_id, asked)
        return await space.fact(fact_id)

    listed = call.run(work)
    call.answer({"space": call.space_name, "fact": fact_data(listed)}, lambda screen: show_fact(screen, listed))
    return 0


async def _changed(space: Space, action: str, fact_id: str, asked: _Asked) -> Fact:
    if action == "restore":
        return await space.restore_fact(fact_id, revision=asked.revision, instead_of=asked.instead_of)
    if action != "edit":
        return await space.pin_fact(fact_id, pinned=action == "pin")
    text = argument_or_stdin(asked.words[1], "text") if len(asked.words) > 1 else None
    return await space.edit_fact(fact_id, content=text, tags=asked.tags or None, channels=asked.channels or None)


def _history(call: Call, fact_id: str) -> int:
    async def work(memory: Memory) -> tuple[FactChange, ...]:
        return await call.space(memory).fact_history(fact_id)

    changes = call.run(work)

    def show(screen: Screen) -> None:
        if not changes:
            screen.line(f"{fact_id} was never changed.")
            return
        screen.table(["revision", "until", "then", "by", "what it said"], map(change_row, changes), right=[0])

    document: dict[str, object] = {
        "space": call.space_name,
        "id": fact_id,
        "history": [change_data(change) for change in changes],
    }
    call.answer(document, show)
    return 0


def _forget(call: Call, asked: _Asked) -> int:
    if not asked.yes and (call.as_json or not sys.stdin.isatty()):
        raise click.UsageError("forget erases for good, and there is nobody to ask. Add --yes if you mean it.")

    async def look(memory: Memory) -> list[ListedFact]:
        return [await call.space(memory).fact(fact_id) for fact_id in asked.words]

    async def erase(memory: Memory) -> tuple[FactId, ...]:
        return await call.space(memory).forget_fact(*asked.words)

    if not asked.yes:
        for listed in call.run(look):
            tell("  ".join(fact_row(listed)))
        if not click.confirm("Erase this for good?", err=True):
            tell("Nothing was erased.")
            return FAILED
    erased = [str(fact_id) for fact_id in call.run(erase)]
    call.answer(
        {"space": call.space_name, "erased": erased},
        lambda screen: screen.line(f"Erased {', '.join(erased)} from space {call.space_name}."),
    )
    return 0


async def known_persona(space: Space, name: str | None) -> Persona | None:
    """The persona of this name, which looking for doesn't make."""
    if name is None:
        return None
    from perdure.ltm import name_key  # noqa: PLC0415 - the driver; `--help` does without it

    for persona in await space.personas():
        if name_key(persona.name) == name_key(name):
            return persona
    raise NotFound(f"Space {space.name!r} has no persona {name!r}.", hint="`perdure facts add --persona` makes one.")
