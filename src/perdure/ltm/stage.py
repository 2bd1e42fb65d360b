"""Whether facts can be dormant at all."""

from __future__ import annotations

from perdure.resources import Resources


def dormancy_possible(resources: Resources) -> bool:
    """Whether memories decay in this installation; pgvector and an embedding model are there wherever Perdure is."""
    return resources.settings.memory_decay_enabled
