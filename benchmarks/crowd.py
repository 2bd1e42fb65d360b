"""Many small spaces beside a large one, in the same tables and the same indexes."""

from __future__ import annotations

from typing import Final

import psycopg

from benchmarks.corpus import BATCH, EPOCH, Corpus, load_batch
from benchmarks.measuring import say

OF_A_SPACE: Final = 50
FIRST_SPACE: Final = 10_001


def load_crowd(owner_url: str, family_id: int, dimensions: int, count: int) -> int:
    """Loads the spaces that are not there yet; those that share a batch of the corpus go in together."""
    loaded = 0
    corpus = Corpus(count * OF_A_SPACE, dimensions, seed=9)
    with psycopg.connect(owner_url, autocommit=True) as owner:
        known = {row[0] for row in owner.execute("SELECT space_id FROM space_state WHERE memories > 0")}
        for first in range(0, corpus.size, BATCH):
            if FIRST_SPACE + first // OF_A_SPACE in known:
                continue
            items = corpus.batch(first)
            with owner.transaction():
                for start in range(0, len(items), OF_A_SPACE):
                    space_id = FIRST_SPACE + (first + start) // OF_A_SPACE
                    owner.execute(
                        "INSERT INTO spaces (id, name, created_at) VALUES (%s, %s, %s)",
                        (space_id, f"space {space_id}", EPOCH),
                    )
                    own = items[start : start + OF_A_SPACE]
                    load_batch(owner, space_id, family_id, space_id * 1_000_000, own)
                    loaded += 1
            if loaded % 1_000 == 0:
                say(f"{loaded:,} small spaces loaded")
        if loaded:
            owner.execute("VACUUM ANALYZE")
    return loaded


def indexes(owner_url: str) -> int:
    """How many indexes the database has."""
    with psycopg.connect(owner_url) as owner:
        row = owner.execute("SELECT count(*) FROM pg_indexes WHERE schemaname = 'public'").fetchone()
    assert row is not None
    count: int = row[0]
    return count
