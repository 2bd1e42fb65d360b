"""Documents beside memories: files that are looked up by passages, and don't fade."""

from perdure.documents.filling import BATCH, Progress, embed_missing
from perdure.documents.formats import MediaType, media_type_of
from perdure.documents.ingestion import Incoming, require_document, take_in
from perdure.documents.searching import MAX_HITS, any_in_scope, search

__all__ = [
    "BATCH",
    "MAX_HITS",
    "Incoming",
    "MediaType",
    "Progress",
    "any_in_scope",
    "embed_missing",
    "media_type_of",
    "require_document",
    "search",
    "take_in",
]
