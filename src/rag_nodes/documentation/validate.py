"""What of a page is in its chunks, checked after every page and by other means than it was cut."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from rag_nodes import metadata as keys
from rag_nodes.documentation.recount import FoundCode, FoundHeading, recount
from rag_nodes.documentation.statistics import (
    LEVELS,
    FindingKind,
    PageCheck,
    PageFinding,
    Statistics,
)
from rag_nodes.parsers import ParentChildNodeParser, get_parser
from rag_nodes.text.tokens import count_tokens, token_index

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llama_index.core.schema import Document, TextNode

    from rag_nodes.parsers import SpanNodeParser

_EDGE_TOKENS = 4
"""Tokens by which the ends of a span may differ from the same tokens inside the text."""
_MAX_QUOTE = 80


def check_page(document: Document, nodes: Sequence[TextNode], parser: SpanNodeParser) -> PageCheck:
    """Compare a page with its chunks.

    Args:
        document: the page.
        nodes: its chunks, in order, with offsets; they may overlap.
        parser: made them, so its tokenizer counts; a chunk over its limits is reported, and one
            under them, unless it is the whole page.
    """
    return _PageUnderCheck(document, nodes, parser).result()


class _SizeLimits(NamedTuple):
    """How large a parser lets its chunks be; 0 and None where it sets no limit."""

    minimum: int
    maximum: int | None
    unit: Literal["tokens", "characters"]


def _limits_of(parser: SpanNodeParser) -> _SizeLimits:
    """The sizes a parser is configured for; those of the children where it makes families."""
    if isinstance(parser, ParentChildNodeParser):
        parser = get_parser(parser.child, **parser.child_options)
    unit = getattr(parser, "unit", "tokens")
    if unit == "sentences":
        return _SizeLimits(0, getattr(parser, "max_tokens", None), "tokens")
    minimum, maximum = getattr(parser, "min_chunk_size", 0), getattr(parser, "chunk_size", None)
    return _SizeLimits(minimum, maximum, "characters" if unit == "characters" else "tokens")


class _PageUnderCheck:
    """One page under examination."""

    def __init__(
        self, document: Document, nodes: Sequence[TextNode], parser: SpanNodeParser
    ) -> None:
        self.text = document.text
        self.page = str(document.metadata.get(keys.SOURCE, document.id_))
        self.repeated = len(document.metadata.get(keys.ALSO_AT, ()))
        self.nodes = nodes
        self.limits = _limits_of(parser)
        self.encoding = parser.tokenizer
        self.tokens = [count_tokens(node.text, self.encoding) for node in nodes]
        self.findings: list[PageFinding] = []
        self._find_misplaced()
        wrong = {finding.chunk_id for finding in self.findings}
        self.spans = sorted(_span(node) for node in nodes if node.node_id not in wrong)
        self.starts = [start for start, _ in self.spans]
        self._find_disordered()

    def result(self) -> PageCheck:
        found = recount(self.text)
        kept = [one for one in found.headings if self._holds(one.start, one.end)]
        for heading in found.headings:
            if not self._holds(heading.start, heading.end):
                self._find("lost-heading", f"{'#' * heading.level} {heading.title}")
        for block in found.code:
            if not self._holds(block.start, block.end):
                self._find("split-code", self._quote(block.start, block.end))
        covered, visible = self._coverage()
        tokens, shared = self._balance()
        self._find_sizes()
        figures = Statistics(
            pages=1,
            pages_repeated=self.repeated,
            urls=1 + self.repeated,
            page_tokens=tokens,
            chunks=len(self.nodes),
            tokens=sum(self.tokens),
            tokens_min=min(self.tokens, default=0),
            tokens_max=max(self.tokens, default=0),
            tokens_shared=shared,
            headings=_by_level(found.headings),
            headings_kept=_by_level(kept),
            code_blocks=len(found.code),
            chunks_with_code=self._with_code(found.code),
            chunks_oversized=sum(bool(one.metadata.get(keys.OVERSIZED)) for one in self.nodes),
            visible=visible,
            covered=covered,
        )
        return PageCheck(figures, tuple(self.findings))

    def _find_misplaced(self) -> None:
        """Chunks that are not the text at their offsets: nothing else can be said of them."""
        for node in self.nodes:
            start, end = node.start_char_idx, node.end_char_idx
            if start is None or end is None:
                self._find("misplaced", "where its text stands in the page is not known", node)
            elif self.text[start:end] != node.text:
                self._find(
                    "misplaced", f"its text is not that at {start} to {end} of the page", node
                )

    def _find_disordered(self) -> None:
        """Chunks that repeat the one before them, or stand where they do not belong."""
        placed = [node for node in self.nodes if node.start_char_idx is not None]
        for before, node in pairwise(placed):
            former, span = _span(before), _span(node)
            place = f"characters {span[0]} to {span[1]} of the page"
            number = node.metadata.get(keys.CHUNK_INDEX, 0)
            behind = before.metadata.get(keys.CHUNK_INDEX, -1)
            if span == former:
                self._find("duplicate", f"{place}, as the chunk before it", node)
            elif span[0] <= former[0] or span[1] <= former[1]:
                after = f"{place}, after a chunk that starts or ends further on"
                self._find("misplaced", after, node)
            elif number <= behind:
                self._find("misplaced", f"is number {number}, after number {behind}", node)

    def _find_sizes(self) -> None:
        """Chunks whose count of tokens is wrong, and those over or under the limits."""
        limits = self.limits
        for node, tokens in zip(self.nodes, self.tokens, strict=True):
            stated = node.metadata.get(keys.TOKEN_COUNT)
            if stated != tokens:
                self._find("wrong-tokens", f"says {stated} tokens, has {tokens}", node)
            size = tokens if limits.unit == "tokens" else len(node.text)
            if limits.maximum is not None and size > limits.maximum:
                why = ", code kept whole" if node.metadata.get(keys.OVERSIZED) else ""
                over = f"{size:,} {limits.unit}, over {limits.maximum:,}{why}"
                self._find("too-large", over, node)
            elif size < limits.minimum and not self._is_whole_page(node):
                self._find("too-small", f"{size:,} {limits.unit}, under {limits.minimum:,}", node)

    def _is_whole_page(self, node: TextNode) -> bool:
        """Whether there was no more to join: not all parsers say it of their chunks."""
        return len(self.nodes) == 1 or bool(node.metadata.get(keys.WHOLE_DOCUMENT))

    def _coverage(self) -> tuple[int, int]:
        """Visible characters that are in a chunk, and all visible characters."""
        lost = at = 0
        for start, end in [*self.spans, (len(self.text), len(self.text))]:
            if start > at and (missing := _visible(self.text[at:start])):
                lost += missing
                self._find("lost-text", self._quote(at, start))
            at = max(at, end)
        visible = _visible(self.text)
        return visible - lost, visible

    def _balance(self) -> tuple[int, int]:
        """Tokens of the page, and those that chunks share."""
        index = token_index(self.text, self.encoding)
        between = shared = at = 0
        for start, end in [*self.spans, (len(self.text), len(self.text))]:
            if start > at:
                between += index.count(at, start)
            elif start < at:
                shared += index.count(start, min(at, end))
            at = max(at, end)
        tokens = index.count()
        imbalance = sum(self.tokens) + between - shared - tokens
        if abs(imbalance) > _EDGE_TOKENS * (len(self.nodes) + 1):
            self._find("wrong-tokens", f"the chunks have {imbalance:+,} tokens")
        return tokens, shared

    def _with_code(self, blocks: Iterable[FoundCode]) -> int:
        ends = [end for _, end in self.spans]
        return len(
            {
                number
                for block in blocks
                for number in range(
                    bisect_right(ends, block.start), bisect_left(self.starts, block.end)
                )
            }
        )

    def _holds(self, start: int, end: int) -> bool:
        """Whether one chunk has all of this span."""
        position = bisect_right(self.starts, start) - 1
        return position >= 0 and self.spans[position][1] >= end

    def _find(self, kind: FindingKind, detail: str, node: TextNode | None = None) -> None:
        chunk = None if node is None else node.node_id
        self.findings.append(PageFinding(kind, self.page, chunk, detail))

    def _quote(self, start: int, end: int) -> str:
        words = " ".join(self.text[start:end][: 4 * _MAX_QUOTE].split())
        return f"{start} to {end}: {words[:_MAX_QUOTE]}"


def _span(node: TextNode) -> tuple[int, int]:
    return node.start_char_idx or 0, node.end_char_idx or 0


def _by_level(headings: Sequence[FoundHeading]) -> list[int]:
    levels = [heading.level for heading in headings]
    return [levels.count(level) for level in range(1, LEVELS + 1)]


def _visible(text: str) -> int:
    return sum(map(len, text.split()))
