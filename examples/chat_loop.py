"""A chat loop around any model: recall before it speaks, capture after.

Run it with `python examples/chat_loop.py`; the "model" here repeats what it was given, so that you see the prompt.
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


async def main() -> None:
    async with Memory.open(progress=print) as memory:
        you = memory.space("you")
        messages: list[dict[str, str]] = []
        while text := (await asyncio.to_thread(input, "you> ")).strip():
            recall = await you.recall(text, history=messages)
            messages.append({"role": "user", "content": text})
            reply = await chat(recall.prefix, recall.tail, messages)
            messages.append({"role": "assistant", "content": reply})
            print(reply)
            await you.capture(user=text, assistant=reply, recall=recall, operation_id=str(uuid.uuid4()))


if __name__ == "__main__":
    asyncio.run(main())
