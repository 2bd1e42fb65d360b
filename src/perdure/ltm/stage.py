"""Whether facts can be dormant at all."""

from __future__ import annotations

from perdure.resources import Resources


def dormancy_possible(resources: Resources) -> bool:
    """Whether memories decay in this installation, and facts have the vectors without which nothing wakes them."""
    return resources.settings.memory_decay_enabled and resources.settings.fact_vectors
