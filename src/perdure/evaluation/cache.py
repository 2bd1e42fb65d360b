"""What is kept between runs: embeddings by text and family, and the answers of a run that was interrupted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from filelock import FileLock

from perdure.clock import Clock
from perdure.embedding import Calibration, Embedder, Kind, Matrix
from perdure.types import Family

KEY_BYTES: Final = 16
PIECE: Final = 64
"""Texts embedded between two writes: what a killed run loses at most."""
_NORM_TOLERANCE: Final = 1e-3


def key_of(*parts: str) -> str:
    """A short name of these parts, the same on every machine."""
    digest = hashlib.blake2b(digest_size=KEY_BYTES)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8) + data)
    return digest.hexdigest()


class CachedEmbedder:
    """An `Embedder` over another one that embeds no text twice, not even in another process or on another day.

    Vectors lie in one file per family: records of a text's key, the milliseconds that embedding it took if it was
    embedded alone (else NaN), and its vector. Records are appended whole; a torn or damaged one is embedded anew.
    """

    def __init__(self, inner: Embedder, directory: Path, clock: Clock) -> None:
        self._inner, self._clock = inner, clock
        family = inner.family
        named = key_of(family.name, family.provider, family.model, family.query_prefix, family.document_prefix)
        self._record = np.dtype(
            [("key", f"S{2 * KEY_BYTES}"), ("took_ms", "<f4"), ("vector", "<f4", (family.dimensions,))]
        )
        directory.mkdir(parents=True, exist_ok=True)
        self._path = directory / f"{named[:16]}-{family.dimensions}.vectors"
        self._lock = FileLock(f"{self._path}.lock")
        self._places: dict[str, int] = {}
        self._records = np.empty(0, self._record)
        self._count = 0
        self.embedded = 0
        """Texts that the inner embedder had to embed."""
        self._load()

    @property
    def family(self) -> Family:
        return self._inner.family

    @property
    def calibration(self) -> Calibration | None:
        return self._inner.calibration

    async def embed(self, texts: Sequence[str], kind: Kind) -> Matrix:
        keys = [key_of(kind, text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._places}
        # By length, so that a batch of the model holds texts of one length and hardly any padding.
        todo = sorted(missing.items(), key=lambda item: len(item[1]))
        if todo and self.embedded == 0:
            await self._inner.embed(["warm"], kind)  # a model loads at its first use, which is no part of `took_ms`
        for start in range(0, len(todo), PIECE):
            piece = todo[start : start + PIECE]
            began = self._clock.monotonic()
            vectors = await self._inner.embed([text for _, text in piece], kind)
            took = (self._clock.monotonic() - began) * 1000
            self._keep([key for key, _ in piece], took if len(texts) == 1 else float("nan"), vectors)
        rows = self._records["vector"][[self._places[key] for key in keys]]
        return np.asarray(rows, np.float32).reshape(len(texts), self.family.dimensions)

    def took_ms(self, text: str, kind: Kind) -> float | None:
        """Milliseconds that embedding this text by itself took when it was done; None if that was never measured."""
        place = self._places.get(key_of(kind, text))
        took = float("nan") if place is None else float(self._records["took_ms"][place])
        return None if np.isnan(took) else took

    async def close(self) -> None:
        await self._inner.close()

    def _load(self) -> None:
        if not self._path.exists():
            return
        whole = self._path.stat().st_size // self._record.itemsize
        records = np.fromfile(self._path, self._record, count=whole)
        norms = np.linalg.norm(records["vector"].astype(np.float64), axis=1)
        self._add(records[np.abs(norms - 1) < _NORM_TOLERANCE])

    def _keep(self, keys: Sequence[str], took_ms: float, vectors: Matrix) -> None:
        records = np.empty(len(keys), self._record)
        records["key"] = [key.encode() for key in keys]
        records["took_ms"] = took_ms
        records["vector"] = vectors
        with self._lock, self._path.open("ab") as file:
            torn = file.tell() % self._record.itemsize
            if torn:
                file.truncate(file.tell() - torn)
            file.write(records.tobytes())
        self.embedded += len(keys)
        self._add(records)

    def _add(self, records: np.ndarray) -> None:
        if self._count + len(records) > len(self._records):
            grown = np.empty(max(1024, 2 * (self._count + len(records))), self._record)
            grown[: self._count] = self._records[: self._count]
            self._records = grown
        self._records[self._count : self._count + len(records)] = records
        for place, key in enumerate(records["key"], start=self._count):
            self._places[bytes(key).decode("ascii", "replace")] = place
        self._count += len(records)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The answers of one run so far, by key; a run that reaches its end forgets them."""

    path: Path

    def read(self) -> dict[str, Mapping[str, object]]:
        """What earlier, interrupted attempts at this run have answered; a torn last line is passed over."""
        if not self.path.exists():
            return {}
        found: dict[str, Mapping[str, object]] = {}
        for line in self.path.read_text("utf-8", "replace").splitlines():
            try:
                entry = json.loads(line)
                found[str(entry["key"])] = entry["answer"]
            except (ValueError, KeyError, TypeError):
                continue
        return found

    def add(self, key: str, answer: Mapping[str, object]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, "answer": answer}) + "\n")

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)
