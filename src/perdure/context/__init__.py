"""The prompt: a stable prefix and a volatile tail, in which everything remembered is fenced data."""

from perdure.context.blocks import PREFIX, Line, frame_tokens, line_tokens, render_tail

__all__ = ["PREFIX", "Line", "frame_tokens", "line_tokens", "render_tail"]
