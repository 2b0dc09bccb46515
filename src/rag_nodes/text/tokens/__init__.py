"""Exact token counts for any span of a text that is encoded only once, by any tokenizer."""

from rag_nodes.text.tokens.encodings import DEFAULT_ENCODING, encodable
from rag_nodes.text.tokens.index import TokenEnds, TokenIndex
from rag_nodes.text.tokens.tokenizers import (
    LengthIndex,
    SliceIndex,
    check_tokenizer,
    count_tokens,
    is_estimate,
    token_index,
)

__all__ = [
    "DEFAULT_ENCODING",
    "LengthIndex",
    "SliceIndex",
    "TokenEnds",
    "TokenIndex",
    "check_tokenizer",
    "count_tokens",
    "encodable",
    "is_estimate",
    "token_index",
]
