"""What a scripted model says: words, or a call of a tool."""

from __future__ import annotations

import json
from typing import Any

from tests.doubles.chat_server import Raw


def says(text: str) -> Raw:
    return _completion({"role": "assistant", "content": text}, "stop")


def calls_tool(name: str, **arguments: Any) -> Raw:
    called = {"id": "call-1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return _completion({"role": "assistant", "content": None, "tool_calls": [called]}, "tool_calls")


def _completion(message: dict[str, Any], reason: str) -> Raw:
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    told = {"id": "c", "object": "chat.completion", "created": 1764547200, "model": "m", "choices": [choice]}
    return Raw(json.dumps({**told, "usage": usage}).encode())
