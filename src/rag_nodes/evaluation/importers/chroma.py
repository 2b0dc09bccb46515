"""The questions of Chroma's report on chunking: a CSV beside a folder of corpora.

Columns `question`, `references` (a JSON list of `content`, `start_index`, `end_index`) and
`corpus_id`, which names a text file.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.importers.labels import (
    Labelled,
    Labels,
    Quote,
    file_inside,
    number_of,
    read_text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

COLUMNS = frozenset({"question", "references", "corpus_id"})
"""What makes a sheet one of Chroma's."""


def read_chroma(rows: Sequence[Mapping[str, str]], path: Path) -> Labels:
    """The questions of such a sheet, and the corpora where they stand beside it.

    Raises:
        DatasetError: the references of a row are no JSON.
    """
    corpora = {row["corpus_id"] for row in rows}
    texts = {name: text for name in sorted(corpora) if (text := _corpus(path.parent, name))}
    questions = tuple(
        Labelled(
            id=f"{row['corpus_id']}-{number}",
            text=row["question"].strip(),
            gold=(_references(row, path, number),),
        )
        for number, row in enumerate(rows, start=1)
    )
    return Labels("Chroma's CSV", questions, texts)


def _references(row: Mapping[str, str], path: Path, number: int) -> tuple[Quote, ...]:
    try:
        listed = json.loads(row["references"])
        return tuple(
            Quote(
                str(one["content"]),
                row["corpus_id"],
                number_of(one.get("start_index")),
                number_of(one.get("end_index")),
            )
            for one in listed
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DatasetError(
            f"{path}, row {number}: references must be a JSON list of content, start_index and "
            f"end_index ({error!r})"
        ) from error


def _corpus(folder: Path, name: str) -> str:
    for place in (folder / "corpora", folder):
        for suffix in (".md", ".txt", ""):
            if (found := file_inside(place, f"{name}{suffix}")) is not None:
                return read_text(found)
    return ""
