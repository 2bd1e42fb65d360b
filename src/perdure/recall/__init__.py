"""Memories out: prefetch for a turn, and search."""

from perdure.recall.deadline import within
from perdure.recall.feedback import give_feedback, read_feedback
from perdure.recall.prefetch import Turn, anything_to_recall, look_up, prefetch, read_history
from perdure.recall.retrieval import require_profile
from perdure.recall.search import Sought, search
from perdure.recall.selecting import Selection
from perdure.recall.task import recall_for_tasks, task_recall
from perdure.recall.weighing import Weighed, weigh
from perdure.recall.why_not import Asked, why_not

__all__ = [
    "Asked",
    "Selection",
    "Sought",
    "Turn",
    "Weighed",
    "anything_to_recall",
    "give_feedback",
    "look_up",
    "prefetch",
    "read_feedback",
    "read_history",
    "recall_for_tasks",
    "require_profile",
    "search",
    "task_recall",
    "weigh",
    "why_not",
    "within",
]
