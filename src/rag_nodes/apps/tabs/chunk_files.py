"""All chunks of one strategy as a file to download: JSON for programs, CSV for spreadsheets."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from rag_nodes.metadata import (
    HEADING_PATH,
    OVERSIZED,
    PAGE_END,
    PAGE_START,
    PART,
    PARTS,
    TOKEN_COUNT,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llama_index.core.schema import TextNode

    from rag_nodes.apps.visitors.cuts import Cuts

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a spreadsheet takes for the beginning of a formula, or cuts off to find one behind it."""
_COLUMNS = (
    "document",
    "number",
    "start",
    "end",
    "tokens",
    "page_start",
    "page_end",
    "heading_path",
    "part",
    "parts",
    "oversized",
    "id",
    "text",
)


def as_json(cuts: Cuts, strategy: str) -> bytes:
    """One object in UTF-8 with the parser's options and every chunk.

    Raises:
        StoreError: the chunks cannot be read.
    """
    parser = cuts.comparison.parsers[strategy]
    content = {
        "schema_version": 1,
        "strategy": strategy,
        "parser": parser.to_dict(),
        "chunks": list(_rows(cuts, strategy)),
    }
    text = json.dumps(content, ensure_ascii=False, indent=1, default=str)
    return text.encode("utf-8", "replace")


def as_csv(cuts: Cuts, strategy: str) -> bytes:
    """A table in UTF-8 that spreadsheets open and in which none of them finds a formula.

    Raises:
        StoreError: the chunks cannot be read.
    """
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, _COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    for row in _rows(cuts, strategy):
        path = " > ".join(row["heading_path"])
        cells = {**row, "heading_path": path}
        writer.writerow({name: neutral(cells[name]) for name in _COLUMNS})
    # The mark in front tells spreadsheets that this is UTF-8.
    return table.getvalue().encode("utf-8-sig", "replace")


def neutral(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: an apostrophe keeps it text."""
    if isinstance(cell, str) and cell.startswith(_FORMULA):
        return f"'{cell}"
    return cell


def _rows(cuts: Cuts, strategy: str) -> Iterator[dict[str, Any]]:
    for document in cuts.documents:
        name = cuts.name_of(document)
        nodes = cuts.nodes(strategy, document) + cuts.unplaced(strategy, document)
        for number, node in enumerate(nodes, start=1):
            yield _row(name, number, node)


def _row(document: str, number: int, node: TextNode) -> dict[str, Any]:
    data = node.metadata
    return {
        "document": document,
        "number": number,
        "start": node.start_char_idx,
        "end": node.end_char_idx,
        "tokens": data.get(TOKEN_COUNT),
        "page_start": data.get(PAGE_START),
        "page_end": data.get(PAGE_END),
        "heading_path": [str(name) for name in data.get(HEADING_PATH) or ()],
        "part": data.get(PART),
        "parts": data.get(PARTS),
        "oversized": bool(data.get(OVERSIZED)),
        "id": node.node_id,
        "text": node.text,
    }
