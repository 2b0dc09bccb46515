"""The chunks of one document."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.rule import Rule
from rich.text import Text

from rag_nodes.cli.views.text import (
    configuration,
    counted,
    ending,
    facts,
    heading,
    one_line,
    pages,
    plain,
    shortened,
    table,
)
from rag_nodes.metadata import (
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
from rag_nodes.operations.parsers import plain_options
from rag_nodes.parsers.recovery import recovery_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import Document, TextNode
    from rich.console import RenderableType
    from rich.table import Table

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.operations.chunking import ChunkRequest, Chunks, Parsers, ParsersRequest
    from rag_nodes.text.edges import EdgeFinder, Edges

_NUMBERS_WIDTH = 37
"""Characters that the columns before the heading take, offsets apart."""


def chunks_view(found: Chunks, request: ChunkRequest, cli: Invocation) -> Iterator[RenderableType]:
    """A document, the parser and its chunks: a row each, or their whole texts."""
    title = f"{found.label} · {configuration(plain_options(found.parser))}"
    yield summary(found.document, title, found.nodes)
    if request.full:
        yield from chunk_texts(found.document, found.nodes)
    else:
        yield chunk_table(found.document, found.nodes, cli.output.width)


def summary(document: Document, title: str, nodes: Sequence[TextNode]) -> RenderableType:
    """The document, the parser and what became of it.

    Args:
        document: what was cut.
        title: the parser and its options.
        nodes: its chunks.
    """
    metadata = document.metadata
    size = counted(len(document.text), "character")
    if metadata.get(TOTAL_PAGES) is not None:
        size = f"{counted(metadata[TOTAL_PAGES], 'page')} · {size}"
    tokens = [int(node.metadata.get(TOKEN_COUNT, 0)) for node in nodes]
    rows = [
        ("Document", f"{one_line(display_name(metadata))} · {size}"),
        ("Parser", title),
        ("Chunks", f"{len(nodes):,}"),
    ]
    if tokens:
        mean = sum(tokens) / len(tokens)
        rows[-1] = ("Chunks", f"{len(nodes):,} · tokens {mean:,.0f} mean, {max(tokens):,} max")
    rows += [(name, one_line(words)) for name, words in remarks(one.metadata for one in nodes)]
    lost = sum(node.start_char_idx is None for node in nodes)
    if said := recovery_in_words(lost, len(nodes)):
        rows.append(("Places", said))
    if cut := _cut(document, nodes):
        rows.append(("Cut", cut))
    rows += [("Warning", str(warning)) for warning in metadata.get(READ_WARNINGS) or ()]
    return facts(rows)


def _cut(document: Document, nodes: Sequence[TextNode]) -> str:
    """How many chunks begin or end inside of something, most often first."""
    finder = _finder(document)
    sides = Counter(
        side for node in nodes for side in dict.fromkeys(_edges(finder, node)) if side is not None
    )
    cut = (f"{number:,} begin or end inside a {side}" for side, number in sides.most_common())
    return " · ".join(cut)


def _finder(document: Document) -> EdgeFinder:
    # Here, because it loads numpy, which no help text should wait for.
    from rag_nodes.text.edges import EdgeFinder
    from rag_nodes.text.formats import format_in

    return EdgeFinder(document.text, format_in(document.metadata, document.text))


def _edges(finder: EdgeFinder, node: TextNode) -> Edges:
    from rag_nodes.text.edges import Edges
    from rag_nodes.text.spans import Span

    if node.start_char_idx is None or node.end_char_idx is None:
        return Edges()
    return finder.of(Span(node.start_char_idx, node.end_char_idx))


def chunk_table(document: Document, nodes: Sequence[TextNode], width: int) -> Table:
    """A row per chunk with the beginning of its text, after an ellipsis where that is cut.

    Args:
        document: what was cut.
        nodes: its chunks, in order.
        width: characters of the terminal.
    """
    offsets = max((len(_offsets(node)) for node in nodes), default=0)
    room = max(45, width - _NUMBERS_WIDTH - max(offsets, len("Characters")))
    headings = room // 3 if any(node.metadata.get(HEADING_PATH) for node in nodes) else 0
    numbers = ("#", "Characters", "Pages", "Tokens")
    finder = _finder(document)
    rows = (
        (
            index,
            _offsets(node),
            _pages(node).removeprefix("pp. ").removeprefix("p. "),
            node.metadata.get(TOKEN_COUNT, 0),
            ending(_heading(node), headings),
            plain(shortened(_begun(finder, node), room - headings), "dim"),
        )
        for index, node in enumerate(nodes)
    )
    return table(*numbers, "Heading", "Text", right=numbers, rows=rows)


def _begun(finder: EdgeFinder, node: TextNode) -> str:
    return f"…{node.text.lstrip()}" if _edges(finder, node).start else node.text


def chunk_texts(document: Document, nodes: Sequence[TextNode]) -> Iterator[RenderableType]:
    """Every chunk in full, under a line that says what it is."""
    finder = _finder(document)
    for index, node in enumerate(nodes):
        facts = (
            f"{index}",
            _offsets(node),
            _pages(node),
            f"{node.metadata.get(TOKEN_COUNT, 0):,} tokens",
            _heading(node),
            *_edges(finder, node).said,
        )
        title = " · ".join(fact for fact in facts if fact)
        yield Rule(Text(one_line(title), style="bold"), align="left", style="dim")
        yield plain(node.text)
        yield Text("")


def _offsets(node: TextNode) -> str:
    if node.start_char_idx is None:
        return ""
    return f"{node.start_char_idx}-{node.end_char_idx}"


def _pages(node: TextNode) -> str:
    return pages(node.metadata.get(PAGE_START), node.metadata.get(PAGE_END))


def _heading(node: TextNode) -> str:
    path = heading(node.metadata.get(HEADING_PATH) or ())
    parts = node.metadata.get(PARTS)
    return f"{path} ({node.metadata.get(PART)}/{parts})" if parts else path


def parsers_view(found: Parsers, _: ParsersRequest, __: Invocation) -> Iterator[RenderableType]:
    """Each parser with its options."""
    for preset in found.parsers:
        options = ", ".join(f"{name}={value}" for name, value in preset["options"].items())
        rows = [("  Cuts", preset["summary"]), ("  Class", preset["class"]), ("  Options", options)]
        if preset["sizes"]:
            low, high = preset["sizes"]
            rows.append(("  Worth a try", f"chunk_size from {low} to {high}"))
        yield plain(preset["name"], "bold")
        yield facts(rows)
        yield ""
