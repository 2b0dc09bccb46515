"""What the documentation workflow did, for people: statistics and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.cli.views.text import (
    configuration,
    counted,
    ending,
    facts,
    one_line,
    plain,
    seconds,
    table,
)
from rag_nodes.operations.parsers import plain_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType
    from rich.table import Table

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.documentation import DocsReport, Statistics
    from rag_nodes.operations.crawls import DocsRequest, Documented

MOST_FINDINGS = 20
"""Rows of findings on a screen; all of them are in the report file."""

_NAME_WIDTH = 48


def docs_view(found: Documented, _: DocsRequest, __: Invocation) -> Iterator[RenderableType]:
    """The parts of the view, top to bottom."""
    report = found.report
    parser = f"{found.label} · {configuration(plain_options(found.parser))}"
    yield _statistics(report, parser)
    yield from _findings(report)
    for page in report.repeated:
        yield plain(f"repeated: {page.page} is also at {', '.join(page.also_at)}", "dim")
    for reason in report.failed_pages:
        yield plain(f"failed: {one_line(reason)}", "red")
    for reason in report.crossed:
        yield plain(f"threshold crossed: {reason}", "red")
    if report.journal:
        yield plain(
            f"Summaries are missing; what was paid is kept in {report.journal}. Run again "
            "with --resume to ask for the others.",
            "yellow",
        )
    yield plain(f"Wrote {report.output} in {seconds(report.seconds)}.", "dim")


def _statistics(report: DocsReport, parser: str) -> Table:
    """The figures of a whole crawl."""
    figures = report.statistics
    return facts(
        [
            ("Parser", parser),
            ("Pages", _pages(figures)),
            ("Page tokens", f"{figures.page_tokens:,}"),
            ("Chunks", f"{figures.chunks:,}"),
            ("Chunk tokens", _tokens(figures)),
            ("Shared tokens", _shared(figures)),
            ("Headings", _headings(figures)),
            ("Code", _code(figures)),
            ("Coverage", f"{figures.coverage:.6g} % of the visible text"),
            ("Summaries", _summaries(report)),
            ("Findings", _counts(figures.findings) or "none"),
        ]
    )


def _pages(figures: Statistics) -> str:
    failed = f", {figures.pages_failed:,} failed" if figures.pages_failed else ""
    repeated = f", {figures.pages_repeated:,} repeated" if figures.pages_repeated else ""
    return f"{figures.pages:,}{failed}{repeated}, {counted(figures.urls, 'URL')}"


def _tokens(figures: Statistics) -> str:
    return (
        f"{figures.tokens:,}, mean {figures.tokens_mean:,.0f}, min {figures.tokens_min:,}, "
        f"max {figures.tokens_max:,}"
    )


def _shared(figures: Statistics) -> str:
    share = 100 * figures.tokens_shared / figures.tokens if figures.tokens else 0
    return f"{figures.tokens_shared:,}, {share:.3g} % of the chunks'"


def _code(figures: Statistics) -> str:
    blocks = counted(figures.code_blocks, "block")
    chunks = counted(figures.chunks_with_code, "chunk")
    return f"{blocks}, in {chunks}, {figures.chunks_oversized:,} over the limit"


def _headings(figures: Statistics) -> str:
    levels = zip(figures.headings, figures.headings_kept, strict=True)
    shown = [
        f"H{level} {kept:,}" if kept == found else f"H{level} {kept:,} of {found:,}"
        for level, (found, kept) in enumerate(levels, 1)
        if found
    ]
    return ", ".join(shown) or "none"


def _summaries(report: DocsReport) -> str:
    if report.model is None:
        return "none"
    reused = f", {report.reused:,} of them from the journal" if report.reused else ""
    return f"{_counts(report.statistics.summaries)} by {report.model}{reused}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def _findings(report: DocsReport) -> Iterator[RenderableType]:
    if not report.findings:
        return
    made = table("Finding", "Page", "Chunk", "Detail")
    for finding in report.findings[:MOST_FINDINGS]:
        made.add_row(
            finding.kind,
            plain(ending(finding.page, _NAME_WIDTH)),
            (finding.chunk_id or "-")[:8],
            plain(one_line(finding.detail)),
        )
    yield made
    rest = sum(report.statistics.findings.values()) - MOST_FINDINGS
    if rest > 0:
        yield plain(f"{counted(rest, 'more finding')} in {report.output}.report.json", "dim")
