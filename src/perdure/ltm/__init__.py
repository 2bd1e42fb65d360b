"""Self-taught facts: what an assistant keeps of servers and people, and how a turn uses it."""

from perdure.ltm.create import create_long_term_memory
from perdure.ltm.notices import open_notifier
from perdure.ltm.state import require_persona, require_state
from perdure.ltm.tools import TOOLS
from perdure.ltm.update import update_long_term_memory

__all__ = [
    "TOOLS",
    "create_long_term_memory",
    "open_notifier",
    "require_persona",
    "require_state",
    "update_long_term_memory",
]
