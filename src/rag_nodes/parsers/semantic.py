"""Breaks where the meaning of neighbouring sentences moves apart."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import Field, model_validator

from rag_nodes.errors import ConfigurationError, DimensionError, ModelResponseError
from rag_nodes.parsers.base import LEAST_TOKENS, SpanNodeParser
from rag_nodes.parsers.source import Cut, SourceText
from rag_nodes.text.blocks import Block, Kind
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import Span, trimmed

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNCUT = frozenset({Kind.CODE, Kind.TABLE, Kind.HEADING, Kind.HTML, Kind.FRONT_MATTER, Kind.RULE})
"""Blocks that are embedded as one unit; the others by sentence, lists by line."""
_AUTHORS_BREAK = 3.0
"""Stands for the gap before a heading; a cosine distance is never over 2."""
_NO_BREAK = -1.0
"""Stands for the gap after a heading; a cosine distance is never negative."""


class SemanticNodeParser(SpanNodeParser):
    """Cuts where the distance between neighbouring sentences is unusually large (S0-20 to S0-26).

    All sentences are embedded once, in one batched call per `window` of sentences, so that memory
    stays flat on long documents and nothing is dropped (S0-45 capped at 1000 sentences). A break
    is a gap whose cosine distance is over the document's `breakpoint_percentile`. Pieces under
    `min_chunk_size` then join the neighbour they are closer to, pieces over `chunk_size` are cut
    at their widest gaps. A heading always starts a piece and never ends one.

    On percentiles: S0-23 breaks where the *similarity* is under its 25th percentile. Distance is
    one minus similarity, so that is this parser's default of 75 for distance. A higher number
    means fewer breaks and larger nodes; S0-24 states the opposite of what its formula does.

    Args:
        chunk_size: tokens a node may hold; always kept.
        min_chunk_size: tokens below which a piece joins a neighbour, wherever both fit.
        breakpoint_percentile: percentile of distances over which a gap is a break, 0 to 100.
        window: sentences embedded in one call.
        embedding: name of the embedding model: "lexical" (offline) or "openai:<model>".
        embed_model: the model itself, instead of its name. Only its name is serialised.

    Raises:
        ConfigurationError: `min_chunk_size` is over `chunk_size`, or the model is unknown.
        ModelError: embedding failed.
    """

    chunk_size: int = Field(default=512, ge=LEAST_TOKENS)
    min_chunk_size: int = Field(default=64, ge=0)
    breakpoint_percentile: float = Field(default=75.0, ge=0.0, le=100.0)
    window: int = Field(default=1000, ge=2)
    embedding: str = Field(default="lexical")
    embed_model: BaseEmbedding | None = Field(default=None, exclude=True, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _name_the_model(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(model := data.get("embed_model"), BaseEmbedding):
            return {**data, "embedding": f"{model.class_name()}:{model.model_name}"}
        return data

    def _check(self) -> None:
        if self.min_chunk_size > self.chunk_size:
            raise ConfigurationError(
                f"min_chunk_size ({self.min_chunk_size}) must not be over chunk_size "
                f"({self.chunk_size})"
            )

    def spans(self, source: SourceText) -> Iterator[Cut]:
        """Groups of sentences between breaks."""
        units = list(_units(source.packer, self.chunk_size))
        model = self._model(units)
        gaps = _Gaps()
        for texts in _windows(source.text, units, self.window):
            gaps.add(model.get_text_embedding_batch(texts) if model else [])
        yield from self._cuts(source.packer, units, gaps.distances)

    async def aspans(self, source: SourceText) -> list[Cut]:
        """The same cuts; the model is awaited."""
        units = list(_units(source.packer, self.chunk_size))
        model = self._model(units)
        gaps = _Gaps()
        for texts in _windows(source.text, units, self.window):
            gaps.add(await model.aget_text_embedding_batch(texts) if model else [])
        return list(self._cuts(source.packer, units, gaps.distances))

    def _model(self, units: Sequence[Span]) -> BaseEmbedding | None:
        """The embedding model; None where a single sentence leaves nothing to compare."""
        if len(units) < 2:  # noqa: PLR2004 -- a gap has two sides
            return None
        if self.embed_model is not None:
            return self.embed_model
        from rag_nodes.models import get_embedding

        return get_embedding(self.embedding)

    def _cuts(
        self, packer: Packer, units: Sequence[Span], distances: Sequence[float]
    ) -> Iterator[Cut]:
        if not units:
            return
        gaps = _respect_headings(packer, units, distances)
        pieces = _split_long(packer, units, _pieces(gaps, self.breakpoint_percentile), gaps, self)
        for first, last in _merge_short(packer, units, list(pieces), gaps, self):
            yield Cut(units[first].start, units[last].end)


class _Gaps:
    """Distances between neighbouring vectors, over windows of which only one is in memory."""

    def __init__(self) -> None:
        self.distances: list[float] = []
        self._last: NDArray[np.float64] | None = None

    def add(self, vectors: Sequence[Sequence[float]]) -> None:
        if not len(vectors):
            return
        try:
            matrix = np.asarray(vectors, dtype=np.float64)
        except ValueError as error:
            raise DimensionError(
                "the embedding model returned vectors of different lengths"
            ) from error
        if not np.isfinite(matrix).all():
            raise ModelResponseError("the embedding model returned numbers that are not finite")
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        matrix = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
        if self._last is not None:
            matrix = np.vstack([self._last, matrix])
        similarity = np.einsum("ij,ij->i", matrix[:-1], matrix[1:])
        # Rounding, so that equal vectors are equally far apart on every machine.
        self.distances += np.round(np.maximum(0.0, 1.0 - similarity), 9).tolist()
        self._last = matrix[-1]


def _units(packer: Packer, limit: int) -> Iterator[Span]:
    """What is embedded: sentences, list items, whole tables and code blocks; none over `limit`."""
    for block in packer.blocks:
        for span in _natural(packer, block):
            if packer.count(*span) <= limit:
                yield span
            else:
                yield from _pieces_of(packer, span, limit)


def _natural(packer: Packer, block: Block) -> Sequence[Span]:
    return [Span(block.start, block.end)] if block.kind in _UNCUT else packer.units_of(block)


def _pieces_of(packer: Packer, span: Span, limit: int) -> Iterator[Span]:
    position = span.start
    while position < span.end:
        cut = packer.end_of_piece(position, position, span.end, limit)
        cut = cut if cut > position else packer.cluster_end(position, limit)
        end = trimmed(packer.text, position, cut).end
        yield Span(position, end)
        if cut >= span.end:
            return
        position = packer.visible_from(cut)


def _windows(text: str, units: Sequence[Span], size: int) -> Iterator[list[str]]:
    for first in range(0, len(units), size):
        yield [unit.of(text) for unit in units[first : first + size]]


def _respect_headings(
    packer: Packer, units: Sequence[Span], distances: Sequence[float]
) -> list[float]:
    """Distances, the least after a heading and the widest before it: its author moved on there."""
    is_heading = [packer.block_at(unit.start).kind is Kind.HEADING for unit in units]
    return [
        _NO_BREAK if before else _AUTHORS_BREAK if after else distance
        for distance, before, after in zip(distances, is_heading, is_heading[1:], strict=False)
    ]


def _pieces(gaps: Sequence[float], percentile: float) -> list[tuple[int, int]]:
    """First and last unit of each piece between breaks."""
    between_sentences = [gap for gap in gaps if _NO_BREAK < gap < _AUTHORS_BREAK] or [0.0]
    threshold = float(np.percentile(between_sentences, percentile))
    breaks = [index for index, gap in enumerate(gaps) if gap > threshold]
    firsts = [0, *(index + 1 for index in breaks)]
    return list(zip(firsts, [*breaks, len(gaps)], strict=True))


def _split_long(
    packer: Packer,
    units: Sequence[Span],
    pieces: Sequence[tuple[int, int]],
    gaps: Sequence[float],
    limits: SemanticNodeParser,
) -> Iterator[tuple[int, int]]:
    """Pieces within the size; a long one is cut at the widest gap within reach."""
    ends = [unit.end for unit in units]
    for first, last in pieces:
        at = first
        while packer.count(units[at].start, units[last].end) > limits.chunk_size:
            reach = packer.tokens.fit(units[at].start, limits.chunk_size)
            furthest = min(max(at, bisect_right(ends, reach) - 1), last - 1)
            while furthest > at and (
                packer.count(units[at].start, units[furthest].end) > limits.chunk_size
            ):
                furthest -= 1
            least = packer.tokens.fit(units[at].start, limits.min_chunk_size)
            nearest = min(max(at, bisect_right(ends, least)), furthest)
            cut = max(range(nearest, furthest + 1), key=lambda index: (gaps[index], index))
            yield at, cut
            at = cut + 1
        yield at, last


def _merge_short(
    packer: Packer,
    units: Sequence[Span],
    pieces: list[tuple[int, int]],
    gaps: Sequence[float],
    limits: SemanticNodeParser,
) -> Iterator[tuple[int, int]]:
    """Join pieces under the least size with the closer neighbour, where both fit."""

    def tokens(first: int, last: int) -> int:
        return packer.count(units[first].start, units[last].end)

    merged: list[tuple[int, int]] = []
    for position, (first, last) in enumerate(pieces):
        short = tokens(first, last) < limits.min_chunk_size
        left = bool(merged) and tokens(merged[-1][0], last) <= limits.chunk_size
        following = pieces[position + 1][1] if position + 1 < len(pieces) else None
        right = following is not None and tokens(first, following) <= limits.chunk_size
        if short and left and not (right and gaps[last] < gaps[first - 1]):
            merged[-1] = (merged[-1][0], last)
        elif short and right and following is not None:
            pieces[position + 1] = (first, following)
        else:
            merged.append((first, last))
    yield from merged
