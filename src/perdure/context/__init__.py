"""The prompt: a stable prefix and a volatile tail, in which everything remembered is fenced data."""

from perdure.context.blocks import PREFIX, render_tail

__all__ = ["PREFIX", "render_tail"]
