"""Upkeep: what time does to memories. Decay, regression, pruning, and the retention of side tables."""

from perdure.upkeep.report import PrunedMemory, UpkeepReport
from perdure.upkeep.tick import keep_up

__all__ = ["PrunedMemory", "UpkeepReport", "keep_up"]
