"""Measuring: retrieval on conversations with questions, beside plain BM25, plain cosine and both fused."""

from perdure.evaluation.cache import CachedEmbedder
from perdure.evaluation.identity import schema
from perdure.evaluation.report import BASELINES, Figures, Part, Report
from perdure.evaluation.run import Watcher, evaluate
from perdure.evaluation.sets import Choice, EvaluationSet, Format, Skipped, find_file, read_set, set_format

__all__ = [
    "BASELINES",
    "CachedEmbedder",
    "Choice",
    "EvaluationSet",
    "Figures",
    "Format",
    "Part",
    "Report",
    "Skipped",
    "Watcher",
    "evaluate",
    "find_file",
    "read_set",
    "schema",
    "set_format",
]
