"""Checks that all of a page is in its chunks: a function for each, from a page to its findings."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Literal, NamedTuple

from rag_nodes.core import metadata as keys
from rag_nodes.text.formats import blocks_of, format_in
from rag_nodes.text.markdown import Block, Kind
from rag_nodes.text.spans import Span, trimmed
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import Document, TextNode

    from rag_nodes.parsers import SpanNodeParser

FindingKind = Literal[
    "misplaced",
    "lost-heading",
    "split-code",
    "lost-text",
    "wrong-tokens",
    "too-large",
    "too-small",
]
_MAX_QUOTE = 80
"""Characters of a quote in a finding."""


class PageFinding(NamedTuple):
    """A fault of a page, or of one of its chunks."""

    kind: FindingKind
    page: str
    chunk_id: str | None
    detail: str


@dataclass(frozen=True)
class CheckedPage:
    """A document with its chunks, in order, and the parser that made them."""

    document: Document
    nodes: Sequence[TextNode]
    parser: SpanNodeParser

    @property
    def text(self) -> str:
        """Text of the document."""
        return self.document.text

    @cached_property
    def tokens(self) -> list[int]:
        """Tokens of each chunk, counted by the parser's tokenizer."""
        return [count_tokens(node.text, self.parser.tokenizer) for node in self.nodes]

    @cached_property
    def spans(self) -> list[Span]:
        """Spans of the chunks that are the text at their offsets, by where they start."""
        spans = (_span_of(node) for node in self.nodes if self.is_located(node))
        return sorted(span for span in spans if span)

    @cached_property
    def headings(self) -> list[Block]:
        """Headings of the text."""
        return [block for block in self._blocks if block.level]

    @cached_property
    def code(self) -> list[Block]:
        """Blocks of code of the text."""
        return [block for block in self._blocks if block.kind is Kind.CODE]

    def is_located(self, node: TextNode) -> bool:
        """Return True if a chunk is the text at its offsets."""
        span = _span_of(node)
        return span is not None and span.of(self.text) == node.text

    def is_whole(self, block: Block) -> bool:
        """Return True if one chunk has all of a block."""
        start, end = trimmed(self.text, block.start, block.end)
        before = bisect_right(self.spans, start, key=lambda span: span.start)
        return before > 0 and self._ends[before - 1] >= end

    def gaps(self) -> Iterator[Span]:
        """Return the spans of visible text that no chunk has."""
        starts = [*(span.start for span in self.spans), len(self.text)]
        for start, end in zip([0, *self._ends], starts, strict=True):
            if start < end and not self.text[start:end].isspace():
                yield Span(start, end)

    def quote(self, span: Span | Block) -> str:
        """Return a span and how its text begins, for a message."""
        words = " ".join(self.text[span.start : span.end][: 4 * _MAX_QUOTE].split())
        return f"{span.start} to {span.end}: {words[:_MAX_QUOTE]}"

    def finding(self, kind: FindingKind, detail: str, node: TextNode | None = None) -> PageFinding:
        """Return a finding of this page, or of one of its chunks."""
        url = str(self.document.metadata.get(keys.SOURCE, self.document.id_))
        return PageFinding(kind, url, node.node_id if node else None, detail)

    @cached_property
    def _blocks(self) -> list[Block]:
        return blocks_of(self.text, format_in(self.document.metadata, self.text))

    @cached_property
    def _ends(self) -> list[int]:
        """The furthest end among each chunk and those before it."""
        return list(accumulate((span.end for span in self.spans), max))


def check_page(page: CheckedPage) -> list[PageFinding]:
    """Return everything that is wrong with the chunks of a page."""
    return list(chain.from_iterable(check(page) for check in CHECKS))


def validate_locations(page: CheckedPage) -> Iterator[PageFinding]:
    """Find chunks that are not the text at their offsets; they cover nothing of the page."""
    for node in page.nodes:
        if (span := _span_of(node)) is None:
            yield page.finding("misplaced", "its offsets in the page are not known", node)
        elif not page.is_located(node):
            detail = f"its text is not that at {span.start} to {span.end} of the page"
            yield page.finding("misplaced", detail, node)


def validate_headings_preserved(page: CheckedPage) -> Iterator[PageFinding]:
    """Find headings, H1 to H6, that no chunk has whole."""
    for heading in page.headings:
        if not page.is_whole(heading):
            title = " ".join(heading.title.of(page.text).split())
            yield page.finding("lost-heading", f"{'#' * heading.level} {title}")


def validate_code_preserved(page: CheckedPage) -> Iterator[PageFinding]:
    """Find blocks of code that no chunk has whole."""
    for block in page.code:
        if not page.is_whole(block):
            yield page.finding("split-code", page.quote(block))


def validate_coverage(page: CheckedPage) -> Iterator[PageFinding]:
    """Find visible text that no chunk has."""
    for gap in page.gaps():
        yield page.finding("lost-text", page.quote(gap))


def validate_token_counts(page: CheckedPage) -> Iterator[PageFinding]:
    """Find chunks whose `token_count` is not the number of their tokens."""
    for node, tokens in zip(page.nodes, page.tokens, strict=True):
        stated = node.metadata.get(keys.TOKEN_COUNT)
        if stated != tokens:
            yield page.finding("wrong-tokens", f"says {stated} tokens, has {tokens}", node)


def validate_sizes(page: CheckedPage) -> Iterator[PageFinding]:
    """Find chunks over or under the token limits of the parser; a short page may be one chunk."""
    if getattr(page.parser, "unit", "tokens") != "tokens":
        return
    minimum: int = getattr(page.parser, "min_chunk_size", 0)
    maximum: int | None = getattr(page.parser, "chunk_size", None)
    for node, tokens in zip(page.nodes, page.tokens, strict=True):
        is_whole_page = len(page.nodes) == 1 or node.metadata.get(keys.WHOLE_DOCUMENT)
        if maximum is not None and tokens > maximum:
            why = ", code kept whole" if node.metadata.get(keys.OVERSIZED) else ""
            yield page.finding("too-large", f"{tokens:,} tokens, over {maximum:,}{why}", node)
        elif tokens < minimum and not is_whole_page:
            yield page.finding("too-small", f"{tokens:,} tokens, under {minimum:,}", node)


CHECKS = (
    validate_locations,
    validate_headings_preserved,
    validate_code_preserved,
    validate_coverage,
    validate_token_counts,
    validate_sizes,
)
"""All checks, in the order of their findings."""


def _span_of(node: TextNode) -> Span | None:
    start, end = node.start_char_idx, node.end_char_idx
    return None if start is None or end is None else Span(start, end)
