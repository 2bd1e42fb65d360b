"""A server with a persona and three people, for tests of what turns do to facts."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from psycopg import sql

from perdure import Memory, Space, ltm
from perdure.clock import Clock
from perdure.fact_types import FactId, FactKind, Participant, Persona, TurnState
from perdure.store.embedded import ServerUrls
from perdure.store.spaces import SpaceRow
from tests.doubles.told_embedder import ToldEmbedder
from tests.integration.conftest import open_memory

ADA = Participant("u-ada", "Ada")
BOB = Participant("u-bob", "Bob")
EVE = Participant("u-eve", "Eve")
MOMO = Persona(10_001, "Momo")
RIKU = Persona(10_002, "Riku")
STATE = TurnState("guild", "general", MOMO, ADA, (ADA, BOB, EVE))
TABLES = {FactKind.SERVER: "server_memories", FactKind.PERSONAL: "personal_memories"}


@dataclass
class Guild:
    """A space with its memory, and the verbs of a turn."""

    memory: Memory
    space: Space
    embedder: ToldEmbedder
    row: SpaceRow

    async def teach(self, content: str, about: str | None = None, state: TurnState = STATE) -> FactId:
        """A fact of the server, or of the person of this name."""
        target = {"memory_scope": "server_wide"} if about is None else {"memory_scope": "target_user"}
        arguments = {"memory_content": content, "target_user": about or "", **target}
        outcome = await self.space.create_long_term_memory(state, arguments)
        assert outcome.ok, outcome
        assert outcome.id is not None
        return outcome.id

    async def remember(self, content: str, about: str = "server:guild", **more: Any) -> FactId:
        """A fact that a person wrote, for every persona."""
        outcome = await self.space.remember(content, about=about, **more)
        assert outcome.id is not None
        return outcome.id

    async def known(self, content: str, about: str | None = None, state: TurnState = STATE) -> FactId:
        """The same, with its vector."""
        fact = await self.teach(content, about, state)
        await self.fill(state)
        return fact

    async def fill(self, state: TurnState = STATE) -> None:
        """Gives vectors to all facts of a turn, and sets what that counted back."""
        await self.turn(state=state)
        for kind in FactKind:
            await self._sql(kind, "UPDATE {} SET decay_days = 0, last_counted_day = NULL WHERE space_id = %s")

    async def build(self, state: TurnState = STATE, message: str = "What do we do now?") -> ltm.TurnFacts:
        async def embed() -> Any:
            query = ltm.query_of(message)
            assert query is not None
            return (await self.embedder.embed([query], "query"))[0]

        turn = ltm.FactTurn(state, message)
        return await ltm.build(self.memory.resources, self.row, turn, query=embed)

    async def finish(self, built: ltm.TurnFacts) -> ltm.RecallSample:
        return await ltm.after_reply(self.memory.resources, self.row, built)

    async def turn(self, state: TurnState = STATE, message: str = "What do we do now?") -> ltm.RecallSample:
        return await self.finish(await self.build(state, message))

    async def count(self, fact: FactId) -> tuple[int, date | None]:
        """The days of a fact, and the day that counted last."""
        table = sql.Identifier(TABLES[fact.kind])
        async with self.memory.resources.database.owner() as owner:
            found = await owner.execute(
                sql.SQL("SELECT decay_days, last_counted_day FROM {} WHERE space_id = %s AND id = %s").format(table),
                [self.row.id, fact.number],
            )
            row = await found.fetchone()
        assert row is not None
        return row["decay_days"], row["last_counted_day"]

    async def days(self, fact: FactId) -> int:
        return (await self.count(fact))[0]

    async def set_days(self, fact: FactId, days: int) -> None:
        await self._sql(
            fact.kind,
            "UPDATE {} SET decay_days = %s, last_counted_day = NULL WHERE space_id = %s AND id = %s",
            days,
            fact=fact,
        )

    async def samples(self) -> list[dict[str, Any]]:
        """The samples of recall, oldest first."""
        async with self.memory.resources.database.owner() as owner:
            found = await owner.execute(
                "SELECT outcome, numbers FROM metric_samples WHERE space_id = %s AND metric = 'memory_recall'"
                " ORDER BY id",
                [self.row.id],
            )
            return [{"outcome": row["outcome"], **row["numbers"]} for row in await found.fetchall()]

    async def _sql(self, kind: FactKind, statement: Any, *values: object, fact: FactId | None = None) -> None:
        numbers = [self.row.id, *([fact.number] if fact else [])]
        async with self.memory.resources.database.owner() as owner:
            await owner.execute(sql.SQL(statement).format(sql.Identifier(TABLES[kind])), [*values, *numbers])


@asynccontextmanager
async def gather(urls: ServerUrls, clock: Clock, **settings: object) -> AsyncIterator[Guild]:
    """A guild in a space of its own."""
    embedder = ToldEmbedder()
    async with open_memory(urls, embedder, clock=clock, **settings) as memory:  # type: ignore[arg-type]
        name = f"guild-{secrets.token_hex(6)}"
        yield Guild(memory, memory.space(name), embedder, await memory.ensure_space(name))


def speaking(state: TurnState = STATE, **changes: Any) -> TurnState:
    return replace(state, **changes)
