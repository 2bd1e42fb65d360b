"""Two short bit strings per memory that let one index scan judge thousands of rows: where it points, what it says.

Both are only used to choose candidates; what is chosen is then ranked by the exact distance and the exact lexical
score. They lie in memory_state and in its index of what a memory is worth. A row without them is judged as unrelated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

SKETCH_BITS: Final = 256
"""Length of `memory_state.sketch`: the angle between two vectors comes out to within about 0.1 radian."""

SIGNATURE_BITS: Final = 512
"""Length of `memory_state.signature`: a text of 20 terms sets 4 % of the bits."""

BY_ITSELF: Final = 4


def sketches(vectors: npt.NDArray[np.float32]) -> list[str]:
    """The sketch of each row of `vectors` (n × dimensions), as the text of a bit string.

    Bit i says on which side of a hyperplane the vector lies, so that two vectors differ in a share of the bits that
    grows with the angle between them (Charikar 2002). The planes depend on nothing but the dimensions.
    """
    planes = _planes(vectors.shape[-1])
    # A lone query stays away from BLAS, whose threads would spin on the cores that the database needs.
    sides = np.einsum("ij,nj->ni", planes, vectors) > 0 if len(vectors) < BY_ITSELF else vectors @ planes.T > 0
    return [row.tobytes().decode("ascii") for row in sides + np.uint8(ord("0"))]


def term_position(term: str) -> int:
    """The bit of a signature that stands for a term."""
    return crc32(term.encode()) % SIGNATURE_BITS


def entity_position(key: str) -> int:
    """The bit of a signature that stands for an entity key."""
    return crc32(b"entity " + key.encode()) % SIGNATURE_BITS


def signature(terms: Iterable[str], entity_keys: Iterable[str]) -> str:
    """The signature of a memory with these terms and entities, as the text of a bit string."""
    return mask({*map(term_position, terms), *map(entity_position, entity_keys)})


def mask(positions: Iterable[int]) -> str:
    """These bits of a signature, as the text of a bit string."""
    bits = bytearray(b"0" * SIGNATURE_BITS)
    for position in positions:
        bits[position] = ord("1")
    return bits.decode()


@lru_cache(maxsize=8)
def _planes(dimensions: int) -> npt.NDArray[np.float32]:
    """The hyperplanes, as rows of ±1. From a hash and not a random generator: they must never change."""
    seed = hashlib.shake_256(f"perdure sketch {dimensions}".encode()).digest(dimensions * SKETCH_BITS // 8)
    bits = np.unpackbits(np.frombuffer(seed, dtype=np.uint8)).reshape(dimensions, SKETCH_BITS)
    return np.ascontiguousarray(bits.T.astype(np.float32) * 2 - 1)
