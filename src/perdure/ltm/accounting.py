"""After the reply: the turn is counted, what lacks a vector gets one, and one sample is told. Nobody waits for it."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import UTC
from typing import Final

from perdure.errors import without_words
from perdure.fact_types import FactKind, FactScope
from perdure.ltm.candidates import scopes_by_now
from perdure.ltm.fill import Filled, fill
from perdure.ltm.rendered import invalidate
from perdure.ltm.scoring import RecallOutcome
from perdure.ltm.telemetry import RecallSample, record
from perdure.ltm.turn import TurnFacts
from perdure.resources import Resources
from perdure.rules.dormancy import is_quick_return
from perdure.store.accounting import Counted, Scored, record_recall_day
from perdure.store.database import SpaceTransaction
from perdure.store.spaces import SpaceRow

NOTHING: Final = Counted(0, {})

_log = logging.getLogger(__name__)


async def after_reply(resources: Resources, space: SpaceRow, built: TurnFacts, *, sample: bool = True) -> RecallSample:
    """Counts a turn that was replied to, fills vectors, and tells one sample. A second time counts nothing twice.

    Only what was scored counts: after an outage, a timeout or a message without a query nothing ages. What fails is
    logged and told in the sample.

    Args:
        sample: False tells none, as for a reply that is captured once more.
    """
    clock = resources.database.clock
    began = clock.monotonic()
    counted, filled, failed = NOTHING, Filled(), False
    if built.outcome is RecallOutcome.SCORED:
        try:
            scopes = await scopes_by_now(resources, space, built.turn.state)
            counted = await _count(resources, space, built, scopes)
            await fill(resources, space, [fact for fact in built.unscored if fact.scope in scopes], filled)
        except Exception as error:
            _log.warning("A turn's facts were not counted or filled whole: %s", without_words(error))
            failed = True
    told = RecallSample(
        outcome=built.outcome,
        total_ms=round(built.recall_ms + (clock.monotonic() - began) * 1000, 3),
        embedding_ms=None if built.embedding_ms is None else round(built.embedding_ms, 3),
        candidate_count=len(built.candidates.every),
        scored_count=len(built.scored),
        reinforced_count=len(built.winners),
        recalled_count=len(built.recalled),
        quick_return_count=sum(is_quick_return(counted.reset.get(fact.id, 0)) for fact in built.recalled),
        dormant_tokens=built.dormant_tokens,
        recalled_tokens=built.recalled_tokens,
        query_tokens=built.query_tokens,
        fill_tokens=filled.tokens,
        filled_count=filled.count,
        persistence_failed=int(failed),
    )
    if sample:
        await _tell(resources, space, told)
    return told


async def _count(resources: Resources, space: SpaceRow, built: TurnFacts, scopes: Collection[FactScope]) -> Counted:
    """Counts what is still of these scopes; what was rendered of the server is let go of once that is committed."""
    state = built.turn.state
    turn = Scored(
        family_id=resources.family.id,
        scored=[fact.id for fact in built.candidates.every if fact.id in built.scored and fact.scope in scopes],
        winners=built.winners,
        scopes=built.candidates.scopes,
        server_id=state.server_id,
        channel_id=state.channel_id,
    )

    async def write(tx: SpaceTransaction) -> Counted:
        return await record_recall_day(tx, turn, tx.now.astimezone(UTC).date())

    counted = await resources.database.in_space(space.id, write)
    if counted.aged or counted.reset:
        for scope in turn.scopes:
            if scope.kind is FactKind.SERVER:
                invalidate(resources, space.id, scope)
    return counted


async def _tell(resources: Resources, space: SpaceRow, told: RecallSample) -> None:
    try:
        await resources.database.in_space(space.id, lambda tx: record(tx, told))
    except Exception as error:
        _log.warning("The sample of a turn was not kept: %s", without_words(error))
