"""How a tool call ends early: nothing is written, and the model is told what to do instead."""

from __future__ import annotations

from typing import NoReturn

from perdure.fact_types import FactId, FactOutcome, FactStatus


class Refused(Exception):
    """Carries the outcome of a call out of the checks, and out of a transaction, which it rolls back."""

    def __init__(self, outcome: FactOutcome) -> None:
        super().__init__(outcome.status)
        self.outcome = outcome


def refuse(
    status: FactStatus, message: str, *, known: FactId | None = None, candidates: tuple[str, ...] = ()
) -> NoReturn:
    """Ends a call with this status; `known` is the fact that stands in its way."""
    raise Refused(FactOutcome(status, message, id=known, candidates=candidates))
