"""The tools that frameworks hand to a model, as functions: their names, arguments and docstrings are what it sees."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from perdure.adapters.calling import AnySpace, Caller
from perdure.context import render_tail
from perdure.door import require_id
from perdure.space import Space
from perdure.space_handle import time_zone_of
from perdure.types import Hit, Merged, Stored

NOTHING_FOUND = "Nothing is remembered about that."


async def recalled(space: Space, message: str, history: Sequence[Mapping[str, object]] = ()) -> str:
    """What a turn needs, as text for its prompt; empty where it needs nothing."""
    recall = await space.recall(message, history=history)
    return f"{recall.prefix}\n{recall.tail}" if recall.tail else ""


class MemoryTools:
    """Tools on one space, for the audience of its handle. What they find comes fenced, as data."""

    def __init__(self, space: AnySpace) -> None:
        self.caller = Caller(space)

    @property
    def functions(self) -> Sequence[Callable[..., Awaitable[str]]]:
        """All of them, in the order in which a model is shown them."""
        return (self.search_memory, self.save_memory, self.update_memory, self.forget_memory)

    async def search_memory(self, query: str, limit: int = 10) -> str:
        """Look up what is remembered of the user and of earlier conversations.

        Call it before answering whatever may depend on their past, people, plans or preferences, and when they refer to
        something you can't see.

        Args:
            query: What to look for, in the words of the question.
            limit: How many memories at most, 1 to 100.
        """

        async def work(space: Space) -> str:
            result = await space.search(query, limit=limit)
            found = render_tail(result.hits, await time_zone_of(space)) if result.hits else NOTHING_FOUND
            without = f"\nThis search had to do without: {', '.join(result.degraded)}." if result.degraded else ""
            return found + without

        return await self.caller.call(work)

    async def save_memory(self, text: str, salience: float = 5) -> str:
        """Remember something for good.

        What the user asks you to remember, or tells that will matter in other conversations: one fact, understandable
        by itself, with names instead of pronouns and dates instead of "tomorrow".

        Args:
            text: What to remember.
            salience: From 1 (trifle) to 10 (must never be lost).
        """

        async def work(space: Space) -> str:
            outcome = await space.save(text, salience=salience)
            if isinstance(outcome, Stored):
                return f"Saved as memory {', '.join(map(str, outcome.ids))}."
            if isinstance(outcome, Merged):
                return f"That was known already, as memory {outcome.id}."
            return f"Nothing was saved ({outcome.status})."

        return await self.caller.call(work)

    async def update_memory(self, memory_id: str, text: str) -> str:
        """Correct a memory that search_memory has shown; what it said before is kept in its history.

        Args:
            memory_id: Its id, as shown.
            text: The whole new text.
        """

        async def work(space: Space) -> str:
            memory = await space.update(require_id(memory_id), text=text)
            return f"Memory {memory.id} is changed."

        return await self.caller.call(work)

    async def forget_memory(self, memory_ids: list[str], confirm: bool = False) -> str:
        """Erase memories for good, when the user asks for that.

        Call it without confirm first, tell the user what would go, and call it again with confirm once they agree.

        Args:
            memory_ids: Their ids, as search_memory shows them.
            confirm: True erases; else you only see what would go.
        """

        async def work(space: Space) -> str:
            ids = [require_id(each) for each in memory_ids]
            if not confirm:
                hits = [Hit(await space.get(each), 0.0, 0.0, {}, ()) for each in ids]
                return (
                    f"{render_tail(hits, await time_zone_of(space))}\nNothing is erased yet. This would go for good. "
                    "If the user agrees, call forget_memory again with confirm."
                )
            receipt = await space.forget(*ids)
            return f"Erased for good: {', '.join(map(str, receipt.ids))}."

        return await self.caller.call(work)
