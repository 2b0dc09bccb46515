"""Exact token counts for any span of a text that is encoded only once."""

from rag_nodes.text.tokens.index import TokenEnds, TokenIndex, count_tokens, encodable

__all__ = ["TokenEnds", "TokenIndex", "count_tokens", "encodable"]
