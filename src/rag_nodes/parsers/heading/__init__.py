"""Sections of the heading tree, packed between a least and a most number of tokens."""

from rag_nodes.parsers.heading.parser import WEB_PAGES, HeadingHierarchyNodeParser

__all__ = ["WEB_PAGES", "HeadingHierarchyNodeParser"]
