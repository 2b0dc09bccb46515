"""Names of columns as a line before what is read from inside a table."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from rag_nodes.core import metadata as keys
from rag_nodes.query.locations import pages_of, tables_of
from rag_nodes.text.filling import Lead
from rag_nodes.text.formats import format_of
from rag_nodes.text.spans import Span
from rag_nodes.text.tables import Tables, column_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llama_index.core.schema import TextNode

    from rag_nodes.text.passages import TextRun
    from rag_nodes.text.tables import Table


def section_of(node: TextNode, start: int, end: int) -> str:
    """Return the page of some characters of a node, else the headings above the node."""
    page, _ = pages_of(node, start, end)
    return f"page {page}" if page else str(node.metadata.get(keys.BREADCRUMB) or "")


def leads_of(node: TextNode, base: int) -> tuple[Lead, ...]:
    """Return the lines before parts of a node that begin inside a table.

    Args:
        node: is read.
        base: offset of its first character in the document.
    """
    turned = [at - base for at in node.metadata.get(keys.PAGE_BREAKS) or ()]
    return tuple(
        Lead(Span(base + start, base + end), line, section_of(node, start, end))
        for table in tables_of(node).tables
        for start, end, line in _stretches(table, turned)
    )


def leads_of_run(
    run: TextRun, breaks: Iterable[int], page: Callable[[int], int | None]
) -> tuple[Lead, ...]:
    """Return the lines before passages of a run that begin inside a table.

    Args:
        run: text that was retrieved.
        breaks: offsets in the document at which a page may start.
        page: returns the page of an offset in the document; None if it has none.
    """
    turned = sorted({at - run.start for at in breaks})
    tables = Tables.of(run.text, format_of(run.text), run.table_header).tables
    return tuple(
        Lead(Span(run.start + start, run.start + end), line, place)
        for table in tables
        for start, end, line in _stretches(table, turned)
        for place in (f"table {table.start}, page {page(run.start + start)}",)
    )


def _stretches(table: Table, turned: Iterable[int]) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and line of what can begin inside a table, page by page."""
    names = column_names(table.header)
    low, high = max(0, table.start + 1), table.end
    bounds = [low, *(at for at in turned if low < at < high), high]
    for start, end in pairwise(bounds) if names else ():
        yield start, end, f"{keys.TABLE}: {names}"
