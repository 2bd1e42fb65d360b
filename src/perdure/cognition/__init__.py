"""Cognition: what an assistant concludes in quiet hours. Reflection, episodes, consolidation; and taking it back."""

from perdure.cognition.deep_thinker import Consultation, consult
from perdure.cognition.identity import Identity, read_identity
from perdure.cognition.run import CognitionReport, think
from perdure.cognition.undoing import require_run, undo

__all__ = [
    "CognitionReport",
    "Consultation",
    "Identity",
    "consult",
    "read_identity",
    "require_run",
    "think",
    "undo",
]
