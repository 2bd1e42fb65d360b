"""A chat loop around any model: recall before it speaks, capture after.

Run it with `python examples/chat_loop.py`; an empty line or Ctrl-D ends it. The "model" here repeats what it was given,
so that you see the prompt.
"""

from __future__ import annotations

import asyncio
import uuid

from perdure import Memory


async def chat(system: str, context: str, messages: list[dict[str, str]]) -> str:
    """Stands in for a call to your model."""
    return (
        f"[system] {system[:60]}…\n[context]\n{context or '(nothing recalled)'}\n[you said] {messages[-1]['content']}"
    )


def ask() -> str:
    """What the person types; empty at the end of the input."""
    try:
        return input("you> ").strip()
    except EOFError:
        return ""


async def main() -> None:
    async with Memory.open(progress=print) as memory:
        you = memory.space("you")
        messages: list[dict[str, str]] = []
        while text := await asyncio.to_thread(ask):
            recall = await you.recall(text, history=messages)
            messages.append({"role": "user", "content": text})
            reply = await chat(recall.prefix, recall.tail, messages)
            messages.append({"role": "assistant", "content": reply})
            print(reply)
            await you.capture(user=text, assistant=reply, recall=recall, operation_id=str(uuid.uuid4()))
        await you.drain()  # a program that stays open leaves this to its worker


if __name__ == "__main__":
    asyncio.run(main())
