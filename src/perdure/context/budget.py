"""What is given up where a prompt costs more than it may: the volatile first, then what can be learned again.

In this order, each from its least: passages of documents (the least similar first), exchanges that wait, recalled
memories, recalled facts, traits, and facts of servers and people (the oldest first). Instructions, the identity card,
pinned facts, the names of participants and the clock stay, whatever they cost.

The prefix is cut by what stands in it alone, never for the sake of a tail: else every turn would cut another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

from perdure.context.blocks import (
    LINES_KEPT,
    clock_reserve,
    fact_line,
    frame_tokens,
    passage_line,
    recalled_line,
    trait_line,
)
from perdure.context.layouts import BlockName
from perdure.context.parts import Parts
from perdure.context.rendering import RenderFacts, recalled_fact_line, rendered, stable_blocks, volatile_blocks
from perdure.fact_types import Fact, FactKind
from perdure.rules.placeholders import SERVER_USER
from perdure.rules.tokens import estimated_tokens

T = TypeVar("T")

JOINT: Final = 2
"""Tokens of the empty line that stands between two blocks."""
_OF_FACTS: Final = frozenset({BlockName.SERVER_MEMORIES, BlockName.PARTICIPANTS, BlockName.KNOWLEDGE_RECALLED_MEMORIES})


@dataclass(frozen=True, slots=True)
class Sacrificed:
    """A line that was given up: of which block, its id there, and about how many tokens that saved."""

    block: BlockName
    id: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Fitted:
    """The parts that fit, the text of each block, and what was given up for it, in that order.

    `over_by` are the tokens that what always stays costs beyond the budget, 0 where all is well.
    """

    parts: Parts
    blocks: Mapping[BlockName, str]
    sacrificed: tuple[Sacrificed, ...] = ()
    over_by: int = 0


def fit(parts: Parts, budget: int | None, render: RenderFacts) -> Fitted:
    """The parts whose blocks cost at most `budget` tokens; None is no limit."""
    if budget is None:
        return Fitted(parts, {**stable_blocks(parts, render), **volatile_blocks(parts)})
    clock = 0 if parts.now is None else clock_reserve(parts.now, parts.time_zone) + JOINT
    kept, stable, facts = _cut(parts, _stable_steps(parts), lambda left: stable_blocks(left, render), budget - clock)
    kept, volatile, lines = _cut(kept, _volatile_steps(kept), volatile_blocks, budget - cost(stable) - JOINT)
    blocks = {**stable, **volatile}
    return Fitted(kept, blocks, (*lines, *facts), max(0, cost(blocks) - budget))


def cost(blocks: Mapping[BlockName, str]) -> int:
    """Tokens of blocks, with what stands between them."""
    return sum(rendered(text).tokens for text in blocks.values()) + JOINT * max(0, len(blocks) - 1)


def _cut(
    parts: Parts,
    steps: Iterator[Sacrificed],
    blocks_of: Callable[[Parts], dict[BlockName, str]],
    room: int,
) -> tuple[Parts, dict[BlockName, str], list[Sacrificed]]:
    """Takes steps until the blocks fit or none is left; rendered again only when the steps taken should do."""
    blocks, left = blocks_of(parts), parts
    given: list[Sacrificed] = []
    over = cost(blocks) - room
    while over > 0:
        before = len(given)
        for step in steps:
            given.append(step)
            over -= step.tokens
            if over <= 0:
                break
        if len(given) == before:
            break
        left = _without(parts, given)
        blocks = blocks_of(left)
        over = cost(blocks) - room
    return left, blocks, given


def _volatile_steps(parts: Parts) -> Iterator[Sacrificed]:
    zone = ZoneInfo(parts.time_zone)
    documents = [(f"{one.document}#{one.part}", passage_line(one)) for one in parts.documents]
    yield from _from_the_end(BlockName.DOCUMENTS, documents)
    yield from _from_the_end(
        BlockName.PENDING, [(str(one.queue_id), recalled_line(one, zone)) for one in parts.pending]
    )
    yield from _from_the_end(
        BlockName.MEMORIES, [(str(one.memory.id), recalled_line(one, zone)) for one in parts.memories]
    )
    yield from _from_the_end(
        BlockName.KNOWLEDGE_RECALLED_MEMORIES,
        [(str(one.fact.id), recalled_fact_line(one, parts.bot)) for one in parts.recalled],
        staying={str(one.fact.id) for one in parts.recalled if one.fact.pinned},
    )


def _stable_steps(parts: Parts) -> Iterator[Sacrificed]:
    traits = [(f"{one.category}/{one.key}", trait_line(one.category, one.key, one.value)) for one in parts.traits]
    yield from _from_the_end(BlockName.TRAITS, traits)
    named = [(SERVER_USER, fact) for fact in parts.server]
    named += [(person.name, fact) for person in parts.people for fact in person.facts]
    loose = [(user, fact) for user, fact in named if not fact.pinned]
    for user, fact in sorted(loose, key=lambda one: (one[1].updated_at, one[1].id)):
        of_server = fact.id.kind is FactKind.SERVER
        block = BlockName.SERVER_MEMORIES if of_server else BlockName.PARTICIPANTS
        yield Sacrificed(block, str(fact.id), _line_tokens(fact_line(fact, user=user, bot=parts.bot)))


@lru_cache(maxsize=LINES_KEPT)
def _line_tokens(line: str) -> int:
    return estimated_tokens(line + "\n")


def _from_the_end(
    block: BlockName, lines: Sequence[tuple[str, str]], staying: Set[str] = frozenset()
) -> Iterator[Sacrificed]:
    loose = [(name, text) for name, text in lines if name not in staying]
    for place, (name, text) in reversed(list(enumerate(loose))):
        frame = 0 if place or staying else frame_tokens(block) + JOINT
        yield Sacrificed(block, name, _line_tokens(text) + frame)


def _without(parts: Parts, given: Sequence[Sacrificed]) -> Parts:
    gone = Counter(one.block for one in given)
    facts = {one.id for one in given if one.block in _OF_FACTS}
    people = [replace(person, facts=_but(person.facts, facts)) for person in parts.people]
    return replace(
        parts,
        documents=_first(parts.documents, gone[BlockName.DOCUMENTS]),
        pending=_first(parts.pending, gone[BlockName.PENDING]),
        memories=_first(parts.memories, gone[BlockName.MEMORIES]),
        recalled=[one for one in parts.recalled if str(one.fact.id) not in facts],
        traits=_first(parts.traits, gone[BlockName.TRAITS]),
        server=_but(parts.server, facts),
        people=people,
    )


def _first(items: Sequence[T], but: int) -> Sequence[T]:
    return items[: len(items) - but]


def _but(facts: Sequence[Fact], gone: Set[str]) -> tuple[Fact, ...]:
    return tuple(fact for fact in facts if str(fact.id) not in gone)
