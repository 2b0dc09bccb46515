"""Judging chunks: pure functions of token counts and of character spans, and runs that use them.

Gold answers are spans of the source, so one set of labels scores any parser. What runs (`evaluate`
and what goes with it) is imported when it is first asked for: it brings models and stores along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.core.import_paths import lazy_getattr
from rag_nodes.evaluation.metrics import Passage, first_hit, iou, precision, precision_omega, recall

if TYPE_CHECKING:
    from rag_nodes.evaluation.columns import Searched, StoredCollection
    from rag_nodes.evaluation.dataset import Dataset, Question
    from rag_nodes.evaluation.importers import load_dataset
    from rag_nodes.evaluation.judging import Judging
    from rag_nodes.evaluation.plan import EvaluationPlan
    from rag_nodes.evaluation.report import EvaluationReport
    from rag_nodes.evaluation.run import evaluate, recommend

__all__ = [
    "Dataset",
    "EvaluationPlan",
    "EvaluationReport",
    "Judging",
    "Passage",
    "Question",
    "Searched",
    "StoredCollection",
    "evaluate",
    "first_hit",
    "iou",
    "load_dataset",
    "precision",
    "precision_omega",
    "recall",
    "recommend",
]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__ = lazy_getattr(
        __name__,
        {
            "columns": ["Searched", "StoredCollection"],
            "dataset": ["Dataset", "Question"],
            "importers": ["load_dataset"],
            "judging": ["Judging"],
            "plan": ["EvaluationPlan"],
            "report": ["EvaluationReport"],
            "run": ["evaluate", "recommend"],
        },
    )
