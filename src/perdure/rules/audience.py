"""Who may see a memory inside a space."""

from __future__ import annotations


def may_see(audience: str | None, told_to: str | None) -> bool:
    """Whether `audience` may see what was told to `told_to`; None is the whole space, as what is told and as who asks.

    What was told to the whole space is seen by everybody, what was told in private by that audience alone.
    """
    return told_to is None or told_to == audience
