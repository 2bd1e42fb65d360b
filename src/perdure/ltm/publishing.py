"""What follows a committed change, in this order: rendered text of the scope is let go, then others are told."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime
from typing import Final

from perdure.errors import without_words
from perdure.fact_types import Fact, FactId, FactNotice
from perdure.ltm import rendered
from perdure.resources import Resources
from perdure.store.spaces import SpaceRow

NOTIFYING_S: Final = 5.0
"""For a notifier to take a notice; the change is committed, and whoever asked for it waits."""

_log = logging.getLogger(__name__)


async def publish(
    resources: Resources,
    space: SpaceRow,
    fact: Fact,
    action: str,
    by: str,
    *,
    at: datetime | None = None,
    replaced: FactId | None = None,
) -> None:
    """Lets go of what was rendered, then notifies; a notice that fails or is late fails nothing else.

    Args:
        fact: as it is now, or was before it went. at: when it changed; None is when it was last updated.
    """
    rendered.invalidate(resources, space.id, fact.scope)
    if resources.notifier is None:
        return
    notice = FactNotice(
        space=space.name,
        action=action,
        id=fact.id,
        scope=fact.scope,
        content=fact.content,
        changed_by=by,
        changed_at=at or fact.updated_at,
        replaced=replaced,
    )
    try:
        async with asyncio.timeout(NOTIFYING_S):
            await resources.notifier.notify(notice)
    except Exception as error:
        _log.warning("A notice of %s %s was not taken: %s", notice.action, notice.id, without_words(error))
