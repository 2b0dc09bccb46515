"""Picks a way of cutting for each document, and says why."""

from rag_nodes.parsers.auto.parser import WHOLE, AutoNodeParser, Decision

__all__ = ["WHOLE", "AutoNodeParser", "Decision"]
