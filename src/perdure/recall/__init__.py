"""Memories out: prefetch for a turn, and search."""

from perdure.recall.prefetch import prefetch, read_history
from perdure.recall.retrieval import require_profile
from perdure.recall.search import Sought, search
from perdure.recall.why_not import Asked, why_not

__all__ = ["Asked", "Sought", "prefetch", "read_history", "require_profile", "search", "why_not"]
