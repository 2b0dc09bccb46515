"""Evaluations over REST: questions in, progress and a report out."""

from rag_nodes.server.rest.evaluate.bodies import (
    CheckBody,
    EvaluateBody,
    LabelledQuestion,
    labels_of,
)
from rag_nodes.server.rest.evaluate.replies import CheckReply, public_report
from rag_nodes.server.rest.evaluate.routes import Evaluations

__all__ = [
    "CheckBody",
    "CheckReply",
    "EvaluateBody",
    "Evaluations",
    "LabelledQuestion",
    "labels_of",
    "public_report",
]
