"""What of a page is in its chunks, checked after every page and by other means than it was cut."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from rag_nodes import metadata as keys
from rag_nodes.documentation.recount import FoundHeading, recount
from rag_nodes.text.tokens import TokenIndex, count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import Document, TextNode

FindingKind = Literal[
    "lost-heading",
    "split-code",
    "lost-text",
    "wrong-tokens",
    "misplaced",
    "duplicate",
    "too-large",
    "too-small",
]
"""What can be wrong with a page or chunk."""

LEVELS = 6
_EDGE_TOKENS = 4
"""Tokens by which the ends of a span may differ from the same tokens inside the text."""
_LONGEST_QUOTE = 80


@dataclass(frozen=True, slots=True)
class PageFinding:
    """Something to look at.

    Attributes:
        kind: what it is.
        page: URL of the page.
        chunk_id: id of the chunk; None where the page has it and no chunk does.
        detail: the facts, in words.
    """

    kind: FindingKind
    page: str
    chunk_id: str | None
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCheck:
    """How a page and its chunks compare (S1-24 to S1-26, S1-34).

    Attributes:
        tokens: of the page, encoded in one piece.
        chunk_tokens: of each chunk, encoded on its own.
        imbalance: tokens of the chunks and of the blanks between them, less what chunks share,
            less those of the page. A few per cut, up or down, are the encoding's.
        visible: characters of the page that are not blank.
        covered: those of them that are in a chunk.
        headings: headings of the page at levels 1 to 6, by a count of our own.
        kept: those of them that stand whole in a chunk.
        code_blocks: blocks of code of the page, by the same count.
        findings: everything that is not as it should be.
    """

    tokens: int
    chunk_tokens: tuple[int, ...]
    imbalance: int
    visible: int
    covered: int
    headings: tuple[int, ...]
    kept: tuple[int, ...]
    code_blocks: int
    findings: tuple[PageFinding, ...]


def check_page(
    document: Document, nodes: Sequence[TextNode], *, min_tokens: int, max_tokens: int
) -> PageCheck:
    """Compare a page with its chunks.

    Args:
        document: the page.
        nodes: its chunks, in order, with offsets.
        min_tokens: a chunk below this is reported, unless it is the whole page.
        max_tokens: a chunk above this is reported.
    """
    return _Check(document, nodes).result(min_tokens, max_tokens)


def text_digest(text: str) -> bytes:
    """Equal for texts that differ in nothing but blanks."""
    folded = " ".join(text.split())
    return blake2b(folded.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class _Check:
    """One page under examination."""

    def __init__(self, document: Document, nodes: Sequence[TextNode]) -> None:
        self.text = document.text
        self.page = str(document.metadata.get(keys.SOURCE, document.id_))
        self.nodes = nodes
        self.tokens = [count_tokens(node.text) for node in nodes]
        self.findings = list(self._misplaced())
        wrong = {finding.chunk_id for finding in self.findings}
        self.spans = sorted(_span(node) for node in nodes if node.node_id not in wrong)
        self.starts = [start for start, _ in self.spans]
        self.findings += self._disordered()

    def result(self, min_tokens: int, max_tokens: int) -> PageCheck:
        found = recount(self.text)
        kept = [heading for heading in found.headings if self._is_whole(heading)]
        for heading in found.headings:
            if not self._is_whole(heading):
                self._find("lost-heading", f"{'#' * heading.level} {heading.title}")
        for block in found.code:
            if not self._holds(block.start, block.end):
                self._find("split-code", self._quote(block.start, block.end))
        covered, visible = self._coverage()
        tokens, imbalance = self._balance()
        self.findings += self._sizes(min_tokens, max_tokens)
        return PageCheck(
            tokens=tokens,
            chunk_tokens=tuple(self.tokens),
            imbalance=imbalance,
            visible=visible,
            covered=covered,
            headings=_by_level(found.headings),
            kept=_by_level(kept),
            code_blocks=len(found.code),
            findings=tuple(self.findings),
        )

    def _misplaced(self) -> Iterator[PageFinding]:
        """Chunks that are not the text at their offsets: nothing else can be said of them."""
        for node in self.nodes:
            start, end = node.start_char_idx, node.end_char_idx
            if start is None or end is None or self.text[start:end] != node.text:
                detail = f"its text is not that at {start} to {end} of the page"
                yield PageFinding("misplaced", self.page, node.node_id, detail)

    def _disordered(self) -> Iterator[PageFinding]:
        """Chunks that repeat the one before them, or stand where they do not belong."""
        for before, node in pairwise(self.nodes):
            former, span = _span(before), _span(node)
            place = f"characters {span[0]} to {span[1]} of the page"
            number = node.metadata.get(keys.CHUNK_INDEX, 0)
            behind = before.metadata.get(keys.CHUNK_INDEX, -1)
            if span == former:
                detail = f"{place}, as the chunk before it"
                yield PageFinding("duplicate", self.page, node.node_id, detail)
            elif span[0] <= former[0] or span[1] <= former[1]:
                detail = f"{place}, after a chunk that starts or ends further on"
                yield PageFinding("misplaced", self.page, node.node_id, detail)
            elif number <= behind:
                detail = f"is number {number}, after number {behind}"
                yield PageFinding("misplaced", self.page, node.node_id, detail)

    def _sizes(self, min_tokens: int, max_tokens: int) -> Iterator[PageFinding]:
        for node, tokens in zip(self.nodes, self.tokens, strict=True):
            stated = node.metadata.get(keys.TOKEN_COUNT)
            if stated != tokens:
                detail = f"says {stated} tokens, has {tokens}"
                yield PageFinding("wrong-tokens", self.page, node.node_id, detail)
            if tokens > max_tokens:
                why = ", code kept whole" if node.metadata.get(keys.OVERSIZED) else ""
                detail = f"{tokens:,} tokens, over {max_tokens:,}{why}"
                yield PageFinding("too-large", self.page, node.node_id, detail)
            elif tokens < min_tokens and not node.metadata.get(keys.WHOLE_DOCUMENT):
                detail = f"{tokens:,} tokens, under {min_tokens:,}"
                yield PageFinding("too-small", self.page, node.node_id, detail)

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
        """Tokens of the page, and by how many its parts differ from that."""
        index = TokenIndex(self.text)
        parts, at = sum(self.tokens), 0
        for start, end in [*self.spans, (len(self.text), len(self.text))]:
            if start > at:
                parts += index.count(at, start)  # the blanks between two chunks
            elif start < at:
                parts -= index.count(start, min(at, end))  # what two chunks share
            at = max(at, end)
        tokens = index.count()
        imbalance = parts - tokens
        if abs(imbalance) > _EDGE_TOKENS * (len(self.nodes) + 1):
            self._find("wrong-tokens", f"the chunks have {imbalance:+,} tokens")
        return tokens, imbalance

    def _is_whole(self, heading: FoundHeading) -> bool:
        return self._holds(heading.start, heading.end)

    def _holds(self, start: int, end: int) -> bool:
        """Whether one chunk has all of this span."""
        position = bisect_right(self.starts, start) - 1
        return position >= 0 and self.spans[position][1] >= end

    def _find(self, kind: FindingKind, detail: str) -> None:
        self.findings.append(PageFinding(kind, self.page, None, detail))

    def _quote(self, start: int, end: int) -> str:
        words = " ".join(self.text[start:end][: 4 * _LONGEST_QUOTE].split())
        return f"{start} to {end}: {words[:_LONGEST_QUOTE]}"


def _span(node: TextNode) -> tuple[int, int]:
    return node.start_char_idx or 0, node.end_char_idx or 0


def _by_level(headings: Sequence[FoundHeading]) -> tuple[int, ...]:
    levels = [heading.level for heading in headings]
    return tuple(levels.count(level) for level in range(1, LEVELS + 1))


def _visible(text: str) -> int:
    return sum(map(len, text.split()))
