"""A cognitive run over ten thousand memories of one day, with a model that answers at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import psycopg
from pydantic import BaseModel

from benchmarks.corpus import EPOCH, Corpus, Item, load_batch
from benchmarks.measuring import measured, say
from benchmarks.server import BenchServer
from perdure import Memory
from perdure.clock import SimulatedClock
from perdure.llm import Answer, Ledger, Models
from tests.doubles.embedder import HashedEmbedder

if TYPE_CHECKING:
    from perdure.llm.prompting import Prompt

M = TypeVar("M", bound=BaseModel)

MEMORIES: Final = {"S": 2_000, "M": 10_000, "L": 10_000}
DIMENSIONS: Final = 384
FIRST_ID: Final = 1_000_000
TOPICS: Final = 150
SPREAD: Final = 0.4
"""Two texts of a topic have a cosine of 1 / (1 + spread²) = 0.86."""
WEIGHTY: Final = 9.0
ANSWERS: Final[dict[str, dict[str, Any]]] = {
    "reflection": {
        "patterns": [{"text": "Much comes back.", "rests_on": [1, 2, 3]}],
        "evolving_interests": [],
        "connections": [],
        "predictions": [],
    },
    "episode": {"summary": "A day of many things, told in two sentences. It ended well.", "tags": ["day"]},
    "consolidation": {"profile_updates": [], "trait_updates": [], "merges": []},
}

# All of it came in today, and a hundredth of it is weighty.
TODAY: Final = """
    UPDATE memory_state SET created_at = %s, source_date = %s, decayed_at = %s, regressed_at = %s, audience = NULL,
        salience = CASE WHEN memory_id %% 100 = 0 THEN %s ELSE 5 END
"""


def _of_a_day(items: list[Item], seed: int) -> list[Item]:
    """The items with vectors of a day's topics, a few of them large, whose texts are near each other."""
    centres = np.random.default_rng(1).standard_normal((TOPICS, DIMENSIONS), dtype=np.float32)
    random = np.random.default_rng(seed)
    odds = 1 / np.arange(1, TOPICS + 1)
    topics = random.choice(TOPICS, len(items), p=odds / odds.sum())
    vectors = centres[topics] + SPREAD * random.standard_normal((len(items), DIMENSIONS), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [replace(item, vector=vector) for item, vector in zip(items, vectors, strict=True)]


class InstantModels(Models):
    """Answers at once what no script could answer better, and counts."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()

    def can(self, site: str) -> bool:
        return site in ANSWERS

    async def ask(
        self,
        site: str,
        prompt: Prompt,
        schema: type[M],
        *,
        ledger: Ledger,
        live: bool = False,
        deadline_s: float | None = None,
    ) -> Answer[M]:
        self.asked[site] += 1
        value = schema.model_validate(ANSWERS[site])
        return Answer(value, prompt.made_by("instant"), value.model_dump_json())


async def measure(server: BenchServer, size: str) -> dict[str, Any]:
    """Seconds of one run in a space whose memories all came in within a day."""
    memories, models = MEMORIES[size], InstantModels()
    with server.passing("thought_about") as urls:
        async with Memory.open(
            database_url=urls.app,
            database_worker_url=urls.worker,
            database_owner_url=urls.owner,
            embedder=HashedEmbedder(DIMENSIONS),
            models=models,
            worker=False,
            clock=SimulatedClock(EPOCH),
        ) as memory:
            space = memory.space("busy")
            await space.save("The first memory makes the family.")
            row = await memory.ensure_space("busy")
            with psycopg.connect(urls.owner, autocommit=True) as owner:
                first = FIRST_ID
                for batch in Corpus(memories, DIMENSIONS).batches():
                    load_batch(owner, row.id, memory.resources.family.id, first, _of_a_day(batch, first))
                    first += len(batch)
                owner.execute(TODAY, [EPOCH] * 4 + [WEIGHTY])
                owner.execute("VACUUM ANALYZE")
            server_cpu_s = -server.cpu_s()
            with measured() as took:
                report = await space.think()
            server_cpu_s += server.cpu_s()
    assert report.finished
    found = {
        "memories": memories,
        "seconds": round(took.wall_s, 2),
        "python_cpu_s": round(took.cpu_s, 2),
        "server_cpu_s": round(server_cpu_s, 2),
        "asked": dict(models.asked),
        "conclusions": {str(layer): count for layer, count in report.conclusions.items()},
    }
    say(f"cognition: {found}")
    return found
