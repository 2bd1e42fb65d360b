"""The command line: a thin door to `Memory` and `Space`, one module per group of commands."""

from perdure.cli.root import main

__all__ = ["main"]
