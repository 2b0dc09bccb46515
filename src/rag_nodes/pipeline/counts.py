"""Numbers of the chunks of one column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.metadata import TOKEN_COUNT
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llama_index.core.schema import BaseNode


class Counts:
    """Running totals of chunks and tokens; parents hold the same text again and count apart."""

    def __init__(self) -> None:
        self.chunks = self.tokens = self.largest = self.parents = self.unplaced = 0

    def add(self, nodes: Iterable[tuple[int, bool, bool]]) -> None:
        """Add nodes: tokens, whether it is a chunk and no parent, whether it knows its place."""
        for count, is_chunk, is_placed in nodes:
            if not is_chunk:
                self.parents += 1
                continue
            self.chunks += 1
            self.unplaced += not is_placed
            self.tokens += count
            self.largest = max(self.largest, count)


def tokens_of(node: BaseNode) -> int:
    """Tokens of a node's text, as its parser counted them where it did."""
    known = node.metadata.get(TOKEN_COUNT)
    return int(known) if known is not None else count_tokens(node.get_content())
