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

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.documentation import DocsReport
    from rag_nodes.operations.crawls import DocsRequest, Documented

MOST_FINDINGS = 20
"""Rows of findings on a screen; all of them are in the report file."""

_NAME_WIDTH = 48


def docs_view(found: Documented, _: DocsRequest, __: Invocation) -> Iterator[RenderableType]:
    """The parts of the view, top to bottom."""
    report = found.report
    parser = f"{found.label} · {configuration(plain_options(found.parser))}"
    yield facts([("Parser", parser), *_statistics(report)])
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


def _statistics(report: DocsReport) -> Iterator[tuple[str, str]]:
    """The figures of a whole crawl."""
    found = report.statistics
    failed = f", {found.pages_failed:,} failed" if found.pages_failed else ""
    repeated = f", {found.pages_repeated:,} repeated" if found.pages_repeated else ""
    yield "Pages", f"{found.pages:,}{failed}{repeated}, {counted(found.urls, 'URL')}"
    yield "Page tokens", f"{found.page_tokens:,}"
    yield "Chunks", f"{found.chunks:,}"
    least, most = f"{found.tokens_min:,}", f"{found.tokens_max:,}"
    mean = f"mean {found.tokens_mean:,.0f}, min {least}, max {most}"
    yield "Chunk tokens", f"{found.tokens:,}, {mean}"
    share = 100 * found.tokens_shared / found.tokens if found.tokens else 0
    yield "Shared tokens", f"{found.tokens_shared:,}, {share:.3g} % of the chunks'"
    levels = enumerate(zip(found.headings, found.headings_kept, strict=True), 1)
    told = (
        f"H{level} {kept:,}" if kept == there else f"H{level} {kept:,} of {there:,}"
        for level, (there, kept) in levels
        if there
    )
    yield "Headings", ", ".join(told) or "none"
    blocks, chunks = counted(found.code_blocks, "block"), counted(found.chunks_with_code, "chunk")
    yield "Code", f"{blocks}, in {chunks}, {found.chunks_oversized:,} over the limit"
    yield "Coverage", f"{found.coverage:.6g} % of the visible text"
    reused = f", {report.reused:,} of them from the journal" if report.reused else ""
    by = f"{_counts(found.summaries)} by {report.model}{reused}"
    yield "Summaries", by if report.model else "none"
    yield "Findings", _counts(found.findings) or "none"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def _findings(report: DocsReport) -> Iterator[RenderableType]:
    if not report.findings:
        return
    yield table(
        "Finding",
        "Page",
        "Chunk",
        "Detail",
        rows=(
            (one.kind, ending(one.page, _NAME_WIDTH), (one.chunk_id or "-")[:8], one.detail)
            for one in report.findings[:MOST_FINDINGS]
        ),
    )
    rest = sum(report.statistics.findings.values()) - MOST_FINDINGS
    if rest > 0:
        yield plain(f"{counted(rest, 'more finding')} in {report.output}.report.json", "dim")
