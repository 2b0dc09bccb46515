"""Splitters of other packages as columns beside ours."""

from rag_nodes.parsers.foreign.parser import ForeignNodeParser, as_parser, parser_at

__all__ = ["ForeignNodeParser", "as_parser", "parser_at"]
