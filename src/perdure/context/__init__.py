"""The prompt: a stable prefix and a volatile tail, in which everything remembered is fenced data."""

from perdure.context.blocks import PREFIX, Line, Passage, fact_line, frame_tokens, line_tokens, render_tail
from perdure.context.budget import Sacrificed
from perdure.context.layouts import LAYOUTS, BlockName, Layout, Slot, require_layout
from perdure.context.parts import Parts, PersonFacts, RecalledFact, Trait
from perdure.context.prompt import Block, Context, ContextChanges, ContextReport, build_context, reused_tokens

__all__ = [
    "LAYOUTS",
    "PREFIX",
    "Block",
    "BlockName",
    "Context",
    "ContextChanges",
    "ContextReport",
    "Layout",
    "Line",
    "Parts",
    "Passage",
    "PersonFacts",
    "RecalledFact",
    "Sacrificed",
    "Slot",
    "Trait",
    "build_context",
    "fact_line",
    "frame_tokens",
    "line_tokens",
    "render_tail",
    "require_layout",
    "reused_tokens",
]
