"""Words in: capture, drain, save, import."""

from perdure.ingest.archive import Archive, enqueue_archive, read_archive
from perdure.ingest.asking import left_to_models
from perdure.ingest.bootstrap import enqueue_bootstrap
from perdure.ingest.capture import Exchange, ToolResult, enqueue_exchange, read_exchange
from perdure.ingest.conclusions import MERGED, PROFILE
from perdure.ingest.drafts import Draft, prepare, read_again
from perdure.ingest.drain import drain_pending_triage
from perdure.ingest.forgetting import Erased, Sight, forget_memories, require
from perdure.ingest.forgetting_origins import (
    Progress,
    forget_from,
    from_source,
    from_speakers,
    mentions,
    names_of,
    of_audience,
    preview,
    preview_from,
)
from perdure.ingest.forgetting_space import forget_space, preview_space
from perdure.ingest.importing import BatchReport, batches, import_batch, read_messages
from perdure.ingest.items import ItemReport, import_items, read_items
from perdure.ingest.keys import stored_postings
from perdure.ingest.operations import operation_fingerprint
from perdure.ingest.receipt import Preview, Receipt
from perdure.ingest.report import DrainReport, Waiting
from perdure.ingest.restoring import restore_memory
from perdure.ingest.retriage import retriage
from perdure.ingest.saving import (
    MEMORY,
    Changes,
    masked_labels,
    masked_metadata,
    pin_memory,
    replayed,
    require_row,
    save_draft,
    update_memory,
)
from perdure.ingest.words import keepable, own_words
from perdure.ingest.writing import begin_writing

__all__ = [
    "MEMORY",
    "MERGED",
    "PROFILE",
    "Archive",
    "BatchReport",
    "Changes",
    "Draft",
    "DrainReport",
    "Erased",
    "Exchange",
    "ItemReport",
    "Preview",
    "Progress",
    "Receipt",
    "Sight",
    "ToolResult",
    "Waiting",
    "batches",
    "begin_writing",
    "drain_pending_triage",
    "enqueue_archive",
    "enqueue_bootstrap",
    "enqueue_exchange",
    "forget_from",
    "forget_memories",
    "forget_space",
    "from_source",
    "from_speakers",
    "import_batch",
    "import_items",
    "keepable",
    "left_to_models",
    "masked_labels",
    "masked_metadata",
    "mentions",
    "names_of",
    "of_audience",
    "operation_fingerprint",
    "own_words",
    "pin_memory",
    "prepare",
    "preview",
    "preview_from",
    "preview_space",
    "read_again",
    "read_archive",
    "read_exchange",
    "read_items",
    "read_messages",
    "replayed",
    "require",
    "require_row",
    "restore_memory",
    "retriage",
    "save_draft",
    "stored_postings",
    "update_memory",
]
