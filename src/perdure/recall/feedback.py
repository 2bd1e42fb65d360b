"""What a host says of memories that it took out by itself: they were retrieved, and of use or of none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from perdure.door import require_flag, require_id
from perdure.errors import InvalidInput
from perdure.resources import Resources
from perdure.store.feedback import track
from perdure.store.spaces import SpaceRow
from perdure.types import Feedback, Recall, SearchResult

MAX_TRACKED: Final = 100
"""Memories that one call may name: as many as a search may return."""


def read_feedback(retrieved: object, useful: object) -> dict[int, bool | None]:
    """The memories that were retrieved, by id, and whether each was of use; None where nobody says so.

    Raises:
        InvalidInput: what was retrieved is neither a result nor ids, or `useful` speaks of something else.
    """
    if isinstance(retrieved, Recall):
        named: Iterable[object] = retrieved.ids
    elif isinstance(retrieved, SearchResult):
        named = [hit.memory.id for hit in retrieved.hits]
    elif isinstance(retrieved, Iterable) and not isinstance(retrieved, str | bytes | Mapping):
        named = retrieved
    else:
        told = "it has to be what `recall` or `search` returned, or the ids of memories"
        raise InvalidInput("retrieved", retrieved, told)
    verdicts: dict[int, bool | None] = {}
    for each in named:
        verdicts[require_id(each, "retrieved")] = None
        if len(verdicts) > MAX_TRACKED:
            raise InvalidInput("retrieved", retrieved, f"at most {MAX_TRACKED} memories are taken at a time")
    return verdicts | _read_verdicts(useful, verdicts)


def _read_verdicts(useful: object, retrieved: Mapping[int, bool | None]) -> dict[int, bool]:
    if useful is None:
        return {}
    if not isinstance(useful, Mapping):
        raise InvalidInput("useful", useful, "it has to say true or false of ids")
    verdicts = {require_id(each, "useful"): require_flag(flag, f"useful[{each}]") for each, flag in useful.items()}
    strange = sorted(set(verdicts) - set(retrieved))
    if strange:
        raise InvalidInput("useful", strange[0], "it has to be one of the memories that were retrieved")
    return verdicts


async def give_feedback(
    resources: Resources, space: SpaceRow | None, verdicts: Mapping[int, bool | None], audience: str | None
) -> Feedback:
    """Counts one retrieval of each of these memories and what was said of its use."""
    if space is None or not verdicts:
        return Feedback((), tuple(sorted(verdicts)))
    every = resources.settings.boost == "every"
    tracked = await resources.database.in_space(
        space.id, lambda tx: track(tx, verdicts, audience=audience, every=every)
    )
    return Feedback(tracked, tuple(sorted(set(verdicts) - set(tracked))))
