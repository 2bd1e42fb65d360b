"""Text as Perdure sees it: what comes through the door, how words become terms, where a text may be cut.

Documents and queries, tags and entities all pass through the same `fold` and `terms`, so that two spellings of one
word meet. The same text gives the same terms on every machine: nothing here depends on a locale, on the database or on
an optional package. `docs/text.md` shows the rules by example.
"""

from perdure.text.consent import asks_to_forget_this
from perdure.text.cutting import chunks, graphemes, passages, sentence_ends, truncate_bytes, truncate_chars
from perdure.text.dates import date_terms, query_date_terms
from perdure.text.door import MAX_TEXT_BYTES, clean, has_letter_or_digit, require_text
from perdure.text.folding import fold
from perdure.text.intent import has_memory_intent
from perdure.text.names import (
    ASSISTANT,
    MAX_ENTITY_KEYS,
    entity_key,
    entity_keys,
    is_assistant,
    is_role,
    name_keys,
    phrase_in,
)
from perdure.text.questions import is_question
from perdure.text.relative_dates import relative_date_terms
from perdure.text.requests import is_request
from perdure.text.secrets import Masked, mask, masked_fields, masked_json
from perdure.text.smalltalk import is_elliptic, says_something
from perdure.text.words import MAX_QUERY_TERMS, MAX_TERM_CHARS, NO_SPACES, Analysis, analyse, forms, query_terms, terms

__all__ = [
    "ASSISTANT",
    "MAX_ENTITY_KEYS",
    "MAX_QUERY_TERMS",
    "MAX_TERM_CHARS",
    "MAX_TEXT_BYTES",
    "NO_SPACES",
    "Analysis",
    "Masked",
    "analyse",
    "asks_to_forget_this",
    "chunks",
    "clean",
    "date_terms",
    "entity_key",
    "entity_keys",
    "fold",
    "forms",
    "graphemes",
    "has_letter_or_digit",
    "has_memory_intent",
    "is_assistant",
    "is_elliptic",
    "is_question",
    "is_request",
    "is_role",
    "mask",
    "masked_fields",
    "masked_json",
    "name_keys",
    "passages",
    "phrase_in",
    "query_date_terms",
    "query_terms",
    "relative_date_terms",
    "require_text",
    "says_something",
    "sentence_ends",
    "terms",
    "truncate_bytes",
    "truncate_chars",
]
