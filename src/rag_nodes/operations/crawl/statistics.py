"""Figures of a page, and of a whole crawl."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from rag_nodes.core import metadata as keys
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rag_nodes.operations.crawl.checks import CheckedPage, PageFinding


@dataclass(slots=True, kw_only=True)
class Statistics:
    """Figures of one page or of many, and of their chunks.

    `urls` counts all addresses of the pages. `page_tokens` are tokens of whole pages, `tokens*`
    those of chunks. `headings` are counted by level, "H1" to "H6"; `headings_kept` are those that a
    chunk has whole. `visible` are characters that are not blank, `covered` those in a chunk.
    `summaries` counts chunks by kind of summary (`generated`, `extract`, `failed`), `findings` the
    faults by kind.
    """

    pages: int = 0
    pages_failed: int = 0
    urls: int = 0
    page_tokens: int = 0
    chunks: int = 0
    tokens: int = 0
    tokens_min: int = 0
    tokens_max: int = 0
    headings: Counter[str] = field(default_factory=Counter)
    headings_kept: Counter[str] = field(default_factory=Counter)
    chunks_with_code: int = 0
    visible: int = 0
    covered: int = 0
    summaries: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)

    @property
    def coverage(self) -> float:
        """Percent of visible characters that are in a chunk; 100 if there are none."""
        return 100 * self.covered / self.visible if self.visible else 100.0

    @property
    def tokens_mean(self) -> float:
        """Mean tokens of a chunk; 0 without chunks."""
        return self.tokens / self.chunks if self.chunks else 0.0

    def add(self, other: Statistics) -> None:
        """Add the figures of further pages."""
        minima = [part.tokens_min for part in (self, other) if part.chunks]
        maximum = max(self.tokens_max, other.tokens_max)
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))
        self.tokens_min, self.tokens_max = min(minima, default=0), maximum

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, with all levels of headings: `{"H1": 25, "H2": 0, ...}`."""
        figures = {item.name: getattr(self, item.name) for item in fields(self)}
        for name in ("headings", "headings_kept"):
            figures[name] = {f"H{level}": figures[name][f"H{level}"] for level in range(1, 7)}
        means = {"coverage": self.coverage, "tokens_mean": round(self.tokens_mean, 2)}
        return figures | means


def page_statistics(page: CheckedPage, findings: Iterable[PageFinding]) -> Statistics:
    """Return the figures of a page with these findings."""
    visible = _visible(page.text)
    return Statistics(
        pages=1,
        urls=1 + len(page.document.metadata.get(keys.ALSO_AT, ())),
        page_tokens=count_tokens(page.text, page.parser.tokenizer),
        chunks=len(page.nodes),
        tokens=sum(page.tokens),
        tokens_min=min(page.tokens, default=0),
        tokens_max=max(page.tokens, default=0),
        headings=Counter(f"H{heading.level}" for heading in page.headings),
        headings_kept=Counter(f"H{h.level}" for h in page.headings if page.is_whole(h)),
        chunks_with_code=_chunks_with_code(page),
        visible=visible,
        covered=visible - sum(_visible(gap.of(page.text)) for gap in page.gaps()),
        findings=Counter(finding.kind for finding in findings),
    )


def _chunks_with_code(page: CheckedPage) -> int:
    ends = [block.end for block in page.code]
    return sum(
        (after := bisect_right(ends, span.start)) < len(ends) and page.code[after].start < span.end
        for span in page.spans
    )


def _visible(text: str) -> int:
    return sum(map(len, text.split()))
