"""One turn with self-taught facts: which are in the prompt, which come back to mind, and what is to be counted after.

Stages are worked out anew with every build: a fact that lost on seven days stands no longer in the ordinary blocks, and
comes back for the turn whose message it is near to. Nothing is written here; `after_reply` does, for real turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from perdure.fact_types import Fact, FactId, FactKind
from perdure.ltm.candidates import Candidates, FactTurn, find_candidates
from perdure.ltm.query import EmbedQuery, query_of
from perdure.ltm.rendered import render_facts
from perdure.ltm.scoring import WITHOUT_STAGES, RecallOutcome, Scores, memory_critical, score
from perdure.resources import Resources
from perdure.rules.dormancy import is_dormant
from perdure.rules.placeholders import SERVER_USER
from perdure.rules.tokens import sampled_tokens
from perdure.store.spaces import SpaceRow

NOBODY: Final = "Assistant"
"""What `{bot}` stands for where no persona speaks."""

_FAILED: Final = {
    RecallOutcome.TIMEOUT: "facts: they were not scored in time",
    RecallOutcome.PROVIDER_ERROR: "facts: they could not be scored",
}


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """What a turn has of self-taught facts.

    Attributes:
        turn: what it was built for.
        candidates: all facts that may be used here, newest first.
        server, people: the active ones, newest first; people by user id, those without any are missing.
        recalled: dormant facts that won, best first; they stand in a block of their own.
        winners: all that won, best first, active ones among them.
        scored: all that have a vector, winners among them; what is in neither neither ages nor is reinforced.
        outcome: how far scoring came.
        degraded: what failed or was late, in a sentence each; the reply goes on.
        recall_ms, embedding_ms: milliseconds, of all and of the wait for the query's vector; None where none was asked.
        dormant_tokens: of the lines that dormancy keeps out of the ordinary blocks. recalled_tokens: of those that came
            back. query_tokens: of the query that was embedded. Estimates, a quarter of the characters.
    """

    turn: FactTurn
    candidates: Candidates = field(default_factory=Candidates)
    server: tuple[Fact, ...] = ()
    people: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)
    recalled: tuple[Fact, ...] = ()
    winners: tuple[FactId, ...] = ()
    scored: frozenset[FactId] = frozenset()
    outcome: RecallOutcome = RecallOutcome.NO_CANDIDATES
    degraded: tuple[str, ...] = ()
    recall_ms: float = 0.0
    embedding_ms: float | None = None
    dormant_tokens: int = 0
    recalled_tokens: int = 0
    query_tokens: int = 0

    @property
    def unscored(self) -> tuple[Fact, ...]:
        """Candidates that had no vector of the family."""
        return tuple(fact for fact in self.candidates.every if fact.id not in self.scored)


async def build(resources: Resources, space: SpaceRow, turn: FactTurn, *, query: EmbedQuery | None) -> TurnFacts:
    """The facts of one turn, as they are now. Writes nothing.

    Args:
        query: gives the vector of `query_of(turn.message)`; asked only if there is something to score. None: no
            embedding model is there for this turn.

    Raises:
        DatabaseUnavailable: the facts could not be read; that they could not be scored is in `outcome`.
    """
    clock = resources.database.clock
    began = clock.monotonic()
    candidates = await find_candidates(resources, space, turn)
    outcome = _before_scoring(resources, turn, candidates, query)
    scores: Scores | None = None
    if outcome is None:
        assert query is not None, "without a model nothing is scored"
        found = await score(resources, space, candidates.every, query)
        outcome, scores = (RecallOutcome.SCORED, found) if isinstance(found, Scores) else (found, None)
    possible = outcome not in WITHOUT_STAGES
    dormant = {
        fact.id: fact for fact in candidates.every if is_dormant(fact.decay_days, pinned=fact.pinned, possible=possible)
    }
    winners = scores.winners if scores else ()
    recalled = tuple(dormant[fact_id] for fact_id in winners if fact_id in dormant)
    return TurnFacts(
        turn=turn,
        candidates=candidates,
        server=_but(candidates.server, dormant),
        people={user_id: awake for user_id, facts in candidates.people.items() if (awake := _but(facts, dormant))},
        recalled=recalled,
        winners=winners,
        scored=frozenset(scores.cosines) if scores else frozenset(),
        outcome=outcome,
        degraded=(_FAILED[outcome],) if outcome in _FAILED else (),
        recall_ms=(clock.monotonic() - began) * 1000,
        embedding_ms=scores.embedding_ms if scores else None,
        dormant_tokens=_tokens(resources, space, turn, dormant.values()),
        recalled_tokens=_tokens(resources, space, turn, recalled),
        query_tokens=sampled_tokens(len(query_of(turn.message) or "")) if scores else 0,
    )


def _before_scoring(
    resources: Resources, turn: FactTurn, candidates: Candidates, query: EmbedQuery | None
) -> RecallOutcome | None:
    """Why nothing is scored, looked at in the mission's order; None: it is."""
    settings = resources.settings
    reasons = {
        RecallOutcome.DISABLED: not settings.memory_decay_enabled,
        RecallOutcome.RAG_UNAVAILABLE: not candidates.vectors_possible,
        RecallOutcome.MEMORY_CRITICAL: memory_critical(settings),
        RecallOutcome.NO_MODEL: query is None or not settings.fact_vectors,
        RecallOutcome.NO_QUERY: query_of(turn.message) is None,
        RecallOutcome.NO_CANDIDATES: not candidates.every,
    }
    return next((outcome for outcome, holds in reasons.items() if holds), None)


def _but(facts: Iterable[Fact], dormant: Mapping[FactId, Fact]) -> tuple[Fact, ...]:
    return tuple(fact for fact in facts if fact.id not in dormant)


def _tokens(resources: Resources, space: SpaceRow, turn: FactTurn, facts: Iterable[Fact]) -> int:
    """What lines of facts cost in a prompt."""
    names = {person.user_id: person.name for person in turn.state.participants}
    bot = turn.state.persona.name if turn.state.persona else NOBODY
    by_owner: dict[str | None, list[Fact]] = {}
    for fact in facts:
        by_owner.setdefault(None if fact.id.kind is FactKind.SERVER else fact.scope.owner, []).append(fact)
    texts = [
        render_facts(resources, space.id, own, SERVER_USER if owner is None else names[owner], bot)
        for owner, own in by_owner.items()
    ]
    return sampled_tokens(len("\n".join(texts)))
