"""Text that was rendered of a scope's facts, kept until the scope changes."""

from __future__ import annotations

from perdure.fact_types import FactScope
from perdure.resources import Resources


def invalidate(resources: Resources, space_id: int, scope: FactScope) -> None:
    """Lets go of what was rendered of a scope; called once a change of it is committed, before anybody is told."""
    resources.rendered.pop((space_id, scope), None)
