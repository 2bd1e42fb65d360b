"""What Perdure asks of a language model, whoever serves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from pydantic import BaseModel

from perdure.llm.usage import Ledger

if TYPE_CHECKING:
    from perdure.llm.prompting import Prompt

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said. `text` is the answer alone: reasoning stands in `reasoning` and is never part of it."""

    text: str
    reasoning: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str


@dataclass(slots=True)
class Call:
    """On whose behalf a request is made, and what it may cost.

    `until` is a moment of the clock's monotonic time, in seconds; retries and the request itself end there. `live`: a
    turn waits for it, and waiting for a slot ends there, too. For background work `until` moves on while it waits for
    a slot: how much else there is to do says nothing about this request.
    """

    site: str
    role: str
    ledger: Ledger
    until: float
    max_tokens: int
    live: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """A further message of a conversation after the prompt: an unusable answer, or what was wrong with it."""

    role: str
    text: str


class LanguageModel(Protocol):
    """The three modes. All raise ModelUnavailable (an outage) or ModelFailed (an answer that can't be used)."""

    async def complete(self, prompt: Prompt, call: Call, said: Sequence[Said] = ()) -> Reply:
        """Free text, thinking on, streamed so that a stalled server is noticed."""
        ...

    async def complete_no_think(self, prompt: Prompt, call: Call, said: Sequence[Said] = ()) -> Reply:
        """Free text at once, without thinking."""
        ...

    async def complete_with_grammar(
        self, prompt: Prompt, schema: type[BaseModel], call: Call, said: Sequence[Said] = ()
    ) -> Reply:
        """JSON constrained to `schema` as far as the server can, without thinking; validating it is the caller's."""
        ...


class SynthesizeFunc(Protocol):
    """How the mission has a layer ask the thinker for free text; `Models.write` is what answers."""

    async def __call__(self, prompt: Prompt) -> str: ...


class GrammarSubagentFunc(Protocol):
    """How the mission has a layer ask the subagent for a validated answer; `Models.ask` is what answers."""

    async def __call__(self, prompt: Prompt, schema: type[M]) -> M: ...
