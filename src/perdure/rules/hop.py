"""One step beyond what a query finds: memories that share a name with a hit, worth less than the hit."""

from __future__ import annotations

from typing import Final

HOP_ROWS: Final = 3
"""Memories that a search reaches this way, at most (mission)."""

HOP_SHARE: Final = 0.8
"""What is left of a similarity after the step (mission)."""

COMMON_ENTITY: Final = 200
COMMON_SHARE: Final = 0.05
COMMON_AT_LEAST: Final = 5
"""A name is too common to lead anywhere when more than a twentieth of the memories carry it, at least 5, or 200."""


def too_common(memories: int) -> int:
    """How many of `memories` may carry a name that is followed."""
    return min(COMMON_ENTITY, max(COMMON_AT_LEAST, int(COMMON_SHARE * memories)))


def hopped(own: float, leading: float) -> float:
    """The similarity that a memory is judged by after the step: 0.8 of the hit's or of its own, whichever is more.

    Both are similarities of which 0 means unrelated. What is less than unrelated is not lifted by being cut.
    """
    best = max(own, leading)
    return HOP_SHARE * best if best > 0 else own
