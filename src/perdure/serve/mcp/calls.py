"""What a tool does when it is called, and what a model is told of it: in words, and as data."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from perdure import ltm
from perdure.context import render_tail
from perdure.errors import InvalidInput
from perdure.fact_types import Participant, TurnState
from perdure.ingest import Receipt
from perdure.serve.mcp.tools import BY_NAME
from perdure.space import Space
from perdure.types import Hit, Nothing, Stored, StoredMemory
from perdure.wire import to_wire

SHOWN: Final = 20
"""Memories that are shown before they are erased; all are named."""
SERVER: Final = "mcp"
"""The server to which facts of `server_wide` belong: all clients of this door that share a space."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Where a tool is called: whose memory, in which zone its dates are shown, who speaks, and as whom."""

    space: Space
    time_zone: str
    user: str
    persona: str

    async def state(self) -> TurnState:
        """What the tools of facts need to know; the persona is made where it isn't there yet."""
        speaker = Participant(ltm.USER, self.user)
        return TurnState(SERVER, None, await self.space.persona(self.persona), speaker, (speaker,))


@dataclass(frozen=True, slots=True)
class Told:
    """The answer of a tool. `failed`: what was asked for was not done, and the words say what to do about it."""

    words: str
    data: Mapping[str, Any] | None = None
    failed: bool = False


async def call(name: str, turn: Turn, arguments: Mapping[str, Any] | None) -> Told:
    """Calls a tool of this name. What isn't given, or null, is left to the library.

    Raises:
        InvalidInput: there is no such tool or argument, or an argument is refused. What the verbs raise.
    """
    given = {field: value for field, value in (arguments or {}).items() if value is not None}
    offered = BY_NAME.get(name)
    if offered is None:
        raise InvalidInput("tool", name, f"there are {', '.join(BY_NAME)}")
    known = offered.tool.input_schema["properties"]
    for field in given:
        if field not in known:
            raise InvalidInput(field, "", f"{name} has no such argument; it has {', '.join(known) or 'none'}")
    for field in offered.tool.input_schema["required"]:
        if field not in given and name not in _JUDGED_BY_LTM:
            raise InvalidInput(field, None, "it is needed")
    return await _CALLS[name](turn, given)


async def _search(turn: Turn, given: dict[str, Any]) -> Told:
    result = await turn.space.search(
        given.pop("query"), since=given.pop("start_date", None), until=given.pop("end_date", None), **given
    )
    degraded = list(result.degraded)
    words = render_tail(result.hits, turn.time_zone) if result.hits else "Nothing is remembered about that."
    if degraded:
        words += f"\nThis search had to do without: {', '.join(degraded)}."
    return Told(words, {"memories": [_memory(hit.memory, hit) for hit in result.hits], "degraded": degraded})


async def _save(turn: Turn, given: dict[str, Any]) -> Told:
    outcome = await turn.space.save(given.pop("text"), source_date=given.pop("date", None), **given)
    data = to_wire(type(outcome), outcome)
    if isinstance(outcome, Nothing):
        return Told(f"Nothing was saved: {outcome.reason}.", data, failed=True)
    if isinstance(outcome, Stored):
        return Told(f"Saved as memory {', '.join(map(str, outcome.ids))}.", data)
    return Told(f"That was known already, as memory {getattr(outcome, 'id', '?')}.", data)


async def _update(turn: Turn, given: dict[str, Any]) -> Told:
    memory = await turn.space.update(given.pop("memory_id"), **given)
    return Told(f"Memory {memory.id} is changed.", _memory(memory))


async def _forget(turn: Turn, given: dict[str, Any]) -> Told:
    ids = given["memory_ids"]
    if not isinstance(ids, list) or not ids:
        raise InvalidInput("memory_ids", ids, "it has to be a list of ids, as search_memory shows them")
    if given.get("confirm") is not True:
        preview = await turn.space.preview_forget(ids=ids)
        found = [await turn.space.get(memory_id) for memory_id in preview.ids[:SHOWN]]
        hits = [Hit(memory, 0.0, 0.0, {}, ()) for memory in found]
        words = (
            f"{render_tail(hits, turn.time_zone)}\nNothing is erased yet. This would go for good, with what rests on "
            "it alone. If the user agrees, call forget_memory again with confirm set to true."
        )
        return Told(words, {"would_erase": [str(memory_id) for memory_id in preview.ids], "erased": []})
    receipt: Receipt = await turn.space.forget(*ids)
    erased = [str(memory_id) for memory_id in receipt.ids]
    return Told(f"Erased for good: {', '.join(erased)}.", {"would_erase": [], "erased": erased})


async def _create_fact(turn: Turn, given: dict[str, Any]) -> Told:
    outcome = await turn.space.create_long_term_memory(await turn.state(), given)
    return Told(outcome.message, to_wire(type(outcome), outcome), failed=not outcome.ok)


async def _update_fact(turn: Turn, given: dict[str, Any]) -> Told:
    outcome = await turn.space.update_long_term_memory(await turn.state(), given)
    return Told(outcome.message, to_wire(type(outcome), outcome), failed=not outcome.ok)


async def _consolidate(turn: Turn, given: dict[str, Any]) -> Told:
    report = await turn.space.consolidate()
    data = to_wire(type(report), report)
    if report.busy:
        return Told("Somebody else is at it already.", data)
    if report.outage is not None:
        return Told(f"It could not be done now: {report.outage}.", data, failed=True)
    written = sum(report.conclusions.values())
    return Told("The summary is up to date." if written else "There was nothing new to add to the summary.", data)


async def _consult(turn: Turn, given: dict[str, Any]) -> Told:
    consultation = await turn.space.consult(given["question"])
    return Told(consultation.answer, to_wire(type(consultation), consultation))


def _memory(memory: StoredMemory, hit: Hit | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": str(memory.id),
        "text": memory.summary,
        "date": memory.source_date.date().isoformat(),
        "memory_type": str(memory.memory_type),
        "salience": memory.salience,
        "source": memory.source,
        "trust": str(memory.trust),
        "tags": list(memory.tags),
    }
    return found if hit is None else {**found, "score": round(hit.score, 4)}


def as_json(data: object) -> str:
    """What a resource holds, as a person can read it, too."""
    return json.dumps(data, ensure_ascii=False, indent=2)


_JUDGED_BY_LTM: Final = frozenset(tool.name for tool in ltm.TOOLS)
"""Tools whose arguments have answers of their own for everything that may be wrong with them."""
_CALLS: Final[Mapping[str, Callable[[Turn, dict[str, Any]], Awaitable[Told]]]] = {
    "search_memory": _search,
    "save_memory": _save,
    "update_memory": _update,
    "forget_memory": _forget,
    "create_long_term_memory": _create_fact,
    "update_long_term_memory": _update_fact,
    "consolidate_memory": _consolidate,
    "consult_deep_thinker": _consult,
}
