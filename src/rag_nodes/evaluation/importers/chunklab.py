"""The YAML of chunklab: `questions` with `query` and `gold_snippets`.

All snippets are wanted; a list among them is one of which any is enough.
"""

from __future__ import annotations

from itertools import islice, product
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.importers.labels import Labelled, Labels, Quote, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MOST = 64
"""Combinations of alternatives that are kept of one question."""


def read_chunklab(text: str, path: Path) -> Labels:
    """The questions of such a file.

    Raises:
        DatasetError: it is no YAML, or has no questions.
    """
    import yaml  # comes with llama-index-core

    try:
        # A few aliases of aliases are a list that no memory holds.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            raise DatasetError(f"{path} has aliases (*name); write out what they stand for")
        plain = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise DatasetError(f"{path} is not valid YAML: {error}") from error
    rows = plain.get("questions") if isinstance(plain, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DatasetError(f"{path}: a list `questions` is expected at the top")
    found = (_labelled(row, number) for number, row in enumerate(rows, start=1))
    return Labels("chunklab's YAML", tuple(found))


def _labelled(row: Mapping[str, Any], number: int) -> Labelled:
    snippets = row.get("gold_snippets") or []
    slots = [
        [text_of(one) for one in (slot if isinstance(slot, list) else [slot])]
        for slot in ([snippets] if isinstance(snippets, str) else snippets)
    ]
    tags = row.get("tags") or [""]
    return Labelled(
        id=str(row.get("id") or f"q{number}"),
        text=text_of(row.get("query")),
        gold=tuple(
            tuple(Quote(text) for text in chosen if text)
            for chosen in islice(product(*slots), _MOST)
            if any(chosen)
        ),
        kind=text_of(tags[0] if isinstance(tags, list) else tags),
        draft=row.get("reviewed") is False,
    )
