"""Breaks where the meaning of neighbouring sentences moves apart."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any, ClassVar

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import Field, model_validator
from pydantic import InstanceOf

from rag_nodes.core import metadata as keys
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.embedders import model_named, named_after
from rag_nodes.parsers.sizes import MIN_TOKENS
from rag_nodes.parsers.source import NO_FACTS, ChunkSpan, SourceText
from rag_nodes.parsers.topics.breaks import PERCENTILE, Breaks
from rag_nodes.parsers.topics.units import TopicUnits
from rag_nodes.text.cohesion import unit_rows

logger = logging.getLogger(__name__)

_WIDEST_BUFFER = 1000
"""Sentences; as many vectors are held at once."""


class SemanticNodeParser(SpanNodeParser):
    """Splits where neighbouring sentences are about different things.

    Every sentence is embedded exactly once, in one batched call per `window` of sentences, so
    that memory stays flat on long documents and nothing is dropped. A heading always starts a
    piece and never ends one.

    A break is a gap whose cosine distance is over the document's `breakpoint_percentile`. Pieces
    over `chunk_size` are split at their widest gaps; what is still under `min_chunk_size` joins the
    neighbour it is closer to. On percentiles: a similarity under its 25th percentile is a distance
    over its 75th, which is the default. A higher number means fewer breaks and larger nodes.

    Args:
        chunk_size: maximum tokens of a node.
        min_chunk_size: minimum tokens of a piece; a smaller one joins a neighbour if both fit into
            one node.
        breakpoint_percentile: percentile of the distances between neighbouring sentences, 0 to 100;
            the text is split where a distance is larger.
        buffer_size: number of sentences on each side whose vectors are added to the vector of a
            sentence before distances are measured; 0 for none. LlamaIndex embeds the joined text of
            `2 * buffer_size + 1` sentences instead, so at its default of 1 it embeds a document
            about three times.
        window: number of sentences per embedding call.
        max_sentences: maximum number of sentences to embed per document; None embeds all. A list
            item, a heading, a table and a code block count as one sentence each. The rest of a
            longer document is split by size, at headings and between sentences, and its nodes are
            marked `split_by_size`.
        embedding: name of the embedding model: "lexical" (offline) or "openai:<model>".
        embed_model: embedding model to use instead of the one that `embedding` names. A saved
            parser holds only its name.

    Raises:
        ConfigurationError: `min_chunk_size` is over `chunk_size`, or the model is unknown.
        ModelError: embedding failed.
    """

    output_version: ClassVar[int] = 3
    """3: a list item wrapped over several lines is split between its sentences."""

    chunk_size: int = Field(default=512, ge=MIN_TOKENS)
    min_chunk_size: int = Field(default=64, ge=0)
    breakpoint_percentile: float = Field(default=PERCENTILE, ge=0.0, le=100.0)
    buffer_size: int = Field(default=0, ge=0, le=_WIDEST_BUFFER)
    window: int = Field(default=1000, ge=2)
    max_sentences: int | None = Field(default=None, ge=2)
    embedding: str = Field(default="lexical")
    embed_model: InstanceOf[BaseEmbedding] | None = Field(default=None, exclude=True, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _name_the_model(cls, data: Any) -> Any:
        return named_after("embed_model", data)

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        """Groups of sentences between breaks."""
        units, model, measured = self._prepared(source)
        if model:
            for texts in units.texts(self.window):
                measured.add(unit_rows(model.get_text_embedding_batch(texts), len(texts)))
        yield from self._cuts(units, measured)

    async def aspans(self, source: SourceText) -> list[ChunkSpan]:
        """The same splits; the model is awaited, and everything else runs in a worker thread."""
        units, model, measured = await asyncio.to_thread(self._prepared, source)
        if model:
            for texts in units.texts(self.window):
                vectors = await model.aget_text_embedding_batch(texts)
                await asyncio.to_thread(
                    lambda batch, count: measured.add(unit_rows(batch, count)), vectors, len(texts)
                )
        return await asyncio.to_thread(lambda: list(self._cuts(units, measured)))

    def _prepared(self, source: SourceText) -> tuple[TopicUnits, BaseEmbedding | None, Breaks]:
        """Return the texts to embed, the model, and the consumer of its vectors."""
        units = TopicUnits(source.packer, self.chunk_size, self.max_sentences)
        if units.embedded < len(units):
            logger.warning(
                "%s of %s sentences are not embedded but split by size: max_sentences is %s",
                len(units) - units.embedded,
                len(units),
                self.max_sentences,
            )
        measured = Breaks(
            units,
            self.chunk_size,
            self.min_chunk_size,
            self.breakpoint_percentile,
            self.buffer_size,
        )
        compares = len(units) > 1  # a single sentence leaves no gap
        model = model_named(self.embedding, self.embed_model) if compares else None
        return units, model, measured

    def _cuts(self, units: TopicUnits, measured: Breaks) -> Iterator[ChunkSpan]:
        if not units:
            return
        for first, last in measured.pieces():
            span = units.span(first, last)
            facts = NO_FACTS if last < units.embedded else {keys.SPLIT_BY_SIZE: self._beyond()}
            fits = units.packer.count(*span) <= self.chunk_size
            # It does not where the sum over the text misses the count of this very span.
            pieces = (span,) if fits else units.packer.pieces(span, self.chunk_size)
            yield from (ChunkSpan(*piece, facts) for piece in pieces)

    def _beyond(self) -> str:
        return (
            f"beyond the first {self.max_sentences:,} sentences, which alone are embedded: split "
            "by size, not by meaning (max_sentences)"
        )
