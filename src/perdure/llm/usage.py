"""What language models were asked and what it cost: collected while work runs, stored with its outcome."""

from __future__ import annotations

from dataclasses import dataclass, field

from perdure.observing import ModelAsked, observe


@dataclass(frozen=True, slots=True)
class ModelUse:
    """One request to a model, failed ones included.

    Tokens are the server's own count, or a quarter of the characters where it counts none. `live` requests are those
    a turn waited for; they are outside the budget of background work.
    """

    call_site: str
    role: str
    model: str
    ok: bool
    prompt_tokens: int
    completion_tokens: int
    latency_ms: float
    live: bool = False


@dataclass(slots=True)
class Ledger:
    """Collects `uses` in the order in which requests ended, until they are stored."""

    uses: list[ModelUse] = field(default_factory=list)

    def record(self, use: ModelUse) -> None:
        self.uses.append(use)
        observe(
            ModelAsked(use.call_site, use.role, use.ok, use.latency_ms / 1000, use.prompt_tokens, use.completion_tokens)
        )

    def stored(self) -> None:
        """All of it is in the database, and not to be stored again."""
        self.uses.clear()


def estimated_tokens(text: str) -> int:
    """Tokens of a text whose server doesn't count them: four characters each, which is about right for English."""
    return (len(text) + 3) // 4
