"""One fact from its creation to its return: taught by a tool call, asleep after seven days, awake when it is needed.

Run it with `python examples/one_fact.py`. It lives through two weeks in seconds, on a clock of its own, in a database
that is thrown away. The embedder is the one that you have configured, by default the bundled one.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from perdure import Memory, Participant, SimulatedClock, Space, TurnState
from perdure.assembling import finish_afterwards

SMALL_TALK = (
    "Which film shall we watch on Friday?",
    "My bicycle has a flat tyre again.",
    "How tall is the Eiffel Tower?",
    "Write a limerick about a printer.",
    "What is the capital of Mongolia?",
    "I repainted the hallway today.",
    "Explain how tides work.",
    "Is it going to rain in Lisbon?",
    "Recommend a podcast about trains.",
)
QUESTION = "Any snack ideas given my allergies?"


@dataclass
class Story:
    """Tells what happens on each day."""

    memory: Memory
    space: Space
    state: TurnState
    clock: SimulatedClock
    tell: Callable[[str], None]
    day: int = 1

    async def chat(self, message: str) -> None:
        """One turn: the prompt is built, a model would answer, and only what was captured counts."""
        context = await self.space.context(message, state=self.state)
        self.tell(f"day {self.day:>2}  Ada: {message}")
        found = [(block.name, line) for block in context.blocks for line in block.text.splitlines() if "ID:P" in line]
        for name, line in found or [("not in the prompt", "")]:
            self.tell(f"        {name} {line.strip()}".rstrip())
        await self.space.capture(user=message, assistant="…", recall=context, operation_id=f"day {self.day}")
        await finish_afterwards(self.memory.resources)  # a host doesn't wait for this, the story does
        (known,) = await self.space.facts()
        self.tell(f"        afterwards {known.stage}, days counted: {known.fact.decay_days}")

    def sleep(self, nights: int = 1) -> None:
        self.day += nights
        self.clock.advance(timedelta(days=nights))


async def live(data_dir: Path, tell: Callable[[str], None]) -> None:
    """Lives through the story in a database under `data_dir`, and tells it line by line."""
    clock = SimulatedClock(datetime(2026, 5, 1, 9, tzinfo=UTC))
    async with Memory.open(data_dir=data_dir, database_url=None, clock=clock, worker=False) as memory:
        space = memory.space("friends")
        momo, ada = await space.persona("Momo"), Participant("42", "Ada")
        state = TurnState("book-club", "kitchen", momo, ada, (ada,))
        outcome = await space.create_long_term_memory(
            state,
            {
                "memory_content": "{user} is allergic to peanuts.",
                "memory_scope": "target_user",
                "target_user": "ada",
            },
        )
        tell(f"day  1  create_long_term_memory: {outcome.status}. {outcome.message}")
        story = Story(memory, space, state, clock, tell)
        for message in SMALL_TALK:
            await story.chat(message)
            story.sleep()
        story.sleep(2)
        await story.chat(QUESTION)
        story.sleep()
        await story.chat("Thanks, the olives were great!")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(live(Path(scratch), print))
