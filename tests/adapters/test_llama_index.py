"""The memory block, in the memory of the real LlamaIndex."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory

from perdure.adapters.llama_index import PerdureMemoryBlock
from tests.adapters.conftest import alone

if TYPE_CHECKING:
    from perdure import Space, sync


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def assistant(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


def memory_with(block: PerdureMemoryBlock, **options: object) -> Memory:
    return Memory.from_defaults(session_id="chat", memory_blocks=[block], tokenizer_fn=str.split, **options)


async def test_what_a_turn_needs_stands_in_its_prompt(space: Space) -> None:
    await space.save("Ada is allergic to peanuts", salience=9)
    memory = memory_with(PerdureMemoryBlock(space=space))
    prompt = await memory.aget(input="Am I allergic to peanuts?")
    assert prompt[0].role == "system"
    assert "<perdure>" in (prompt[0].content or "")
    assert "Ada is allergic to peanuts" in (prompt[0].content or "")


async def test_a_turn_that_needs_nothing_gets_nothing(space: Space) -> None:
    await space.save("Ada is allergic to peanuts", salience=9)
    memory = memory_with(PerdureMemoryBlock(space=space))
    assert await memory.aget(input="hi") == []
    assert await memory.aget() == []


async def test_what_falls_out_of_the_short_term_memory_is_captured(space: Space) -> None:
    memory = memory_with(PerdureMemoryBlock(space=space), token_limit=60, token_flush_size=10)
    for number in range(8):
        await memory.aput(user(f"My locker at the swimming pool in house {number} has the number {number}{number}"))
        await memory.aput(assistant(f"I will remember that locker {number}{number} is yours in house {number}"))
    waiting = (await space.stats()).pending
    assert 1 <= waiting < 8
    await space.drain()
    found = await space.search("locker number house 0")
    assert "house 0" in found.hits[0].memory.summary


async def test_what_was_captured_is_not_captured_again(space: Space) -> None:
    block = PerdureMemoryBlock(space=space)
    talk = [
        user("I moved to Rome in May"),
        ChatMessage(role="tool", content="Rome: 22 degrees", additional_kwargs={"name": "weather"}),
        assistant("How nice. It is warm there."),
        user("My sister Eva stayed in Oslo"),
        assistant("I see."),
    ]
    await block.aput(talk[:3], session_id="chat")
    await block.aput(talk, session_id="chat")
    assert (await space.stats()).pending == 2
    await block.aput(talk[3:], session_id="another")
    assert (await space.stats()).pending == 3


async def test_system_messages_are_nobodys_words(space: Space) -> None:
    block = PerdureMemoryBlock(space=space)
    await block.aput([ChatMessage(role="system", content="You live in a lighthouse.")])
    assert await space._memory.find_space(space.name) is None


def test_without_an_event_loop_it_does_the_same(blocking: sync.Space) -> None:
    blocking.save("Ada is allergic to peanuts", salience=9)
    memory = memory_with(PerdureMemoryBlock(space=blocking))
    prompt = alone(lambda: memory.get(input="Am I allergic to peanuts?"))
    assert "Ada is allergic to peanuts" in (prompt[0].content or "")
