"""The frozen values that rooms hand to each other. No behaviour beyond what a value can say about itself."""

from perdure.types.explaining import Fate, GateReading, WhyNot
from perdure.types.ids import Id
from perdure.types.memories import (
    CONCLUDED_SOURCES,
    CONCLUDED_TYPES,
    HIDDEN_TYPES,
    Evidence,
    MemoryType,
    PageEnd,
    StoredMemory,
    Trust,
)
from perdure.types.operating import FailedOperation, Family, SpaceStats
from perdure.types.outcomes import Failed, Merged, Nothing, Outcome, Pending, Stored, Superseded
from perdure.types.retrieval import Feedback, Filters, Hit, LeftOut, PendingItem, Recall, SearchResult, TaskRecall
from perdure.types.sources import ItemSource, Message, SourceBatch, SourceItem

__all__ = [
    "CONCLUDED_SOURCES",
    "CONCLUDED_TYPES",
    "HIDDEN_TYPES",
    "Evidence",
    "Failed",
    "FailedOperation",
    "Family",
    "Fate",
    "Feedback",
    "Filters",
    "GateReading",
    "Hit",
    "Id",
    "ItemSource",
    "LeftOut",
    "MemoryType",
    "Merged",
    "Message",
    "Nothing",
    "Outcome",
    "PageEnd",
    "Pending",
    "PendingItem",
    "Recall",
    "SearchResult",
    "SourceBatch",
    "SourceItem",
    "SpaceStats",
    "Stored",
    "StoredMemory",
    "Superseded",
    "TaskRecall",
    "Trust",
    "WhyNot",
]
