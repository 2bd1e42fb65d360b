"""Room in a scope: how many facts it may hold, and which one goes for a new one where it is full."""

from __future__ import annotations

from collections.abc import Collection

from perdure.fact_types import FactId, FactKind, FactScope, FactStatus
from perdure.ltm.refusing import refuse
from perdure.ltm.stage import dormancy_possible
from perdure.resources import Resources
from perdure.rules.dormancy import DORMANT_AFTER
from perdure.settings import Settings
from perdure.store.database import SpaceTransaction
from perdure.store.fact_archive import archive_fact
from perdure.store.fact_writing import delete_fact, keep_change
from perdure.store.facts import count_facts, find_victim


def limit_of(settings: Settings, scope: FactScope) -> int:
    """How many facts a scope may hold."""
    server = scope.kind is FactKind.SERVER
    return settings.max_server_memories if server else settings.max_personal_memories


async def make_room(
    tx: SpaceTransaction, resources: Resources, scope: FactScope, winners: Collection[FactId], by: str
) -> FactId | None:
    """Sees to it that one more fact fits in. Needs the scope's lock.

    Returns:
        The longest dormant one, which is in the archive now, where the scope was full; None where it wasn't.

    Raises:
        Refused: it is full, and nothing in it may go.
    """
    limit = limit_of(resources.settings, scope)
    count = await count_facts(tx, scope)
    if count < limit:
        return None
    victim = None
    if dormancy_possible(resources):
        victim = await find_victim(tx, scope, dormant_after=DORMANT_AFTER, winners=winners)
    # One too many at a time: where the limit was lowered, a scope shrinks no further by what a model does.
    if victim is None or count > limit:
        refuse(
            FactStatus.LIMIT_EXCEEDED,
            f"Nothing was saved: {count} of {limit} memories are taken here, and none of them can make room. "
            "Update or delete one that no longer matters, or ask the user which to remove.",
        )
    await keep_change(tx, victim, "replaced", by)
    await archive_fact(tx, victim, "replaced", by)
    await delete_fact(tx, victim)
    return victim.id
