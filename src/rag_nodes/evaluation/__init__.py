"""Judging chunks: pure functions of token counts and of character spans.

Gold answers are spans of the source, so one set of labels scores any parser.
"""

from rag_nodes.evaluation.intervals import wilson
from rag_nodes.evaluation.label_free import duplicates_of, judge, limits_of, total
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
from rag_nodes.evaluation.tally import Finding, JudgedChunk, SizeLimits, Tally
from rag_nodes.evaluation.text_facts import TextFacts, compare_sentences, text_facts

__all__ = [
    "ChunkStatistics",
    "Finding",
    "JudgedChunk",
    "Passage",
    "SizeLimits",
    "Tally",
    "TextFacts",
    "chunk_statistics",
    "compare_sentences",
    "duplicates_of",
    "first_hit",
    "iou",
    "judge",
    "limits_of",
    "precision",
    "precision_omega",
    "recall",
    "text_facts",
    "total",
    "wilson",
    "within_budget",
]
