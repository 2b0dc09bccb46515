"""One corpus, many parsers: the same question answered by each, side by side, as plain data."""

from rag_nodes.evaluation.compare.comparison import Comparison
from rag_nodes.evaluation.compare.report import SCHEMA_VERSION, Column, ComparisonReport
from rag_nodes.evaluation.compare.streaming import ComparisonStream

__all__ = [
    "SCHEMA_VERSION",
    "Column",
    "Comparison",
    "ComparisonReport",
    "ComparisonStream",
]
