"""consult_deep_thinker: a hard question is put to the thinker, which may look into the memories for itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from perdure.cognition.showing import line
from perdure.errors import ModelFailed
from perdure.llm import Ledger, render
from perdure.recall import Sought, search
from perdure.resources import Resources
from perdure.store.database import SpaceTransaction
from perdure.store.spaces import SpaceRow
from perdure.store.usage import record_usage
from perdure.text import mask, truncate_chars
from perdure.types import Filters, Id, StoredMemory

SITE: Final = "consult_deep_thinker"
FIRST: Final = 3
"""Memories that the question itself brings (spec: 3)."""
SEARCHES: Final = 2
"""Further searches that the thinker may make (spec: 2) …"""
FOUND: Final = 5
"""… and memories that each of them brings (spec: 5)."""
_WANTS: Final = re.compile(r"\s*SEARCH:\s*(\S.*?)\s*", re.IGNORECASE | re.DOTALL)
_QUERY_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class Consultation:
    """What the thinker concluded.

    Attributes:
        answer: its words; nobody's fact until somebody says so.
        memory_ids: the memories that it was shown.
        searches: what it looked for besides.
        made_by: prompt, version and model.
        degraded: what a search had to do without.
    """

    answer: str
    memory_ids: tuple[Id, ...]
    searches: tuple[str, ...]
    made_by: str
    degraded: tuple[str, ...] = ()


async def consult(
    resources: Resources, space: SpaceRow, question: str, *, audience: str | None, now: datetime
) -> Consultation:
    """The thinker's answer, thinking on; writes nothing but what it cost.

    Raises:
        ModelUnavailable, ModelFailed, DatabaseUnavailable.
    """
    ledger = Ledger()
    shown: dict[int, StoredMemory] = {}
    degraded: dict[str, None] = {}
    searches: list[str] = []

    async def look(query: str, limit: int) -> None:
        sought = Sought(audience, Filters(), limit, plain=True)
        found = await search(resources, space, query, sought, deadline_s=resources.settings.search_deadline_s)
        shown.update((hit.memory.id, hit.memory) for hit in found.hits)
        degraded.update(dict.fromkeys(found.degraded))

    try:
        await look(question, FIRST)
        while True:
            left = SEARCHES - len(searches)
            prompt = render(
                "deep_thinker",
                now=now.isoformat(),
                searches_left=str(left),
                question=question,
                memories=_told(list(shown.values())),
            )
            answer = await resources.models.write(SITE, prompt, ledger=ledger, live=True)
            wanted = _WANTS.fullmatch(answer.value)
            if wanted is not None and left == 0:
                raise ModelFailed("The thinker went on searching instead of answering.", answer=answer.value)
            if wanted is None:
                return Consultation(
                    mask(answer.value.strip()).text, tuple(shown), tuple(searches), answer.made_by, tuple(degraded)
                )
            searches.append(truncate_chars(wanted[1], _QUERY_CHARS))
            await look(searches[-1], FOUND)
    finally:

        async def count(tx: SpaceTransaction) -> None:
            await record_usage(tx, ledger.uses)

        if ledger.uses:
            await resources.database.in_space(space.id, count)


def _told(memories: Sequence[StoredMemory]) -> str:
    return "\n".join(f"[{memory.id}] {line(memory)}" for memory in memories)
