"""Documents: taken in as a whole or not at all, found in their scope and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from perdure import Space

FERRY = "The ferry to the island leaves at seven in the morning and takes forty minutes. "
BREAD = "Rye bread needs sourdough, water, salt and a long night of rest. "


async def test_a_text_is_found_as_soon_as_it_is_in(space: Space) -> None:
    added = await space.add_document(FERRY * 30, name="ferry.txt")
    assert added.status == "added"
    assert added.document.parts == added.document.embedded > 1
    hits = await space.search_documents("When does the ferry to the island leave in the morning?")
    assert [hit.name for hit in hits] == ["ferry.txt"] * len(hits)
    assert 1 <= len(hits) <= 6
