"""Views of documents that were read, of their chunks, and of crawls."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.rule import Rule
from rich.text import Text

from rag_nodes.cli.views.text import (
    clean,
    configuration,
    ending,
    facts,
    heading,
    one_line,
    pages,
    plain,
    seconds,
    shortened,
    table,
)
from rag_nodes.core.metadata import (
    HEADING_PATH,
    PAGE_END,
    PAGE_START,
    PART,
    PARTS,
    READ_WARNINGS,
    TOKEN_COUNT,
    TOTAL_PAGES,
    display_name,
    remarks,
)
from rag_nodes.core.spelling import counted
from rag_nodes.operations.parsers import plain_options
from rag_nodes.parsers.recovery import recovery_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import TextNode
    from rich.console import RenderableType

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.operations.crawl import DocsReport
    from rag_nodes.operations.crawls import DocsRequest, Documented
    from rag_nodes.operations.documents import (
        ChunkRequest,
        Chunks,
        Parsers,
        ParsersRequest,
        Readings,
        ReadRequest,
        Understood,
    )
    from rag_nodes.text.edges import Edges

_MOST_HEADINGS, _MOST_FINDINGS = 200, 20
"""On a screen; all of them are in the JSON, and in the report file."""
_PAGE_CHARACTERS = 48
_NUMBERS_WIDTH = 37
"""Characters that the columns before the heading take, offsets apart."""


# --- read ---------------------------------------------------------------------------------------


def readings_view(result: Readings, _: ReadRequest, cli: Invocation) -> Iterator[RenderableType]:
    """A block for each document, or its text alone; why others could not be read is said."""
    for document in result.documents:
        if document.text is not None:
            # Not by rich, which would break the lines of the text.
            text = clean(document.text) if cli.output.is_terminal else document.text
            cli.output.file.write(text if text.endswith("\n") else f"{text}\n")
        elif document.error is None:
            yield from _outline(document)


def _outline(document: Understood) -> Iterator[RenderableType]:
    targets = counted(len({link.target for link in document.links}), "address")
    yield facts(
        [
            ("File", one_line(document.name)),
            ("Kind", document.kind),
            ("Title", one_line(document.title or "-")),
            ("Pages", "none" if document.pages is None else f"{document.pages:,}"),
            ("Blank pages", ", ".join(map(str, document.blank_pages))),
            (
                "Text",
                f"{counted(document.characters, 'character')}, read in {seconds(document.seconds)}",
            ),
            ("Headings", f"{len(document.headings):,}"),
            ("Tables", f"{document.tables:,}"),
            ("Links", f"{len(document.links):,}, to {targets}"),
        ]
    )
    yield from (plain(f"warning: {one_line(warning)}", "yellow") for warning in document.warnings)
    for entry in document.headings[:_MOST_HEADINGS]:
        page = f"  p. {entry.page}" if entry.page else ""
        yield plain("  " * entry.level + one_line(entry.text) + page)
    if len(document.headings) > _MOST_HEADINGS:
        yield plain(f"{len(document.headings) - _MOST_HEADINGS:,} more headings with --json", "dim")
    yield plain("")


# --- chunk and parsers --------------------------------------------------------------------------


def chunks_view(result: Chunks, request: ChunkRequest, cli: Invocation) -> Iterator[RenderableType]:
    """A document, the parser and its chunks: a row each, or their whole texts."""
    edges = _edges(result)
    yield facts(_summary(result, edges))
    if request.full:
        yield from _texts(result, edges)
        return
    ranges = [len(_offsets(node)) for node in result.nodes]
    room = max(45, cli.output.width - _NUMBERS_WIDTH - max([*ranges, len("Characters")]))
    headings = room // 3 if any(node.metadata.get(HEADING_PATH) for node in result.nodes) else 0

    def begun(index: int) -> Text:
        text = result.nodes[index].text
        text = f"…{text.lstrip()}" if edges[index].start else text
        return plain(shortened(text, room - headings), "dim")

    yield table(
        enumerate(result.nodes),
        {
            "#": lambda chunk: chunk[0],
            "Characters": lambda chunk: _offsets(chunk[1]),
            "Pages": lambda chunk: _pages(chunk[1]).removeprefix("pp. ").removeprefix("p. "),
            "Tokens": lambda chunk: chunk[1].metadata.get(TOKEN_COUNT, 0),
            "Heading": lambda chunk: ending(_heading(chunk[1]), headings),
            "Text": lambda chunk: begun(chunk[0]),
        },
        right=("Characters", "Pages"),
    )


def _edges(result: Chunks) -> list[Edges]:
    """Inside of what each chunk begins or ends; of nothing where it has no place."""
    # Here, because it loads numpy, which no help text should wait for.
    from rag_nodes.text.edges import EdgeFinder, Edges
    from rag_nodes.text.formats import format_in
    from rag_nodes.text.spans import Span

    text = result.document.text
    finder = EdgeFinder(text, format_in(result.document.metadata, text))
    places = ((node.start_char_idx, node.end_char_idx) for node in result.nodes)
    return [
        Edges() if start is None or end is None else finder.of(Span(start, end))
        for start, end in places
    ]


def _summary(result: Chunks, edges: Sequence[Edges]) -> Iterator[tuple[str, str]]:
    """The document, the parser and what became of it."""
    document, nodes, metadata = result.document, result.nodes, result.document.metadata
    size = counted(len(document.text), "character")
    if metadata.get(TOTAL_PAGES) is not None:
        size = f"{counted(metadata[TOTAL_PAGES], 'page')} · {size}"
    yield "Document", f"{one_line(display_name(metadata, document.id_))} · {size}"
    yield "Parser", f"{result.label} · {configuration(plain_options(result.parser))}"
    tokens = [int(node.metadata.get(TOKEN_COUNT, 0)) for node in nodes]
    mean = f" · tokens {sum(tokens) / len(tokens):,.0f} mean, {max(tokens):,} max" if tokens else ""
    yield "Chunks", f"{len(nodes):,}{mean}"
    yield from ((name, one_line(words)) for name, words in remarks(node.metadata for node in nodes))
    lost = sum(node.start_char_idx is None for node in nodes)
    yield "Places", recovery_in_words(lost, len(nodes)) or ""
    sides = Counter(side for edge in edges for side in dict.fromkeys(edge) if side)
    split = (f"{number:,} begin or end inside a {side}" for side, number in sides.most_common())
    yield "Boundaries", " · ".join(split)
    yield from (("Warning", str(warning)) for warning in metadata.get(READ_WARNINGS) or ())


def _texts(result: Chunks, edges: Sequence[Edges]) -> Iterator[RenderableType]:
    """Every chunk in full, under a line that says what it is."""
    for index, (node, inside) in enumerate(zip(result.nodes, edges, strict=True)):
        tokens = f"{node.metadata.get(TOKEN_COUNT, 0):,} tokens"
        parts = (f"{index}", _offsets(node), _pages(node), tokens, _heading(node))
        title = " · ".join(filter(None, (*parts, *inside.remarks)))
        yield Rule(Text(one_line(title), style="bold"), align="left", style="dim")
        yield plain(node.text)
        yield Text("")


def _offsets(node: TextNode) -> str:
    return "" if node.start_char_idx is None else f"{node.start_char_idx}-{node.end_char_idx}"


def _pages(node: TextNode) -> str:
    return pages(node.metadata.get(PAGE_START), node.metadata.get(PAGE_END))


def _heading(node: TextNode) -> str:
    path = heading(node.metadata.get(HEADING_PATH) or ())
    parts = node.metadata.get(PARTS)
    return f"{path} ({node.metadata.get(PART)}/{parts})" if parts else path


def parsers_view(result: Parsers, _: ParsersRequest, __: Invocation) -> Iterator[RenderableType]:
    """Each parser with its options."""
    for preset in result.parsers:
        options = ", ".join(f"{name}={value}" for name, value in preset["options"].items())
        rows = [
            ("  Splits", preset["summary"]),
            ("  Class", preset["class"]),
            ("  Options", options),
        ]
        if preset["sizes"]:
            rows.append(("  Worth a try", "chunk_size from {} to {}".format(*preset["sizes"])))
        yield plain(preset["name"], "bold")
        yield facts(rows)
        yield ""


# --- docs ---------------------------------------------------------------------------------------


def docs_view(result: Documented, _: DocsRequest, __: Invocation) -> Iterator[RenderableType]:
    """Figures of a whole crawl, its findings, and where the chunks are."""
    report = result.report
    parser = f"{result.label} · {configuration(plain_options(result.parser))}"
    yield facts([("Parser", parser), *_statistics(report)])
    if report.findings:
        yield table(
            report.findings[:_MOST_FINDINGS],
            {
                "Finding": "kind",
                "Page": lambda chunk: ending(chunk.page, _PAGE_CHARACTERS),
                "Chunk": lambda chunk: (chunk.chunk_id or "-")[:8],
                "Detail": "detail",
            },
        )
    rest = sum(report.statistics.findings.values()) - _MOST_FINDINGS
    if rest > 0:
        yield plain(f"{counted(rest, 'more finding')} in {report.output}.report.json", "dim")
    yield from (plain(f"failed: {one_line(reason)}", "red") for reason in report.failed_pages)
    if report.kept:
        yield plain(
            f"Summaries are missing; what was paid is kept in {report.kept}. Run again "
            "with --resume to ask for the others.",
            "yellow",
        )
    yield plain(f"Wrote {report.output} in {seconds(report.seconds)}.", "dim")


def _statistics(report: DocsReport) -> Iterator[tuple[str, str]]:
    figures = report.statistics
    failed = f", {figures.pages_failed:,} failed" if figures.pages_failed else ""
    yield "Pages", f"{figures.pages:,}{failed}, {counted(figures.urls, 'URL')}"
    yield "Page tokens", f"{figures.page_tokens:,}"
    yield "Chunks", f"{figures.chunks:,}, {figures.chunks_with_code:,} with code"
    sizes = f"mean {figures.tokens_mean:,.0f}, min {figures.tokens_min:,}"
    yield "Chunk tokens", f"{figures.tokens:,}, {sizes}, max {figures.tokens_max:,}"
    headings = (
        f"{level} {kept:,}" if kept == total else f"{level} {kept:,} of {total:,}"
        for level, total in sorted(figures.headings.items())
        for kept in [figures.headings_kept[level]]
    )
    yield "Headings", ", ".join(headings) or "none"
    yield "Coverage", f"{figures.coverage:.6g} % of the visible text"
    by = f"{_counts(figures.summaries)} by {report.model}"
    yield "Summaries", by if report.model else "none"
    yield "Findings", _counts(figures.findings) or "none"


def _counts(counts: dict[str, Any]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())
