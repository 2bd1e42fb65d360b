"""The keys a memory is found by, besides the terms of its text: the same for a draft and for a row that is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache

from perdure.rules.facets import facet_keys
from perdure.store.memories import MemoryRow
from perdure.store.postings import Postings
from perdure.text import date_terms, entity_key, fold, is_role, name_keys, terms
from perdure.types import Trust

CONVERSATION = "conversation"
"""Source of what was said, and of what tools answered meanwhile."""


def is_tools(source: str, trust: Trust) -> bool:
    """Whether a memory is what a tool answered, as it was: in a conversation nobody else is so little trusted."""
    return trust is Trust.TOOL or (trust is Trust.EXTERNAL and source == CONVERSATION)


def named_speaker(speaker: str | None, trust: Trust, source: str) -> str | None:
    """The speaker, if that is somebody's name: a role is none, nor is the name of a tool that answered."""
    return speaker if speaker and not is_tools(source, trust) and not is_role(speaker) else None


@lru_cache(maxsize=1024)
def _of_name(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Terms and entity keys of a speaker's name; kept, because few people say many things."""
    return tuple(terms(name)), tuple(name_keys(name))


def entity_keys_of(entities: Iterable[str], speaker: str | None, trust: Trust, source: str) -> tuple[str, ...]:
    """Sorted distinct keys of the entities and of the speaker's name."""
    name = named_speaker(speaker, trust, source)
    keys = {entity_key(entity) for entity in entities}.union(_of_name(name)[1] if name else ())
    return tuple(sorted(keys - {""}))


def extra_terms(speaker: str | None, trust: Trust, source: str, source_date: datetime) -> tuple[str, ...]:
    """The terms of what is known about a text: the name of who said it, and its day. They don't make it longer."""
    name = named_speaker(speaker, trust, source)
    return (*(_of_name(name)[0] if name else ()), *date_terms(source_date))


def facets_of(tags: Iterable[str], source: str, speaker: str | None, metadata: Mapping[str, object]) -> tuple[str, ...]:
    """What filters ask for by equality: tags, source, speaker (a role too), metadata."""
    return facet_keys(
        tags=[fold(tag) for tag in tags],
        source=source,
        speaker=fold(speaker) if speaker else None,
        metadata=metadata,
    )


def stored_postings(row: MemoryRow) -> Postings:
    """The keys a stored row is found by, spelled out again from the row itself."""
    memory = row.memory
    return Postings(
        memory.id,
        row.terms,
        entity_keys_of(memory.entities, memory.speaker, memory.trust, memory.source),
        facets_of(memory.tags, memory.source, memory.speaker, memory.metadata),
        row.term_count,
    )
