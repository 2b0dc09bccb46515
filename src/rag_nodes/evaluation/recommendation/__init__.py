"""Which parser and size to take: a sweep with early stopping, and a choice that says why."""

from rag_nodes.evaluation.recommendation.candidates import OVERLAPS, Candidate
from rag_nodes.evaluation.recommendation.report import Recommendation, Trial
from rag_nodes.evaluation.recommendation.run import PLAN, recommend

__all__ = ["OVERLAPS", "PLAN", "Candidate", "Recommendation", "Trial", "recommend"]
