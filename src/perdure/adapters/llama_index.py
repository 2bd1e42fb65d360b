"""A memory block for LlamaIndex: it recalls for each turn, and captures what falls out of the short-term memory.

    block = PerdureMemoryBlock(space=space)
    memory = Memory.from_defaults(session_id="chat-7", memory_blocks=[block])

Needs `pip install 'perdure[llama-index]'`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock
from pydantic import Field, PrivateAttr

from perdure.adapters.calling import Caller
from perdure.adapters.tools import recalled
from perdure.ingest import ToolResult
from perdure.space import Space

_SESSION = "session_id"


class PerdureMemoryBlock(BaseMemoryBlock[str]):
    """Recalls the few memories that a turn needs, and captures exchanges.

    LlamaIndex hands a block the messages that fall out of its short-term memory. To have those captured that are still
    in it when a conversation ends, hand them in yourself: `await block.aput(await memory.aget_all(), session_id=...)`.
    What was captured before is not captured again.
    """

    name: str = "perdure"
    description: str | None = "What is remembered of the user and of earlier conversations."
    space: Any = Field(exclude=True, description="of perdure.Memory, on its event loop, or of perdure.sync.Memory")
    _caller: Caller = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Takes the event loop at hand for that of the memory."""
        super().model_post_init(context)
        self._caller = Caller(self.space)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        said = [message for message in messages or [] if message.role in (MessageRole.USER, MessageRole.ASSISTANT)]
        asked = next((at for at in reversed(range(len(said))) if said[at].role == MessageRole.USER), None)
        if asked is None or not (said[asked].content or "").strip():
            return ""
        history = [{"role": one.role.value, "content": one.content or ""} for one in said[:asked]]

        async def work(space: Space) -> str:
            return await recalled(space, said[asked].content or "", history)

        return await self._caller.call(work)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        exchanges = list(_exchanges(messages))

        async def work(space: Space) -> None:
            for each in exchanges:
                await space.capture(
                    each.user,
                    "\n".join(each.assistant),
                    [ToolResult(name, content) for name, content in each.tools],
                    conversation_id=each.session,
                    operation_id=each.operation_id,
                )

        await self._caller.call(work)


@dataclass(slots=True)
class _Exchange:
    """What a user said, and what came of it."""

    user: str = ""
    assistant: list[str] = field(default_factory=list)
    tools: list[tuple[str, str]] = field(default_factory=list)
    session: str | None = None

    @property
    def operation_id(self) -> str:
        """The same for the same words in the same session."""
        told = json.dumps([self.session, self.user, self.assistant, self.tools])
        return f"llama-index-{hashlib.sha256(told.encode()).hexdigest()}"


def _exchanges(messages: Sequence[ChatMessage]) -> Iterator[_Exchange]:
    """Each user message with the replies and tool results up to the next one; system messages are nobody's words."""
    current = _Exchange()
    for message in messages:
        text = message.content or ""
        if message.role == MessageRole.USER:
            if current.user or current.assistant:
                yield current
            current = _Exchange(text)
        elif message.role == MessageRole.ASSISTANT and text.strip():
            current.assistant.append(text)
        elif message.role in (MessageRole.TOOL, MessageRole.FUNCTION):
            current.tools.append((str(message.additional_kwargs.get("name") or "tool"), text))
        current.session = message.additional_kwargs.get(_SESSION) or current.session
    if current.user or current.assistant:
        yield current
