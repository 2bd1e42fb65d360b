"""A year in seconds: a scripted life on a simulated clock, through the real database."""

from perdure.simulation.invariants import Invariant, invariants
from perdure.simulation.life import Life, scripted_life
from perdure.simulation.plot import draw
from perdure.simulation.year import Year, live_through

__all__ = ["Invariant", "Life", "Year", "draw", "invariants", "live_through", "scripted_life"]
