"""The prompt of one turn: its blocks in the slots of a layout, what they cost, and what became of them since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from perdure.context.budget import JOINT, Fitted, Sacrificed, fit
from perdure.context.layouts import STABLE, BlockName, Layout, Role, Slot
from perdure.context.parts import Parts
from perdure.context.rendering import RenderFacts, render_facts, rendered
from perdure.types import LeftOut, Recall

if TYPE_CHECKING:
    from perdure.ltm import TurnFacts

BETWEEN: Final = "\n\n"
"""What stands between two blocks."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block as it stands in the prompt. `tokens` is an estimate; `digest` tells whether it says what it said before.

    `cacheable`: it belongs to the prefix.
    """

    name: BlockName
    slot: str
    role: Role
    text: str
    tokens: int
    digest: str
    cacheable: bool


@dataclass(frozen=True, slots=True)
class ContextReport:
    """What the blocks of a prompt cost, by the estimate of `rules.tokens`.

    Attributes:
        budget: tokens that it may cost; None is no limit.
        tokens: all of it. prefix_tokens, tail_tokens: its parts.
        sacrificed: what was given up for the budget, in this order.
        over_by: tokens beyond the budget that nothing was left to be given up for.
        reused_tokens: how much of the prefix is what it was in the prompt before, of the same conversation.
    """

    budget: int | None
    tokens: int
    prefix_tokens: int
    tail_tokens: int
    sacrificed: tuple[Sacrificed, ...] = ()
    over_by: int = 0
    reused_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ContextChanges:
    """Which blocks say something else than those of an earlier prompt, in the order of the prompt.

    `reused_tokens` is the part of the prefix that a model's server can take from its cache: all before the first block
    of it that is not what it was. `stable`: that is the whole prefix.
    """

    changed: tuple[BlockName, ...]
    added: tuple[BlockName, ...]
    removed: tuple[BlockName, ...]
    reused_tokens: int
    stable: bool


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Context:
    """What `Space.context` hands back for one turn.

    Attributes:
        query: the message. blocks: in the order in which a model reads them.
        prefix: what can be cached: the same text from turn to turn as long as nothing was learned. tail: what changes.
        layout: the slots that the blocks stand in.
        recall: the memories and waiting exchanges of the tail; what the budget left no room for is in its `left_out`.
        facts: the turn of the self-taught facts; None where it failed.
        degraded: the parts that failed or were late; the rest is still good.
        memory_intent: the message asks for something to be remembered.
        tools: what the model should be offered, in this order.
        real: whether a reply follows; False for a look that leaves no trace.
    """

    query: str
    blocks: tuple[Block, ...]
    prefix: str
    tail: str
    layout: Layout
    recall: Recall
    facts: TurnFacts | None
    report: ContextReport
    degraded: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    memory_intent: bool = False
    tools: tuple[Mapping[str, object], ...] = ()
    real: bool = True

    @property
    def slots(self) -> dict[str, str]:
        """The text of every slot of the layout, empty ones included."""
        return {slot.name: _joined(self.blocks, slot) for slot in self.layout.slots}

    def messages(self, history: Sequence[Mapping[str, object]] = ()) -> list[dict[str, object]]:
        """Chat messages: the prefix as system, the conversation so far, the tail as user; the user's own comes behind.

        A layout may give its first slots another role; slots without text are left out.
        """
        stable = [slot for slot in self.layout.slots if slot.cacheable]
        volatile = [slot for slot in self.layout.slots if not slot.cacheable]
        return [*self._of(stable), *(dict(message) for message in history), *self._of(volatile)]

    def changes_since(self, previous: Context) -> ContextChanges:
        """Which blocks changed since an earlier prompt, and how much of the prefix can be taken from a cache."""
        before = {block.name: block.digest for block in previous.blocks}
        now = {block.name: block.digest for block in self.blocks}
        reused = reused_tokens(self.blocks, previous.blocks)
        return ContextChanges(
            changed=tuple(name for name in now if name in before and now[name] != before[name]),
            added=tuple(name for name in now if name not in before),
            removed=tuple(name for name in before if name not in now),
            reused_tokens=reused,
            stable=self.prefix == previous.prefix,
        )

    def _of(self, slots: Sequence[Slot]) -> list[dict[str, object]]:
        texts = [(slot.role, _joined(self.blocks, slot)) for slot in slots]
        return [{"role": role, "content": text} for role, text in texts if text]


def reused_tokens(blocks: Sequence[Block], previous: Sequence[Block]) -> int:
    """Tokens of the blocks at the beginning of a prefix that are what they were in an earlier one."""
    same: list[Block] = []
    for block, before in zip(blocks, previous, strict=False):
        if not block.cacheable or (block.slot, block.digest) != (before.slot, before.digest):
            break
        same.append(block)
    return _tokens(same)


def build_context(
    query: str,
    parts: Parts,
    layout: Layout,
    *,
    recall: Recall,
    budget: int | None = None,
    before: Sequence[Block] = (),
    facts: TurnFacts | None = None,
    render: RenderFacts = render_facts,
    degraded: tuple[str, ...] = (),
    timings_ms: Mapping[str, float] | None = None,
    memory_intent: bool = False,
    tools: tuple[Mapping[str, object], ...] = (),
    real: bool = True,
) -> Context:
    """Puts the parts of a turn into the slots of a layout, as far as the budget allows. Asks nobody.

    `before` are the blocks of the prompt before, of which some may still lie in a cache.
    """
    fitted = fit(parts, budget, render)
    blocks = tuple(
        _block(name, slot, fitted.blocks[name])
        for slot in layout.slots
        for name in slot.blocks
        if name in fitted.blocks
    )
    told = _recalled(recall, fitted, blocks)
    return Context(
        query=query,
        blocks=blocks,
        prefix=told.prefix,
        tail=told.tail,
        layout=layout,
        recall=told,
        facts=facts,
        report=_report(blocks, budget, fitted, before),
        degraded=degraded,
        timings_ms=timings_ms or {},
        memory_intent=memory_intent,
        tools=tools,
        real=real,
    )


def _block(name: BlockName, slot: Slot, text: str) -> Block:
    known = rendered(text)
    return Block(name, slot.name, slot.role, text, known.tokens, known.digest, name in STABLE)


def _recalled(recall: Recall, fitted: Fitted, blocks: Sequence[Block]) -> Recall:
    """What came to mind, as far as it stands in the prompt."""
    given = {one.id: one.tokens for one in fitted.sacrificed if one.block is BlockName.MEMORIES}
    left_out = [
        LeftOut(memory_id, "over_budget", tokens=given[str(memory_id)])
        for memory_id in recall.ids
        if str(memory_id) in given
    ]
    tail = [block for block in blocks if not block.cacheable]
    return replace(
        recall,
        memories=tuple(fitted.parts.memories),
        pending=tuple(fitted.parts.pending),
        prefix=_text(block for block in blocks if block.cacheable),
        tail=_text(tail),
        left_out=(*recall.left_out, *left_out),
        tokens=_tokens(tail),
    )


def _report(blocks: Sequence[Block], budget: int | None, fitted: Fitted, before: Sequence[Block]) -> ContextReport:
    prefix, tail = ([block for block in blocks if block.cacheable is stable] for stable in (True, False))
    return ContextReport(
        budget=budget,
        tokens=_tokens(blocks),
        prefix_tokens=_tokens(prefix),
        tail_tokens=_tokens(tail),
        sacrificed=fitted.sacrificed,
        over_by=fitted.over_by,
        reused_tokens=reused_tokens(blocks, before),
    )


def _tokens(blocks: Sequence[Block]) -> int:
    return sum(block.tokens for block in blocks) + JOINT * max(0, len(blocks) - 1)


def _text(blocks: Iterable[Block]) -> str:
    return BETWEEN.join(block.text for block in blocks)


def _joined(blocks: Sequence[Block], slot: Slot) -> str:
    return _text(block for block in blocks if block.slot == slot.name)
