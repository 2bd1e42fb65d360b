"""What is done after a reply without anybody waiting for it: facts that were of use or not, and samples of the turn."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from perdure import ltm
from perdure.context import Context
from perdure.errors import without_words
from perdure.resources import Resources
from perdure.store.database import SpaceTransaction
from perdure.store.savings import record_prompt
from perdure.store.spaces import SpaceRow

CLOSING_S: Final = 5.0
"""How long closing waits for what is still under way."""

log = logging.getLogger("perdure.context")


def start_after_reply(resources: Resources, space: SpaceRow, context: Context, *, replayed: bool) -> None:
    """Begins what follows a reply; once for each prompt, and never for a look.

    `replayed`: the exchange was captured before, with another prompt; days count once anyway, and no sample is told.
    """
    if not context.real or context in resources.accounted:
        return
    resources.accounted.add(context)
    task = asyncio.create_task(_after_reply(resources, space, context, replayed=replayed), name="perdure-after-reply")
    resources.afterwards.add(task)
    task.add_done_callback(resources.afterwards.discard)


async def finish_afterwards(resources: Resources) -> None:
    """Waits for what is under way, a while; what isn't done by then is cut off."""
    tasks = set(resources.afterwards)
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=CLOSING_S)
    for task in late:
        task.cancel()
    if late:
        await asyncio.wait(late, timeout=1)


async def _after_reply(resources: Resources, space: SpaceRow, context: Context, *, replayed: bool) -> None:
    try:
        if context.facts is not None:
            await ltm.after_reply(resources, space, context.facts, sample=not replayed)
        if not replayed:
            await resources.database.in_space(space.id, lambda tx: _record(tx, context))
    except Exception as error:
        log.warning("what follows a reply failed: %s", without_words(error))


async def _record(tx: SpaceTransaction, context: Context) -> None:
    report = context.report
    await record_prompt(
        tx,
        prefix_tokens=report.prefix_tokens,
        reused_tokens=report.reused_tokens,
        tail_tokens=report.tail_tokens,
    )
