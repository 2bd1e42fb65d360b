"""What one caller can do in one space to get a whole prompt: all that is remembered, in its order, within a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final, Unpack

from perdure import door, ltm, recall
from perdure.assembling import Asked, assemble
from perdure.context import Context, Layout, require_layout
from perdure.door import FilterArguments
from perdure.fact_types import Participant, TurnState
from perdure.observing import observed
from perdure.space_memories import SpaceMemories
from perdure.store.savings import Savings, read_savings
from perdure.store.spaces import SpaceRow
from perdure.text import clean, require_text

MAX_RECALLED: Final = 20
MAX_HISTORY: Final = 1000
"""Messages of a conversation that are looked at, the latest."""
MAX_DEADLINE_S: Final = 60
MAX_BUDGET: Final = 10_000_000
SAMPLE_DAYS: Final = 30

USER: Final = Participant("user", "User")
ONE_USER: Final = TurnState(speaker=USER, participants=(USER,))
"""Who takes part where the host doesn't say: the one user of a space, to whom facts with `about="user"` belong."""


class ContextArguments(FilterArguments, total=False):
    """What `context` and `inspect_context` take besides the message; see `SpaceContext.context`."""

    history: Sequence[Mapping[str, object]] | None
    state: TurnState | None
    layout: Layout | Mapping[str, object] | str
    token_budget: int | None
    instructions: str
    tools: Sequence[Mapping[str, object]] | None
    limit: int | None
    deadline_s: float | None


class SpaceContext(SpaceMemories):
    """A handle on one space, with the prompt of a turn."""

    @observed
    async def context(
        self,
        message: str,
        *,
        history: Sequence[Mapping[str, object]] | None = (),
        state: TurnState | None = None,
        real: bool = True,
        layout: Layout | Mapping[str, object] | str = "native",
        token_budget: int | None = None,
        instructions: str = "",
        tools: Sequence[Mapping[str, object]] | None = (),
        limit: int | None = None,
        deadline_s: float | None = None,
        **filters: Unpack[FilterArguments],
    ) -> Context:
        """All of a turn's prompt: a prefix that can be cached, and a tail. Writes nothing.

        Give it to `capture(recall=...)` after the reply: only then is it counted what was recalled, and facts age.

        Args:
            message: what was just said; may be empty, as for a sticker.
            history: the conversation so far as chat messages (`role`, `content`), oldest first.
            state: who takes part where; None is the one user of the space, and no server.
            real: a reply follows. False is a look, as `inspect_context` takes it.
            layout: `native`, `preset`, or one of your own (docs/prompt.md).
            token_budget: tokens that all blocks may cost, by our estimate; None is no limit.
            instructions: yours, for the beginning of the prefix.
            tools: yours; `Context.tools` has them with those for facts.
            limit: memories at most, 1..20 (setting `recall_limit`, mission: 3).
            deadline_s: seconds for everything, above 0 up to 60 (setting `recall_deadline_s`, mission: 2).
            filters: which memories may come; see `door.FilterArguments`.

        Returns:
            A `Context`; what failed or was late is named in `degraded`, and the reply can go on without it.

        Raises:
            InvalidInput: an argument is out of its range, or the layout breaks a rule.
        """
        text = require_text(message, "message") if message != "" else ""
        most, seconds = self._limits(limit, deadline_s)
        earlier = recall.read_history(door.require_list(history, "history")[-MAX_HISTORY:])
        filters["tags"] = door.require_filters(**filters).tags
        budget = None if token_budget is None else door.require_number(token_budget, "token_budget", 1, MAX_BUDGET)
        keeps = door.require_flag(real, "real")
        asked = Asked(
            space=self.name,
            turn=recall.Turn(text, earlier, self.audience, most, door.require_filters(**filters), keeps),
            state=ltm.require_state(ONE_USER if state is None else state),
            layout=require_layout(layout),
            instructions=clean(instructions, "instructions"),
            budget=budget,
            deadline_s=seconds,
            real=keeps,
            introduces=state is not None,
            tools=tuple(door.require_list(tools, "tools")),
        )

        async def find() -> tuple[SpaceRow, Asked] | None:
            space = await self._memory.find_space(self.name)
            if space is None:
                return None
            wanted = door.require_filters(space.time_zone, **filters)
            return space, replace(asked, turn=replace(asked.turn, filters=wanted))

        return await assemble(self._resources, find, asked)

    async def inspect_context(self, message: str, **asked: Unpack[ContextArguments]) -> Context:
        """The prompt that a turn would get, for looking at it: leaves no trace, and is counted nowhere.

        Takes the arguments of `context`, and raises the same.
        """
        return await self.context(message, real=False, **asked)

    async def savings(self, *, days: int = 30) -> Savings:
        """What prompts of the last 1..30 days cost, and what dormancy and stable prefixes spared them.

        Counted are prompts that a reply followed (`capture(recall=context)`); samples are kept for 30 days.
        """
        span = timedelta(days=door.require_number(days, "days", 1, SAMPLE_DAYS))
        space = await self._memory.find_space(self.name)
        if space is None:
            return Savings()
        return await self._in(space, lambda tx: read_savings(tx, tx.now - span))

    def _limits(self, limit: object, deadline_s: object) -> tuple[int, float]:
        """How many memories a recall may bring, and in how many seconds."""
        settings = self._resources.settings
        most = settings.recall_limit if limit is None else door.require_number(limit, "limit", 1, MAX_RECALLED)
        if deadline_s is None:
            return most, settings.recall_deadline_s
        return most, door.require_seconds(deadline_s, "deadline_s", MAX_DEADLINE_S)
