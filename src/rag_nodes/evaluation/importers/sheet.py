"""A sheet as people keep one: a question, the words that answer it, and perhaps the file.

CSV or TSV with a header. Columns `question` and `quote` (also called answer, gold, snippet, text or
evidence), and where there are such `file`, `kind`, `id` and `draft`. Rows of one id, or else of one
question that follow each other, are passages that are wanted together.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.importers.labels import Labelled, Labels, Quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

_COLUMNS = {
    "question": ("question", "query", "frage"),
    "quote": ("quote", "answer", "gold", "snippet", "text", "evidence", "zitat"),
    "document": ("file", "document", "source", "url", "datei"),
    "kind": ("kind", "type", "category"),
    "id": ("id", "number", "nr"),
    "draft": ("draft", "entwurf"),
}
"""What a column may be called, case and blanks apart."""
_MARK = re.compile("sep=.?", re.IGNORECASE)
"""A first line by which some programs name the delimiter."""
_DRAFT = frozenset({"true", "yes", "1", "x", "draft", "wahr", "ja"})
"""What is written in the column `draft` of a question that nobody has accepted."""
_ACCEPTED = frozenset({"", "false", "no", "0", "falsch", "nein"})
"""What is written there of one that somebody has."""
_LONGEST = 10_000_000
"""Characters of one cell: a quoted section may be long."""


def read_rows(text: str, path: Path) -> list[dict[str, str]]:
    """The rows of a sheet by column, names of columns in lower case.

    Raises:
        DatasetError: there is no header, or a row is damaged.
    """
    csv.field_size_limit(_LONGEST)
    first, _, rest = text.partition("\n")
    if _MARK.fullmatch(first.strip()):
        first, text = rest.partition("\n")[0], rest
    delimiter = max("\t;,", key=first.count)
    try:
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
        return [
            {
                name.strip().lower(): value or ""
                for name, value in row.items()
                if name and isinstance(value, str | None)
            }
            for row in rows
        ]
    except csv.Error as error:
        raise DatasetError(f"{path} cannot be read as a sheet: {error}") from error


def read_sheet(rows: Sequence[Mapping[str, str]], path: Path) -> Labels:
    """The questions of a sheet.

    Raises:
        DatasetError: there is no column of questions or of quotes, or a mark of a draft is unknown.
    """
    if not rows:
        raise DatasetError(f"{path} has no row under its header; write a question in each")
    columns = {what: _column(what, rows, path) for what in _COLUMNS}
    groups: list[tuple[str, list[Mapping[str, str]]]] = []
    for row in rows:
        cells = {what: row.get(name, "").strip() for what, name in columns.items() if name}
        if not cells["question"] and not cells["quote"]:
            continue
        key = cells.get("id") or cells["question"]
        if groups and groups[-1][0] == key:
            groups[-1][1].append(cells)
        else:
            groups.append((key, [cells]))
    found = (_labelled(cells, number, path) for number, (_, cells) in enumerate(groups, 1))
    return Labels("sheet", tuple(found))


def _labelled(cells: Sequence[Mapping[str, str]], number: int, path: Path) -> Labelled:
    first = cells[0]
    name = first.get("id") or f"row-{number}"
    marks = [_is_draft(one.get("draft", ""), f"{path}: question {name!r}") for one in cells]
    return Labelled(
        id=name,
        text=first["question"],
        gold=(
            tuple(
                Quote(one["quote"], one.get("document") or None) for one in cells if one["quote"]
            ),
        ),
        kind=first.get("kind", ""),
        draft=any(marks),
    )


def _is_draft(cell: str, where: str) -> bool:
    mark = cell.lower()
    if mark not in _DRAFT | _ACCEPTED:
        # Taken for an accepted question, a draft would choose.
        raise DatasetError(f"{where} has {cell!r} in its column of drafts; write true or false")
    return mark in _DRAFT


def _column(what: str, rows: Iterable[Mapping[str, str]], path: Path) -> str | None:
    first = next(iter(rows), {})
    found = next((name for name in _COLUMNS[what] if name in first), None)
    if found is None and what in ("question", "quote"):
        raise DatasetError(
            f"{path} has no column {what!r} among {', '.join(first) or 'no columns'}; the first "
            f"line must name one of: {', '.join(_COLUMNS[what])}"
        )
    return found
