"""One turn's prompt: all that remembers is asked at once, and what fails or is late is left out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from perdure import documents, ltm, recall
from perdure.assembling.asked import Asked
from perdure.assembling.facts import as_set, can_teach, offered, people_of, recalled_in, stable
from perdure.assembling.gathering import Gathering, SharedQuery
from perdure.cognition import read_identity
from perdure.context import Context, Parts, Passage, Trait, build_context
from perdure.fact_types import EVERY_LINEAGE, Fact, TurnState
from perdure.ltm import FactTurn, TurnFacts
from perdure.recall import Selection
from perdure.resources import Resources
from perdure.store.database import SpaceTransaction, Transaction
from perdure.store.people import read_people, self_teaching_enabled
from perdure.store.spaces import SpaceRow
from perdure.store.traits import list_traits
from perdure.text import has_memory_intent, truncate_chars
from perdure.types import Recall

PREFIXES: Final = 4096
"""Conversations whose last prefix is remembered."""

RECENT: Final = 10
"""Messages before this one in which the keywords of facts are looked for."""
RECENT_CHARS: Final = 4000
"""Characters of each of them."""

DEFAULT_BOT: Final = "Assistant"
"""What `{bot}` stands for where no persona speaks."""

FindSpace = Callable[[], Awaitable[tuple[SpaceRow, Asked] | None]]
"""Finds the space, and reads what is asked in its time zone; None where there is no such space."""


async def assemble(resources: Resources, find: FindSpace, asked: Asked) -> Context:
    """The prompt of a turn, never later than the deadline. Writes nothing; there is little in it without a space."""
    gathering = Gathering(resources.database.clock, asked.deadline_s)
    found = await gathering.part("space", _found(find), None)
    space, asked = found or (None, asked)
    query = SharedQuery(resources.embedder, asked.turn)
    turn = _Turn(resources, space, asked, query, gathering)
    try:
        known, facts, selection, passages = await asyncio.gather(
            gathering.part("identity", turn.known(), _Known(Parts(), asked.state)),
            gathering.part("facts", turn.facts(), None),
            gathering.part("memories", turn.memories(), Selection()),
            gathering.part("documents", turn.documents(), ()),
        )
    finally:
        query.cancel()
    for why in facts.degraded if facts else ():
        gathering.degraded["facts"] = why.removeprefix("facts: ")
    parts = replace(known.parts, documents=passages, memories=selection.hits, pending=selection.pending)
    timings = gathering.finished()
    intent = has_memory_intent(asked.turn.message)
    context = build_context(
        asked.turn.message,
        _with_facts(parts, known.state, facts, asked),
        asked.layout,
        recall=_recall(asked, selection, gathering),
        facts=facts,
        budget=asked.budget,
        render=turn.render,
        before=resources.prefixes.get(asked.conversation, ()),
        degraded=gathering.missing(),
        timings_ms=timings,
        memory_intent=intent,
        tools=offered(asked.tools, first=intent) if known.may_teach else asked.tools,
        real=asked.real,
    )
    if asked.real:
        _remember_prefix(resources, asked.conversation, context)
    return context


@dataclass(frozen=True, slots=True)
class _Known:
    """What is read first: the parts that need no embedding, who takes part, and whether facts may be self-taught."""

    parts: Parts
    state: TurnState
    may_teach: bool = False


@dataclass(frozen=True, slots=True)
class _Turn:
    """What each part of a prompt is worked out from."""

    resources: Resources
    space: SpaceRow | None
    asked: Asked
    query: SharedQuery
    gathering: Gathering

    def render(self, facts: Sequence[Fact], user: str, bot: str) -> str:
        """Lines of facts, most of which were rendered in a turn before."""
        return ltm.render_facts(self.resources, self.space.id if self.space else 0, facts, user, bot)

    async def known(self) -> _Known:
        """Who the user is, the time, and whether the assistant may teach itself, in one transaction."""
        space, state = self.space, self.asked.state
        if space is None:
            now = await self.resources.database.across(_time, timeout_s=self.gathering.left_s)
            return _Known(Parts(now=now), state, may_teach=can_teach(state))

        async def read(tx: SpaceTransaction) -> _Known:
            identity = await read_identity(tx, space)
            traits = [Trait(one.category, one.key, one.value) for one in await list_traits(tx)]
            parts = Parts(identity=identity.profile, traits=traits, now=tx.now, time_zone=space.time_zone)
            teaches = can_teach(state) and (state.server_id is None or await self_teaching_enabled(tx, state.server_id))
            if self.asked.introduces:
                return _Known(parts, state, may_teach=teaches)
            return _Known(parts, as_set(state, await read_people(tx, [ltm.USER])), may_teach=teaches)

        return await self.resources.database.in_space(space.id, read, timeout_s=self.gathering.left_s)

    async def facts(self) -> TurnFacts | None:
        """What is known of the server and of those who take part."""
        if self.space is None:
            return None
        said = [truncate_chars(text, RECENT_CHARS) for _, text in self.asked.turn.history[-RECENT:]]
        turn = FactTurn(self.asked.state, self.asked.turn.message, tuple(said))
        return await ltm.build(self.resources, self.space, turn, query=self.query.of_query)

    async def documents(self) -> Sequence[Passage]:
        """Passages of documents; without any in scope, or a query, nothing is embedded for them."""
        state, space = self.asked.state, self.space
        if space is None or ltm.query_of(self.asked.turn.message) is None:
            return ()
        place: dict[str, Any] = {
            "server_id": state.server_id,
            "lineage": state.persona.lineage if state.persona else EVERY_LINEAGE,
            "channel_id": state.channel_id,
            "audience": self.asked.turn.audience,
        }
        if not await documents.any_in_scope(self.resources, space, **place, timeout_s=self.gathering.left_s):
            return ()
        vector = await self.query.of_query()
        found = await documents.search(self.resources, space, vector, **place, timeout_s=self.gathering.left_s)
        return [Passage(one.name, one.position, one.text, one.similarity, one.parts, one.document_id) for one in found]

    async def memories(self) -> Selection:
        """Recalled memories, and exchanges that wait."""
        turn = self.asked.turn
        if self.space is None or not turn.message.strip():
            return Selection()
        left_s = self.gathering.left_s
        if not await recall.anything_to_recall(self.resources, self.space, turn.audience, timeout_s=left_s):
            return Selection()
        vectors = await self.query.of_turn()
        gated, left_s = self.resources.settings.relevance_gate, self.gathering.left_s
        return await recall.look_up(self.resources, self.space, turn, vectors, gated=gated, timeout_s=left_s)


def _with_facts(parts: Parts, state: TurnState, facts: TurnFacts | None, asked: Asked) -> Parts:
    """The parts of a prompt with the host's instructions, who takes part, and what is known of them."""
    return replace(
        parts,
        instructions=asked.instructions,
        server=stable(facts.server) if facts else (),
        people=[one for one in people_of(state, facts) if one.facts or asked.introduces],
        recalled=recalled_in(state, facts) if facts else (),
        bot=state.persona.name if state.persona else DEFAULT_BOT,
    )


def _remember_prefix(resources: Resources, conversation: Hashable, context: Context) -> None:
    resources.prefixes[conversation] = tuple(replace(one, text="") for one in context.blocks if one.cacheable)
    resources.prefixes.move_to_end(conversation)
    if len(resources.prefixes) > PREFIXES:
        resources.prefixes.popitem(last=False)


async def _found(find: FindSpace) -> tuple[SpaceRow, Asked] | None:
    return await find()


async def _time(tx: Transaction) -> datetime:
    return tx.now


def _recall(asked: Asked, selection: Selection, gathering: Gathering) -> Recall:
    """What came to mind, before the budget of the whole prompt; prefix and tail are set with that."""
    why = gathering.degraded.get("memories")
    return Recall(
        query=asked.turn.message,
        memories=selection.hits,
        pending=selection.pending,
        prefix="",
        tail="",
        degraded=() if why is None else (f"memories: {why}",),
        timings_ms=gathering.timings_ms,
        left_out=selection.left_out,
    )
