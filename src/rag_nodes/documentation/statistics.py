"""The figures of a page and of a whole crawl, and what is to look at."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from uuid import UUID

from rag_nodes import metadata as keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llama_index.core.schema import Document, TextNode

LEVELS = 6
"""Of headings."""
MAX_FINDINGS = 10_000
"""Findings kept in full; more are counted only, so that memory stays flat."""

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


@dataclass(frozen=True, slots=True)
class PageFinding:
    """Something to look at: what, on which page, in which chunk if in any, and the facts."""

    kind: FindingKind
    page: str
    chunk_id: str | None
    detail: str


@dataclass(slots=True, kw_only=True)
class Statistics:
    """What went in and what came out, of one page or of many.

    `pages_repeated` are further URLs whose text was there under another one, `urls` all different
    ones. `page_tokens` are those of whole pages, `tokens*` those of chunks, `tokens_shared` what
    chunks have of those before them. `headings`, by level from 1 to 6, and `code_blocks` are a
    count of our own; `headings_kept` stand whole in a chunk. `visible` are characters that are not
    blank, `covered` those in a chunk. `summaries` counts chunks by what became of their summary
    (`generated`, `extract`, `failed`), `findings` what is to look at by kind.
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
    headings: list[int] = field(default_factory=lambda: [0] * LEVELS)
    headings_kept: list[int] = field(default_factory=lambda: [0] * LEVELS)
    code_blocks: int = 0
    chunks_with_code: int = 0
    chunks_oversized: int = 0
    visible: int = 0
    covered: int = 0
    summaries: dict[str, int] = field(default_factory=dict)
    findings: dict[str, int] = field(default_factory=dict)

    @property
    def coverage(self) -> float:
        """Percent of visible characters that are in a chunk; 100 without any."""
        return 100 * self.covered / self.visible if self.visible else 100.0

    @property
    def tokens_mean(self) -> float:
        """Tokens of a chunk on average; 0 without chunks."""
        return self.tokens / self.chunks if self.chunks else 0.0

    @property
    def headings_lost(self) -> int:
        """Headings of all levels that no chunk has whole."""
        return sum(self.headings) - sum(self.headings_kept)

    def add(self, other: Statistics) -> None:
        """Count further pages."""
        least = min((one.tokens_min for one in (self, other) if one.chunks), default=0)
        most = max(self.tokens_max, other.tokens_max)
        for name in (one.name for one in fields(self)):
            mine, more = getattr(self, name), getattr(other, name)
            if isinstance(mine, dict):
                total: Any = {key: mine.get(key, 0) + more.get(key, 0) for key in mine | more}
            elif isinstance(mine, list):
                total = [one + another for one, another in zip(mine, more, strict=True)]
            else:
                total = mine + more
            setattr(self, name, total)
        self.tokens_min, self.tokens_max = least, most

    def as_dict(self) -> dict[str, Any]:
        """Plain data, with headings by name: `{"H1": 25, ...}`."""
        named = {
            name: {f"H{level}": count for level, count in enumerate(getattr(self, name), 1)}
            for name in ("headings", "headings_kept")
        }
        means = {"coverage": self.coverage, "tokens_mean": round(self.tokens_mean, 2)}
        return asdict(self) | named | means


class PageCheck(NamedTuple):
    """How a page and its chunks compare."""

    figures: Statistics
    findings: tuple[PageFinding, ...]


class RunningStatistics:
    """Adds pages to the statistics and finds chunks that repeat; holds two short ids per chunk."""

    def __init__(self) -> None:
        self.statistics = Statistics()
        self.findings: list[PageFinding] = []
        self._first: dict[bytes, int] = {}

    def add(self, document: Document, nodes: Sequence[TextNode], check: PageCheck) -> None:
        """Count a page, its chunks and their summaries."""
        page = str(document.metadata.get(keys.SOURCE, document.id_))
        findings = [*check.findings, *self._repeats(page, nodes)]
        self.findings += findings[: MAX_FINDINGS - len(self.findings)]
        outcomes = (
            "failed"
            if keys.SUMMARY_ERROR in node.metadata
            else node.metadata.get(keys.SUMMARY_KIND)
            for node in nodes
        )
        self.statistics.add(check.figures)
        self.statistics.add(
            Statistics(
                summaries=dict(Counter(outcome for outcome in outcomes if outcome)),
                findings=dict(Counter(finding.kind for finding in findings)),
            )
        )

    def _repeats(self, page: str, nodes: Sequence[TextNode]) -> Iterable[PageFinding]:
        """Chunks whose text an earlier chunk of any page had."""
        for node in nodes:
            own = UUID(node.node_id).int
            first = self._first.setdefault(_digest(node.text), own)
            if first != own:
                detail = f"same text as chunk {UUID(int=first)}"
                yield PageFinding("duplicate", page, node.node_id, detail)


def _digest(text: str) -> bytes:
    """Equal for texts that differ in nothing but blanks."""
    folded = " ".join(text.split())
    return blake2b(folded.encode("utf-8", "surrogatepass"), digest_size=16).digest()
