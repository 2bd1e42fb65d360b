"""Importing with the vectors at hand: the product's own path, from messages to committed memories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.corpus import Corpus
from benchmarks.measuring import measured, say, summary
from benchmarks.server import BenchServer, open_database
from perdure.embedding import Calibration, Kind, Matrix, NoiseLevel
from perdure.embedding.port import checked
from perdure.ingest.importing import BatchReport, batches, import_batch
from perdure.resources import Resources
from perdure.settings import Settings, load_settings
from perdure.store.families import build_index, create_family
from perdure.store.spaces import SpaceRow, create_space
from perdure.types import Family, Message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from perdure.store.embedded import ServerUrls

DIMENSIONS: Final = 384
BEFORE_INDEX: Final = 10_000
BESIDE_INDEX: Final = 2_000
SPACE: Final = "imported"
SPEAKERS: Final = ("Ada", "Benjamín")
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


@dataclass(frozen=True, slots=True)
class PreparedVectors:
    """An `Embedder` that hands out vectors made beforehand, by the text without its speaker's name."""

    family: Family
    vectors: dict[str, Matrix]
    calibration: Calibration | None = None

    async def embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
        found = [self.vectors[text.rpartition(": ")[2]] for text in texts]
        return checked(found, len(texts), self.family.dimensions, "The made-up corpus")

    async def close(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Prepared:
    """Messages and the embedder that knows their vectors."""

    messages: list[Message]
    embedder: PreparedVectors


def prepare(count: int) -> Prepared:
    """`count` made-up messages of 6 to 24 words; their vectors are not normalised, as an endpoint's may be."""
    corpus = Corpus(count, DIMENSIONS, seed=3)
    messages: list[Message] = []
    vectors: dict[str, Matrix] = {}
    for item in (item for batch in corpus.batches() for item in batch):
        number = len(messages)
        text = _sentence(item.words) + ("?" if item.is_question else ".")
        vectors[text] = item.vector * np.float32(3)
        speaker = SPEAKERS[number % len(SPEAKERS)]
        messages.append(Message(f"m{number}", text, speaker, item.source_date, item.conversation))
    return Prepared(messages, PreparedVectors(Family("prepared", "bench", "none", DIMENSIONS), vectors))


def _sentence(words: Sequence[str]) -> str:
    return " ".join(_spoken(int(word[1:])) for word in words).capitalize()


def _spoken(number: int) -> str:
    """Number `number` of the vocabulary as syllables, so that it is split and stemmed as a word is."""
    syllables = ""
    while number or not syllables:
        number, rest = divmod(number, len(_CONSONANTS) * len(_VOWELS))
        syllables += _CONSONANTS[rest // len(_VOWELS)] + _VOWELS[rest % len(_VOWELS)]
    return syllables


@asynccontextmanager
async def empty_family(urls: ServerUrls, prepared: Prepared) -> AsyncIterator[tuple[Resources, SpaceRow]]:
    """What `Memory` would open, but for the index of the family, which waits until after the import."""
    settings: Settings = load_settings()
    async with open_database(urls) as database:
        family = await create_family(database, prepared.embedder.family, index=False)
        resources = Resources(
            database, prepared.embedder, family, settings, NoiseLevel(prepared.embedder), {family.id: family.name}
        )
        yield resources, await database.across(lambda tx: create_space(tx, SPACE))


async def measure(
    server: BenchServer, resources: Resources, space: SpaceRow, messages: Sequence[Message]
) -> dict[str, Any]:
    """Speed of an import into a family without an index, the time of building that, and the speed beside it."""
    empty = await _import(server, resources, space, messages[:BEFORE_INDEX])
    say(f"import into an empty family: {empty['per_second']:.0f} memories/s")
    with measured() as building:
        await build_index(resources.database, resources.family)
    living = await _import(server, resources, space, messages[BEFORE_INDEX:])
    say(f"index built in {building.wall_s:.1f} s; import beside it: {living['per_second']:.0f} memories/s")
    return {
        "dimensions": DIMENSIONS,
        "empty": empty,
        "index_s": round(building.wall_s, 2),
        "per_second_with_index_build": round(empty["memories"] / (empty["seconds"] + building.wall_s), 1),
        "living": living,
    }


async def _import(
    server: BenchServer, resources: Resources, space: SpaceRow, messages: Sequence[Message]
) -> dict[str, Any]:
    total = BatchReport()
    times: list[float] = []
    server_cpu_s = -server.cpu_s()
    with measured() as all_of_it:
        for batch in _batches(messages):
            with measured() as took:
                total += await import_batch(resources, space, "bench", batch)
            times.append(took.ms)
    server_cpu_s += server.cpu_s()
    return {
        "memories": total.stored,
        "merged": total.merged,
        "seconds": round(all_of_it.wall_s, 2),
        "python_cpu_s": round(all_of_it.cpu_s, 2),
        "server_cpu_s": round(server_cpu_s, 2),
        "per_second": round(total.stored / all_of_it.wall_s, 1),
        "batch_ms": summary(times),
    }


def _batches(messages: Sequence[Message]) -> Iterator[list[Message]]:
    return (batch for _, batch in batches(messages))
