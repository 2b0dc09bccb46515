"""Evaluations by workers: each row is measured in another process, and the report is the same.

A worker is made of a `SweepRecipe` and examines one variant at a time; what it found is plain data,
which the process that was started puts into cache and report, in the order of the columns.
"""

from rag_nodes.evaluation.by_workers.crew import Crew
from rag_nodes.evaluation.by_workers.hiring import (
    SweepEngine,
    hired,
    kept_in,
    settled_engine,
)

__all__ = ["Crew", "SweepEngine", "hired", "kept_in", "settled_engine"]
