"""Sections of the heading tree, packed between a least and a most number of tokens."""

from rag_nodes.parsers.heading.parser import HeadingHierarchyNodeParser

__all__ = ["HeadingHierarchyNodeParser"]
