"""What a text itself says about where it may be cut: found once, used to judge any parser."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.text.cohesion import Distances, unit_rows
from rag_nodes.text.formats import Format
from rag_nodes.text.markdown import Kind
from rag_nodes.text.packing import Packer

if TYPE_CHECKING:
    import numpy as np
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from numpy.typing import NDArray

    from rag_nodes.text.markdown import Block
    from rag_nodes.text.spans import Span

_WHOLE = frozenset({Kind.CODE, Kind.TABLE})
"""Blocks that lose their meaning when they are cut."""
_PROSE = frozenset({Kind.PARAGRAPH, Kind.QUOTE, Kind.LIST})
"""Blocks whose sentences are compared."""
_WINDOW = 1000
"""Sentences embedded at once, so that memory does not grow with the text."""


@dataclass(frozen=True, slots=True)
class TextFacts:
    """One document, as every strategy finds it.

    Attributes:
        text: all of it.
        ends: offsets at which a sentence, a line of a table, list or code, or a block ends.
        blocks: its tables and code blocks, in order.
        sentences: its sentences in prose, in order.
        similarity: cosine of each sentence and the next, one number fewer than sentences; None
            until they are compared, which takes far longer than all else.
    """

    text: str
    ends: frozenset[int]
    blocks: tuple[Block, ...]
    sentences: tuple[Span, ...]
    similarity: NDArray[np.float64] | None = None


def text_facts(text: str, text_format: Format | None = None) -> TextFacts:
    """Read a text once for all measures but cohesion.

    Args:
        text: the text.
        text_format: what its parsers take to mark its structure; None to judge by the text.
    """
    packer = Packer(text, text_format=text_format)
    units = {block: packer.units_of(block) for block in packer.blocks}
    inner = {unit.end for found in units.values() for unit in found}
    return TextFacts(
        text=text,
        ends=frozenset(inner | {block.end for block in units}),
        blocks=tuple(block for block in units if block.kind in _WHOLE),
        sentences=tuple(unit for block in units if block.kind in _PROSE for unit in units[block]),
    )


def compare_sentences(facts: TextFacts, embedding: BaseEmbedding | None = None) -> TextFacts:
    """The facts with each sentence compared to the next.

    Args:
        facts: of the text.
        embedding: compares; None for word vectors, which need no model and no network.

    Raises:
        ModelError: the embedding model failed.
    """
    model = embedding or LexicalEmbedding()
    distances = Distances()
    for first in range(0, len(facts.sentences), _WINDOW):
        window = [s.of(facts.text) for s in facts.sentences[first : first + _WINDOW]]
        distances.add(unit_rows(model.get_text_embedding_batch(window), len(window)))
    return replace(facts, similarity=1.0 - distances.finish())
