"""Which completions may be taken for an answer at all."""

from __future__ import annotations

from typing import Final

from perdure.errors import ModelFailed
from perdure.llm.port import Reply
from perdure.llm.reasoning import split_reasoning
from perdure.llm.usage import estimated_tokens
from perdure.llm.wire import Completion

KEPT_CHARS: Final = 20_000
"""Of an unusable answer, for the person who looks into it."""

_TRUNCATED: Final = frozenset({"length", "max_tokens", "model_length"})
_WITHHELD: Final = frozenset({"content_filter", "refusal", "safety"})


def read_reply(completion: Completion, model: str, asked: str) -> Reply:
    """The reply in `completion` of `model` to the text `asked`.

    Raises ModelFailed, with what was said, for an answer that is empty, withheld, cut off, or nothing but reasoning:
    reasoning is never taken for the answer.
    """
    raw = completion.text
    answer, inside = split_reasoning(raw)
    reasoning = "\n".join(part for part in ("".join(completion.reasoning), inside) if part)
    finish = completion.finish_reason or "stop"
    if completion.refusal or finish in _WITHHELD:
        raise _failed(model, "withheld its answer", completion.refusal or raw)
    if finish in _TRUNCATED:
        hint = "If this is common, the model's context is too small or it thinks when told not to."
        raise _failed(model, "ran out of tokens before its answer was complete", raw or reasoning, hint)
    if not answer:
        why = "only thought, and gave no answer" if reasoning else "gave an empty answer"
        raise _failed(model, why, raw or reasoning)
    return Reply(answer, reasoning, *count_tokens(completion, asked), finish)


def count_tokens(completion: Completion, asked: str) -> tuple[int, int]:
    """Tokens of prompt and completion: as the server counted them, else estimated."""
    written = completion.text + "".join(completion.reasoning)
    return (
        estimated_tokens(asked) if completion.prompt_tokens is None else completion.prompt_tokens,
        estimated_tokens(written) if completion.completion_tokens is None else completion.completion_tokens,
    )


def _failed(model: str, reason: str, raw: str, hint: str | None = None) -> ModelFailed:
    return ModelFailed(f"The model {model} {reason}.", answer=raw[:KEPT_CHARS], hint=hint)
