"""Self-taught facts: what an assistant keeps of servers and people, and how a turn uses it."""

from perdure.ltm.about import USER, read_about, spoken_about
from perdure.ltm.accounting import after_reply
from perdure.ltm.by_hand import FactEdit, Remembered, edit_fact, fact_changes, get_fact, list_known, remember_fact
from perdure.ltm.candidates import Candidates, FactTurn
from perdure.ltm.content import require_content
from perdure.ltm.create import create_long_term_memory
from perdure.ltm.forgetting import facts_of_person, forget_all, forget_facts, forget_person
from perdure.ltm.notices import open_notifier
from perdure.ltm.query import EmbedQuery, query_of
from perdure.ltm.rendered import render_facts
from perdure.ltm.restoring import restore_archived, undo_to
from perdure.ltm.scoring import RecallOutcome
from perdure.ltm.state import require_persona, require_state
from perdure.ltm.targets import name_key
from perdure.ltm.telemetry import RecallSample
from perdure.ltm.tools import TOOLS
from perdure.ltm.turn import TurnFacts, build
from perdure.ltm.update import update_long_term_memory

__all__ = [
    "TOOLS",
    "USER",
    "Candidates",
    "EmbedQuery",
    "FactEdit",
    "FactTurn",
    "RecallOutcome",
    "RecallSample",
    "Remembered",
    "TurnFacts",
    "after_reply",
    "build",
    "create_long_term_memory",
    "edit_fact",
    "fact_changes",
    "facts_of_person",
    "forget_all",
    "forget_facts",
    "forget_person",
    "get_fact",
    "list_known",
    "name_key",
    "open_notifier",
    "query_of",
    "read_about",
    "remember_fact",
    "render_facts",
    "require_content",
    "require_persona",
    "require_state",
    "restore_archived",
    "spoken_about",
    "undo_to",
    "update_long_term_memory",
]
