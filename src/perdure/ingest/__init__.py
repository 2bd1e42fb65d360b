"""Words in: capture, drain, save, import."""

from perdure.ingest.capture import Exchange, ToolResult, enqueue_exchange, operation_fingerprint, read_exchange
from perdure.ingest.drafts import Draft
from perdure.ingest.drain import DrainReport, drain_pending_triage
from perdure.ingest.importing import BatchReport, batches, import_batch, read_messages
from perdure.ingest.restoring import restore_memory
from perdure.ingest.saving import (
    Changes,
    Receipt,
    forget_memories,
    pin_memory,
    replayed,
    require_row,
    save_draft,
    update_memory,
)

__all__ = [
    "BatchReport",
    "Changes",
    "Draft",
    "DrainReport",
    "Exchange",
    "Receipt",
    "ToolResult",
    "batches",
    "drain_pending_triage",
    "enqueue_exchange",
    "forget_memories",
    "import_batch",
    "operation_fingerprint",
    "pin_memory",
    "read_exchange",
    "read_messages",
    "replayed",
    "require_row",
    "restore_memory",
    "save_draft",
    "update_memory",
]
