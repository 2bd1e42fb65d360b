"""Months in seconds: scripted lives on a simulated clock, through the real database, and what must hold in them.

One is the year of a person who talks to an assistant; the other the life of two servers, in which personas teach
themselves facts (`ltm_*`).
"""

from perdure.simulation.invariants import Invariant, invariants
from perdure.simulation.life import Life, scripted_life
from perdure.simulation.ltm_days import Lived, live_in_servers
from perdure.simulation.ltm_invariants import fact_invariants, share_shown
from perdure.simulation.ltm_life import ServerLife, scripted_servers
from perdure.simulation.ltm_plot import draw_servers
from perdure.simulation.plot import draw
from perdure.simulation.year import Year, live_through

__all__ = [
    "Invariant",
    "Life",
    "Lived",
    "ServerLife",
    "Year",
    "draw",
    "draw_servers",
    "fact_invariants",
    "invariants",
    "live_in_servers",
    "live_through",
    "scripted_life",
    "scripted_servers",
    "share_shown",
]
