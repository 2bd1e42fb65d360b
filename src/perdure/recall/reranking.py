"""The last look at what was found: which hits answer the question, by the subagent, constrained to their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.errors import PerdureError
from perdure.llm import Ledger, Models, render
from perdure.llm.schemas import Ranking
from perdure.recall.deadline import within
from perdure.recall.rewriting import QUERY_BYTES
from perdure.text import truncate_bytes
from perdure.types import Hit

RERANKED: Final = 20
"""Hits that are shown to the model; the others keep their order behind them."""

NOTE_BYTES: Final = 480
"""What is shown of each: 20 of them and the answer fit into 8,192 tokens in any script."""


async def reranked(
    models: Models, query: str, hits: Sequence[Hit], ledger: Ledger, *, seconds: float
) -> tuple[list[Hit], str]:
    """The hits, those first that the model named, in its order; and what went wrong, "" for nothing.

    Numbers that stand for no hit count as not said. Where none is left, the hits stay as they are.
    """
    shown = hits[:RERANKED]
    prompt = render("rerank", query=truncate_bytes(query, QUERY_BYTES), notes="\n".join(_notes(shown)))
    try:
        answer = await within(
            seconds, models.ask("rerank", prompt, Ranking, ledger=ledger, live=True, deadline_s=seconds)
        )
    except TimeoutError:
        return list(hits), f"no answer within {seconds:g} s"
    except PerdureError as error:
        return list(hits), error.message
    numbers = answer.value.numbers
    places = dict.fromkeys(number - 1 for number in numbers if number <= len(shown))
    if numbers and not places:
        return list(hits), f"the model named none of the {len(shown)} hits"
    return [*(shown[place] for place in places), *(hit for place, hit in enumerate(hits) if place not in places)], ""


def _notes(hits: Sequence[Hit]) -> list[str]:
    lines = []
    for number, hit in enumerate(hits, 1):
        memory = hit.memory
        who = f", {memory.speaker}" if memory.speaker else ""
        words = " ".join(truncate_bytes(memory.summary, NOTE_BYTES).split())
        lines.append(f"{number}. [{memory.source_date:%Y-%m-%d}{who}] {words}")
    return lines
