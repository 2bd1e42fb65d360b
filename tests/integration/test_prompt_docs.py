"""docs/prompt.md shows one prompt and what it saves: the same turns give these texts.

A change of the blocks changes them: the failing test shows what the page has to say.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from perdure import Participant, Savings, TurnState
from perdure.context import LAYOUTS, BlockName, require_layout
from perdure.embedding import open_embedder
from tests.doubles.clock import SkippingClock
from tests.integration.conftest import open_memory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from perdure import Context
    from perdure.store.embedded import ServerUrls

PAGE = (Path(__file__).parents[2] / "docs" / "prompt.md").read_text("utf-8")
OURS = "You are Momo, a friend of few words."
RULES = b"House rules: whoever puts a spare key somewhere tells the porter where it is."
QUESTION = "Where did I put the spare key?"


@pytest.fixture(scope="module")
async def example(
    test_server, template_database, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Context, Savings]]:
    name = f"perdure_prompt_{secrets.token_hex(4)}"
    urls = test_server.make(name, template_database)
    embedder = open_embedder("local", cache_dir=tmp_path_factory.mktemp("cache"))
    clock = SkippingClock(datetime(2026, 11, 20, 9, tzinfo=UTC))
    async with open_memory(urls, embedder, clock=clock) as memory:
        bot = memory.space("bot")
        momo = await bot.persona("Momo")
        await bot.remember("{bot} answers in one sentence here", about="server:guild", persona=momo)
        await bot.remember("{user} is vegan", about="person:9", persona=momo)
        await bot.remember("{user} put the spare key under the blue flowerpot", about="person:9", persona=momo)
        await bot.remember("{user} collects stamps", about="person:7", persona=momo)
        await bot.remember("The porter has a ladder", about="server:guild", persona=momo, tags=["key", "roof"])
        await bot.add_document(RULES, name="house-rules.md", server="guild")
        await bot.save("Ada lost the spare key of the boat once", speaker="Ada", source_date="2026-08-02")
        await memory.resources.noise.load()
        ada, lin = Participant("9", "Ada", ("Countess",)), Participant("7", "Lin")
        state = TurnState("guild", "kitchen", momo, ada, (ada, lin))
        for greeting in ("Good morning everybody", "How are you?"):
            await after(await bot.context(greeting, state=state, instructions=OURS), bot, memory)
        sleep(urls)
        clock.advance(timedelta(days=9))
        await bot.capture(user="I came home without the key", speaker="Ada")
        context = await bot.context(QUESTION, state=state, instructions=OURS)
        await after(context, bot, memory)
        for answer in ("Thanks!", "And good night"):
            await after(await bot.context(answer, state=state, instructions=OURS), bot, memory)
        yield context, await bot.savings()
    test_server.drop(name)


async def after(context: Context, bot, memory) -> None:
    assert context.degraded == ()
    await bot.capture(user=context.query, recall=context)
    await asyncio.gather(*memory.resources.afterwards)


def sleep(urls: ServerUrls) -> None:
    """Lets the fact about the key have lost on eight days."""
    with psycopg.connect(urls.owner, autocommit=True) as connection:
        connection.execute("UPDATE personal_memories SET decay_days = 8 WHERE content LIKE '%spare key%'")


def shown(context: Context) -> str:
    return f"{context.prefix}\n\n...\n\n{context.tail}"


async def test_the_page_shows_the_prompt_as_it_is(example: tuple[Context, Savings]) -> None:
    found = re.search(r"## One prompt\n.*?```text\n(.*?)\n```", PAGE, re.DOTALL)
    assert found is not None
    assert found[1] == shown(example[0])


async def test_the_page_shows_what_was_saved_as_it_is(example: tuple[Context, Savings]) -> None:
    found = re.search(r"## What it saves\n.*?```text\n(.*?)\n```", PAGE, re.DOTALL)
    assert found is not None
    assert found[1] == told(example[1])


def told(savings: Savings) -> str:
    numbers = [f"{one.name}={getattr(savings, one.name)}" for one in fields(savings)]
    derived = [f"{name}={getattr(savings, name)}" for name in ("saved_tokens", "embedding_tokens", "thrash_ratio")]
    return "\n".join([" ".join(numbers[:5]), " ".join(numbers[5:]), " ".join(derived)])


def test_the_page_names_every_block_and_layout() -> None:
    assert all(f"`{name}`" in PAGE for name in BlockName)
    for slot in LAYOUTS["preset"].slots:
        assert f"| `{slot.name}` | {slot.role} | {', '.join(slot.blocks)} |" in PAGE


def test_the_layout_on_the_page_is_one() -> None:
    found = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    assert require_layout(json.loads(found[1])).name == "mine"
