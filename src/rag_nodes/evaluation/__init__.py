"""Judging chunks: pure functions of token counts and of character spans.

Gold answers are spans of the source, so one set of labels scores any parser.
"""

from rag_nodes.evaluation.metrics import (
    Passage,
    first_hit,
    iou,
    precision,
    precision_omega,
    recall,
    within_budget,
)
from rag_nodes.evaluation.statistics import ChunkStatistics, chunk_statistics

__all__ = [
    "ChunkStatistics",
    "Passage",
    "chunk_statistics",
    "first_hit",
    "iou",
    "precision",
    "precision_omega",
    "recall",
    "within_budget",
]
