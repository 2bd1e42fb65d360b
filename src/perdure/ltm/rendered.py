"""Text that was rendered of a scope's facts, kept until the scope changes.

A text is found again only by all that is in it: the ids and revisions of the facts that are shown, and the names that
stand in them. So what another process changed is never shown as it was; letting go of it frees the room at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import groupby
from typing import Final

from perdure.context import fact_line
from perdure.fact_types import Fact, FactScope
from perdure.resources import Resources

MOST_SCOPES: Final = 2048
"""Scopes of which text is kept in a process."""
MOST_TEXTS: Final = 16
"""Texts of one scope: as many as there are names for its person, or sets of facts that are awake."""


def render_facts(resources: Resources, space_id: int, facts: Sequence[Fact], user: str, bot: str) -> str:
    """Lines of facts with these names for `{user}` and `{bot}`, scope by scope, in the order in which they come."""
    scopes = groupby(sorted(facts, key=lambda fact: fact.scope.lineage), key=lambda fact: fact.scope)
    return "\n".join([_scope(resources, (space_id, scope), list(own), user, bot) for scope, own in scopes])


def invalidate(resources: Resources, space_id: int, scope: FactScope) -> None:
    """Lets go of what was rendered of a scope; called once a change of it is committed, before anybody is told."""
    resources.rendered.pop((space_id, scope), None)


def _scope(resources: Resources, place: tuple[int, FactScope], facts: Sequence[Fact], user: str, bot: str) -> str:
    kept = resources.rendered.get(place)
    if kept is None:
        if len(resources.rendered) >= MOST_SCOPES:
            resources.rendered.clear()
        kept = resources.rendered[place] = {}
    key: Hashable = (user, bot, tuple([(fact.id.number, fact.revision, fact.updated_at) for fact in facts]))
    text = kept.get(key)
    if text is None:
        if len(kept) >= MOST_TEXTS:
            kept.clear()
        text = kept[key] = "\n".join([fact_line(fact, user=user, bot=bot) for fact in facts])
    return text
