"""Measuring: retrieval on conversations with questions, beside plain BM25, plain cosine and both fused."""

from perdure.evaluation.cache import CachedEmbedder
from perdure.evaluation.formats import Format, find_file, set_format
from perdure.evaluation.gate import GateReport, LabelledTurn, evaluate_gate, read_turns
from perdure.evaluation.identity import schema
from perdure.evaluation.report import BASELINES, Figures, Part, Report
from perdure.evaluation.run import Watcher, evaluate
from perdure.evaluation.sets import Choice, EvaluationSet, Skipped, read_set

__all__ = [
    "BASELINES",
    "CachedEmbedder",
    "Choice",
    "EvaluationSet",
    "Figures",
    "Format",
    "GateReport",
    "LabelledTurn",
    "Part",
    "Report",
    "Skipped",
    "Watcher",
    "evaluate",
    "evaluate_gate",
    "find_file",
    "read_set",
    "read_turns",
    "schema",
    "set_format",
]
