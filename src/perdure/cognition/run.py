"""A cognitive run: whether it is due, and its layers in order, none of which stands in another's way."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from perdure.cognition.conclusion import (
    BudgetSpent,
    LayerFunction,
    LeaseLost,
    Thinking,
    record_failure,
    record_questions,
    spent_today,
    write_conclusion,
)
from perdure.cognition.consolidation import consolidate
from perdure.cognition.episodes import episodes
from perdure.cognition.reflection import reflect
from perdure.errors import DatabaseUnavailable, EmbeddingUnavailable, FamilyMismatch, ModelUnavailable, without_words
from perdure.resources import Resources
from perdure.rules.triggers import Trigger, Triggers, run_due
from perdure.store.cognition import Layer, News, ThoughtState, finish_run, read_news, read_thought_state
from perdure.store.database import SpaceTransaction
from perdure.store.leases import Leased, end, take
from perdure.store.spaces import SpaceRow

LAYERS: Final[Mapping[Layer, tuple[str, LayerFunction]]] = MappingProxyType(
    {
        "reflection": ("reflection", reflect),
        "episodes": ("episode", episodes),
        "consolidation": ("consolidation", consolidate),
    }
)
"""In the order in which they run (mission), each with the call site that it asks."""

OF_TRIGGER: Final[Mapping[Trigger, tuple[Layer, ...]]] = MappingProxyType(
    {
        "asked": tuple(LAYERS),
        "volume": tuple(LAYERS),
        "ceiling": tuple(LAYERS),
        "start": ("consolidation",),
        "shift": ("consolidation",),
    }
)

NO_THINKER: Final = "no thinker is configured: set PERDURE_THINKER_URL (docs/models.md)"

log = logging.getLogger("perdure.cognition")


@dataclass(frozen=True, slots=True)
class CognitionReport:
    """What one run came to.

    Attributes:
        trigger: why it ran; None if no run was due.
        conclusions: how many conclusions each layer wrote.
        failed: what went wrong in a layer, by layer; it is tried again at the next run.
        outage: what was out of reach; everything waits for the next run.
        busy: somebody else thinks about this space; nothing was done.
        finished: all layers came to their end in their time.
    """

    trigger: Trigger | None = None
    conclusions: Mapping[Layer, int] = field(default_factory=dict)
    failed: Mapping[Layer, str] = field(default_factory=dict)
    outage: str | None = None
    busy: bool = False
    finished: bool = True


@dataclass(frozen=True, slots=True)
class _Begun:
    """How a space stands when a run is thought of."""

    now: datetime
    state: ThoughtState
    news: News
    spent: str | None


async def think(
    resources: Resources,
    space: SpaceRow,
    holder: str,
    *,
    trigger: Trigger | None = None,
    only: Layer | None = None,
    until: float | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> CognitionReport:
    """Runs the layers over one space if a run is due.

    Args:
        holder: who does it; one at a time may in a space.
        trigger: why it runs, whether it is due or not; None finds out.
        only: the one layer that runs, instead of all that belong to the trigger.
        until: the clock's monotonic time after which no further question is asked.
        stopping: says so, too.

    Raises:
        DatabaseUnavailable: the database didn't answer; what was written until then stays.
    """
    begun = await resources.database.in_space(space.id, lambda tx: _begin(tx, resources))
    trigger = trigger or _due(resources, begun)
    if trigger is None:
        return CognitionReport()
    wanted = OF_TRIGGER[trigger] if only is None else (only,)
    layers = [layer for layer in wanted if resources.models.can(LAYERS[layer][0])]
    if not layers:
        return CognitionReport(trigger, outage=NO_THINKER, finished=False)
    if begun.spent is not None:
        return CognitionReport(trigger, outage=begun.spent, finished=False)

    async def lease(tx: SpaceTransaction) -> bool:
        return await take(tx, Leased.COGNITION, holder, resources.settings.lease_s)

    if not await resources.database.in_space(space.id, lease):
        return CognitionReport(trigger, busy=True)
    thinking = Thinking(resources, space, holder, trigger, begun.now, begun.state, begun.news)
    clock = resources.database.clock

    def late() -> bool:
        return stopping() or (until is not None and clock.monotonic() >= until)

    try:
        return await _run(thinking, layers, late)
    finally:
        await _end(thinking)


async def _begin(tx: SpaceTransaction, resources: Resources) -> _Begun:
    state = await read_thought_state(tx)
    return _Begun(tx.now, state, await read_news(tx, state), await spent_today(tx, resources.settings))


def _due(resources: Resources, begun: _Begun) -> Trigger | None:
    settings, news, now = resources.settings, begun.news, begun.now
    triggers = Triggers(settings.cognitive_buffer_threshold, settings.lull_duration, settings.cognitive_ceiling)
    since = begun.state.last_run_at or news.first_at or now
    due = run_due(
        new=news.new,
        idle=max(now - (news.last_at or now), timedelta(0)),
        since_last=max(now - since, timedelta(0)),
        triggers=triggers,
    )
    return due or ("shift" if news.shift else None)


async def _run(thinking: Thinking, layers: Sequence[Layer], late: Callable[[], bool]) -> CognitionReport:
    written: dict[Layer, int] = {}
    failed: dict[Layer, str] = {}
    outage: str | None = None
    whole = True
    for layer in layers:
        try:
            whole = await _layer(thinking, layer, written, late)
        except (ModelUnavailable, EmbeddingUnavailable, FamilyMismatch) as error:
            outage = error.message
        except BudgetSpent as spent:
            outage = str(spent)
        except LeaseLost:
            outage = "somebody else has taken the run over"
        except DatabaseUnavailable:
            raise
        except Exception as error:
            failed[layer] = type(error).__name__
            log.error("%s of space %d failed: %s", layer, thinking.space.id, without_words(error))  # noqa: TRY400
            await record_failure(thinking, layer, type(error).__name__)
        finally:
            await record_questions(thinking)
        if outage or not whole:
            return CognitionReport(thinking.trigger, written, failed, outage, finished=False)
    await _finish(thinking, layers)
    return CognitionReport(thinking.trigger, written, failed)


async def _layer(thinking: Thinking, layer: Layer, written: dict[Layer, int], late: Callable[[], bool]) -> bool:
    """Writes what one layer concludes, counting it in `written`; False if its time was up before its end."""
    async for conclusion in LAYERS[layer][1](thinking):
        outcome = await write_conclusion(thinking, conclusion)
        if outcome is not None and outcome.concluded:
            written[layer] = written.get(layer, 0) + 1
        if late():
            return False
    return True


async def _finish(thinking: Thinking, layers: Sequence[Layer]) -> None:
    """What was there when the run began has been seen; what failed is tried again, by what each layer has marked."""
    newest = thinking.news.newest
    whole_run = any(layer != "consolidation" for layer in layers)

    async def write(tx: SpaceTransaction) -> None:
        await finish_run(
            tx,
            at=thinking.began_at if whole_run else None,
            seen=newest if whole_run else 0,
            consolidated=newest if "consolidation" in layers else 0,
        )

    await thinking.resources.database.in_space(thinking.space.id, write)


async def _end(thinking: Thinking) -> None:
    async def write(tx: SpaceTransaction) -> None:
        await end(tx, Leased.COGNITION, thinking.holder)

    await thinking.resources.database.in_space(thinking.space.id, write)
