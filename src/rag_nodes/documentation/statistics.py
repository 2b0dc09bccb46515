"""The figures of a whole crawl, added up page by page."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from rag_nodes import metadata as keys
from rag_nodes.documentation.validate import LEVELS, PageFinding, text_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llama_index.core.schema import Document, TextNode

    from rag_nodes.documentation.validate import PageCheck

MAX_FINDINGS = 10_000
"""Findings kept in full; more are counted only, so that memory stays flat."""


@dataclass(slots=True, kw_only=True)
class Statistics:
    """What went in and what came out.

    Attributes:
        pages: pages cut.
        pages_failed: pages that could not be read or cut.
        pages_repeated: further URLs whose text was there under another one.
        urls: different URLs of the pages cut, repeated ones included.
        page_tokens: tokens of all pages, each encoded in one piece.
        chunks: chunks written.
        tokens: tokens of all chunks.
        tokens_min: tokens of the smallest chunk; 0 without chunks.
        tokens_max: tokens of the largest.
        tokens_shared: tokens that chunks have together with those before them.
        imbalance: sum over all pages, see `PageCheck`.
        headings: headings of the pages at levels 1 to 6.
        headings_kept: those that stand whole in a chunk.
        code_blocks: blocks of code of the pages.
        chunks_with_code: chunks that hold code.
        chunks_oversized: chunks over the limit, because code is kept whole.
        coverage: percent of visible characters that are in a chunk; 100 without any.
        summaries: chunks by what became of their summary: `generated`, `extract`, `failed`.
        findings: what is to look at, counted by kind.
    """

    pages: int = 0
    pages_failed: int = 0
    pages_repeated: int = 0
    urls: int = 0
    page_tokens: int = 0
    chunks: int = 0
    tokens: int = 0
    tokens_min: int = 0
    tokens_max: int = 0
    tokens_shared: int = 0
    imbalance: int = 0
    headings: list[int] = field(default_factory=lambda: [0] * LEVELS)
    headings_kept: list[int] = field(default_factory=lambda: [0] * LEVELS)
    code_blocks: int = 0
    chunks_with_code: int = 0
    chunks_oversized: int = 0
    coverage: float = 100.0
    summaries: dict[str, int] = field(default_factory=dict)
    findings: dict[str, int] = field(default_factory=dict)

    @property
    def tokens_mean(self) -> float:
        """Tokens of a chunk on average; 0 without chunks."""
        return self.tokens / self.chunks if self.chunks else 0.0

    @property
    def headings_lost(self) -> int:
        """Headings of all levels that no chunk has whole."""
        return sum(self.headings) - sum(self.headings_kept)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, with headings by name: `{"H1": 25, ...}`."""
        named = {
            name: {f"H{level}": count for level, count in enumerate(getattr(self, name), 1)}
            for name in ("headings", "headings_kept")
        }
        return asdict(self) | named | {"tokens_mean": round(self.tokens_mean, 2)}


class RunningStatistics:
    """Adds pages to the statistics and finds chunks that repeat; holds two short ids per chunk."""

    def __init__(self) -> None:
        self.statistics = Statistics()
        self.findings: list[PageFinding] = []
        self._kinds: Counter[str] = Counter()
        self._summaries: Counter[str] = Counter()
        self._visible = 0
        self._covered = 0
        self._first: dict[bytes, int] = {}

    def add_failure(self) -> None:
        """Count a page that gave no chunks."""
        self.statistics.pages_failed += 1

    def add(self, document: Document, nodes: Sequence[TextNode], check: PageCheck) -> None:
        """Count a page, its chunks and their summaries."""
        also_at = len(document.metadata.get(keys.ALSO_AT, ()))
        figures = self.statistics
        figures.pages += 1
        figures.pages_repeated += also_at
        figures.urls += 1 + also_at
        figures.page_tokens += check.tokens
        figures.tokens_shared += check.shared_tokens
        figures.imbalance += check.imbalance
        figures.code_blocks += check.code_blocks
        figures.chunks_with_code += check.chunks_with_code
        for level in range(LEVELS):
            figures.headings[level] += check.headings[level]
            figures.headings_kept[level] += check.kept[level]
        self._visible += check.visible
        self._covered += check.covered
        if self._visible:
            figures.coverage = 100 * self._covered / self._visible
        self._add_chunks(nodes, check.chunk_tokens)
        page = str(document.metadata.get(keys.SOURCE, document.id_))
        self._note([*check.findings, *self._repeats(page, nodes)])

    def _add_chunks(self, nodes: Sequence[TextNode], tokens: Sequence[int]) -> None:
        if not nodes:
            return
        figures = self.statistics
        smallest = min(tokens)
        figures.tokens_min = min(figures.tokens_min, smallest) if figures.chunks else smallest
        figures.tokens_max = max(figures.tokens_max, *tokens)
        figures.chunks += len(nodes)
        figures.tokens += sum(tokens)
        for node in nodes:
            figures.chunks_oversized += bool(node.metadata.get(keys.OVERSIZED))
            failed = "failed" if keys.SUMMARY_ERROR in node.metadata else None
            if outcome := failed or node.metadata.get(keys.SUMMARY_KIND):
                self._summaries[outcome] += 1
        figures.summaries = dict(self._summaries)

    def _repeats(self, page: str, nodes: Sequence[TextNode]) -> Iterable[PageFinding]:
        """Chunks whose text an earlier chunk of any page had."""
        for node in nodes:
            own = UUID(node.node_id).int
            first = self._first.setdefault(text_digest(node.text), own)
            if first != own:
                detail = f"same text as chunk {UUID(int=first)}"
                yield PageFinding("duplicate", page, node.node_id, detail)

    def _note(self, findings: Sequence[PageFinding]) -> None:
        self._kinds.update(finding.kind for finding in findings)
        self.statistics.findings = dict(self._kinds)
        self.findings += findings[: MAX_FINDINGS - len(self.findings)]
