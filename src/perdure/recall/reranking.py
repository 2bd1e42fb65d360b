"""The last look at what was found: which hits answer the question.

Asked is a reranker, which scores each text by itself, or the subagent, which is constrained to the numbers of the hits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.errors import ModelFailed, PerdureError
from perdure.llm import Ledger, Models, RerankEndpoint, render
from perdure.llm.schemas import Ranking
from perdure.recall.deadline import within
from perdure.recall.rewriting import QUERY_BYTES
from perdure.text import truncate_bytes
from perdure.types import Hit

RERANKED: Final = 20
"""Hits that are shown to the model; the others keep their order behind them."""

NOTE_BYTES: Final = 480
"""What the subagent sees of each: 20 of them and the answer fit into 8,192 tokens in any script."""

SCORED_BYTES: Final = 1200
"""What a reranker sees of each: a whole memory, of which such a model reads the first 512 tokens."""


def can_rerank(models: Models) -> bool:
    """Whether anybody is configured who puts hits in order."""
    return models.reranker is not None or models.can("rerank")


async def reranked(
    models: Models, query: str, hits: Sequence[Hit], ledger: Ledger, *, seconds: float
) -> tuple[list[Hit], str]:
    """The hits in the order of the reranker if there is one, else of the subagent; and what went wrong, "" for nothing.

    Where it went wrong, the hits stay as they are.
    """
    shown, shortened = hits[:RERANKED], truncate_bytes(query, QUERY_BYTES)
    work = (
        _named(models, shortened, shown, ledger, seconds)
        if models.reranker is None
        else _scored(models.reranker, shortened, shown, ledger, seconds)
    )
    try:
        places = await within(seconds, work)
    except TimeoutError:
        return list(hits), f"no answer within {seconds:.3g} s"
    except PerdureError as error:
        return list(hits), error.message
    return [*(shown[place] for place in places), *(hit for place, hit in enumerate(hits) if place not in places)], ""


async def _named(models: Models, query: str, hits: Sequence[Hit], ledger: Ledger, seconds: float) -> dict[int, None]:
    """The places that the subagent names, best first. Numbers that stand for no hit count as not said."""
    prompt = render("rerank", query=query, notes="\n".join(_notes(hits)))
    answer = await models.ask("rerank", prompt, Ranking, ledger=ledger, live=True, deadline_s=seconds)
    numbers = answer.value.numbers
    places = dict.fromkeys(number - 1 for number in numbers if number <= len(hits))
    if numbers and not places:
        raise ModelFailed(f"the model named none of the {len(hits)} hits", answer=answer.text)
    return places


async def _scored(
    reranker: RerankEndpoint, query: str, hits: Sequence[Hit], ledger: Ledger, seconds: float
) -> dict[int, None]:
    """All places by the score that a reranker gives their texts; of equal ones the better hit first."""
    texts = [truncate_bytes(_said(hit), SCORED_BYTES) for hit in hits]
    scores = await reranker.scores(query, texts, ledger=ledger, seconds=seconds)
    return dict.fromkeys(sorted(range(len(hits)), key=lambda place: (-scores[place], place)))


def _said(hit: Hit) -> str:
    return f"{hit.memory.speaker}: {hit.memory.summary}" if hit.memory.speaker else hit.memory.summary


def _notes(hits: Sequence[Hit]) -> list[str]:
    lines = []
    for number, hit in enumerate(hits, 1):
        memory = hit.memory
        who = f", {memory.speaker}" if memory.speaker else ""
        words = " ".join(truncate_bytes(memory.summary, NOTE_BYTES).split())
        lines.append(f"{number}. [{memory.source_date:%Y-%m-%d}{who}] {words}")
    return lines
