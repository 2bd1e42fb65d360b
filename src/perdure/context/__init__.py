"""The prompt: a stable prefix and a volatile tail, in which everything remembered is fenced data."""

from perdure.context.blocks import PREFIX, Line, render_tail, tail_tokens

__all__ = ["PREFIX", "Line", "render_tail", "tail_tokens"]
