"""Reasoning told apart from the answer: it is kept for the person who looks, and never taken for what was said."""

from __future__ import annotations

import json
import re
from typing import Final

_TAGS: Final = "think|thinking|reasoning"
_BLOCK: Final = re.compile(rf"<({_TAGS})\b[^<>]*>.*?</\1\s*>|\[THINK\].*?\[/THINK\]", re.DOTALL | re.IGNORECASE)
_OPENED: Final = re.compile(rf"(?:<(?:{_TAGS})\b[^<>]*>|\[THINK\]).*\Z", re.DOTALL | re.IGNORECASE)
_CLOSED: Final = re.compile(rf"\A.*(?:</(?:{_TAGS})\s*>|\[/THINK\])", re.DOTALL | re.IGNORECASE)
_FINAL_CHANNEL: Final = "<|channel|>final<|message|>"
_CHANNEL: Final = "<|channel|>"
_TOKEN: Final = re.compile(r"<\|[a-z_]+\|>.*\Z", re.DOTALL)


def split_reasoning(content: str) -> tuple[str, str]:
    """`(answer, reasoning)` of a message's content.

    Understands closed blocks, one that was never closed (all of it is reasoning, the answer is empty), a lone closing
    tag (the template had opened the block already) and the channels of gpt-oss. A content that is JSON as a whole is
    an answer, whatever tags its strings quote.
    """
    if _is_json(content):
        return content.strip(), ""
    if _CHANNEL in content:
        before, final, answer = content.rpartition(_FINAL_CHANNEL)
        return (_TOKEN.sub("", answer).strip(), before) if final else ("", content)
    reasoning: list[str] = []

    def take(found: re.Match[str]) -> str:
        reasoning.append(found.group())
        return ""

    answer = content
    for pattern in (_BLOCK, _CLOSED, _OPENED):
        answer = pattern.sub(take, answer)
    return answer.strip(), "\n".join(reasoning)


def _is_json(content: str) -> bool:
    if content.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return False
    return True
