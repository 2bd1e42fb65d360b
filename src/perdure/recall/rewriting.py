"""Other ways to ask: the subagent's rewrites of a query, when there is a subagent and it answers in time."""

from __future__ import annotations

from typing import Final

from perdure.errors import PerdureError
from perdure.llm import Ledger, Models, render
from perdure.llm.schemas import Rewrites
from perdure.recall.deadline import within
from perdure.text import clean, fold, says_something, truncate_bytes

QUERY_BYTES: Final = 2000
"""What is shown of a query that is as long as a letter."""


async def rewrites(models: Models, query: str, ledger: Ledger, *, seconds: float) -> tuple[tuple[str, ...], str]:
    """At most 3 other queries, and what went wrong, "" for nothing. Nothing is kept from one search to the next."""
    prompt = render("rewrite", query=truncate_bytes(query, QUERY_BYTES))
    try:
        answer = await within(
            seconds, models.ask("rewrite", prompt, Rewrites, ledger=ledger, live=True, deadline_s=seconds)
        )
    except TimeoutError:
        return (), f"no answer within {seconds:.3g} s"
    except PerdureError as error:
        return (), error.message
    others: dict[str, str] = {fold(query): query}
    for written in answer.value.queries:
        text = clean(written, "query").strip()
        if says_something(text):
            others.setdefault(fold(text), text)
    return tuple(others.values())[1:], ""
