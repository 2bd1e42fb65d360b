"""Long-term memory for AI assistants, on PostgreSQL and pgvector.

    from perdure import Memory

    async with Memory.open() as memory:
        ada = memory.space("ada")
        await ada.save("Ada is allergic to peanuts", salience=9)
        recall = await ada.recall("What shall I cook tonight?")

`perdure.sync` has the same surface for code without an event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.clock import SimulatedClock
from perdure.errors import (
    ConfigurationError,
    Conflict,
    DatabaseUnavailable,
    EmbeddingFailed,
    EmbeddingUnavailable,
    FamilyMismatch,
    InvalidInput,
    ModelFailed,
    ModelUnavailable,
    NotFound,
    PerdureError,
    PrivacyRestricted,
    ScopeFull,
    ServerStartFailed,
    SpaceRefused,
)
from perdure.fact_types import (
    Fact,
    FactChange,
    FactId,
    FactKind,
    FactNotice,
    FactOutcome,
    FactScope,
    FactStage,
    FactStatus,
    ListedFact,
    Notifier,
    Participant,
    Person,
    Persona,
    Privacy,
    PrivacyLookup,
    TurnState,
)
from perdure.types import (
    Evidence,
    Failed,
    FailedOperation,
    Feedback,
    Filters,
    GateReading,
    Hit,
    LeftOut,
    MemoryType,
    Merged,
    Message,
    Nothing,
    Outcome,
    Pending,
    PendingItem,
    Recall,
    SearchResult,
    SpaceStats,
    Stored,
    StoredMemory,
    Superseded,
    TaskRecall,
    Trust,
    WhyNot,
)

if TYPE_CHECKING:
    from perdure.client import AsyncClient, Client
    from perdure.cognition import CognitionReport, Consultation, Identity
    from perdure.context import Context, Layout
    from perdure.ingest import BatchReport, DrainReport, Preview, Receipt, ToolResult
    from perdure.memory import Memory
    from perdure.settings import Settings
    from perdure.space import Space
    from perdure.store.audit import AuditEntry
    from perdure.store.keys import ApiKey
    from perdure.store.savings import Savings
    from perdure.store.vacuum import Remains
    from perdure.store.workers import WorkerStatus
    from perdure.upkeep import UpkeepReport

__version__ = "0.1.0"

# What pulls in the database driver and the numeric libraries is loaded when it is first used, so that importing the
# package, and `perdure --help`, stay quick.
_LAZY = {
    "AsyncClient": "perdure.client",
    "ApiKey": "perdure.store.keys",
    "AuditEntry": "perdure.store.audit",
    "BatchReport": "perdure.ingest",
    "Client": "perdure.client",
    "CognitionReport": "perdure.cognition",
    "Consultation": "perdure.cognition",
    "Context": "perdure.context",
    "DrainReport": "perdure.ingest",
    "Identity": "perdure.cognition",
    "Layout": "perdure.context",
    "Memory": "perdure.memory",
    "Preview": "perdure.ingest",
    "Receipt": "perdure.ingest",
    "Remains": "perdure.store.vacuum",
    "Savings": "perdure.store.savings",
    "Settings": "perdure.settings",
    "Space": "perdure.space",
    "ToolResult": "perdure.ingest",
    "UpkeepReport": "perdure.upkeep",
    "WorkerStatus": "perdure.store.workers",
}

__all__ = [
    "ApiKey",
    "AsyncClient",
    "AuditEntry",
    "BatchReport",
    "Client",
    "CognitionReport",
    "ConfigurationError",
    "Conflict",
    "Consultation",
    "Context",
    "DatabaseUnavailable",
    "DrainReport",
    "EmbeddingFailed",
    "EmbeddingUnavailable",
    "Evidence",
    "Fact",
    "FactChange",
    "FactId",
    "FactKind",
    "FactNotice",
    "FactOutcome",
    "FactScope",
    "FactStage",
    "FactStatus",
    "Failed",
    "FailedOperation",
    "FamilyMismatch",
    "Feedback",
    "Filters",
    "GateReading",
    "Hit",
    "Identity",
    "InvalidInput",
    "Layout",
    "LeftOut",
    "ListedFact",
    "Memory",
    "MemoryType",
    "Merged",
    "Message",
    "ModelFailed",
    "ModelUnavailable",
    "NotFound",
    "Nothing",
    "Notifier",
    "Outcome",
    "Participant",
    "Pending",
    "PendingItem",
    "PerdureError",
    "Person",
    "Persona",
    "Preview",
    "Privacy",
    "PrivacyLookup",
    "PrivacyRestricted",
    "Recall",
    "Receipt",
    "Remains",
    "Savings",
    "ScopeFull",
    "SearchResult",
    "ServerStartFailed",
    "Settings",
    "SimulatedClock",
    "Space",
    "SpaceRefused",
    "SpaceStats",
    "Stored",
    "StoredMemory",
    "Superseded",
    "TaskRecall",
    "ToolResult",
    "Trust",
    "TurnState",
    "UpkeepReport",
    "WhyNot",
    "WorkerStatus",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'perdure' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_LAZY[name]), name)
