"""A folder as BEIR has it: `corpus.jsonl`, `queries.jsonl` and `qrels/*.tsv`.

Passages of one title become one document, in the order of the corpus, so that there is something
to cut; each relevant passage is an answer that is enough.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from typing import TYPE_CHECKING

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.importers.labels import Labelled, Labels, Quote, read_lines, read_text

if TYPE_CHECKING:
    from pathlib import Path

_BETWEEN = "\n\n"
_SPLITS = ("test.tsv", "dev.tsv", "train.tsv")
"""Judgements, the first there is."""


def is_beir(folder: Path) -> bool:
    """Whether a folder holds such a dataset."""
    return (folder / "corpus.jsonl").is_file() and (folder / "queries.jsonl").is_file()


def read_beir(folder: Path) -> Labels:
    """The judged questions and the passages of such a folder.

    Raises:
        DatasetError: a file is missing or damaged.
    """
    texts: dict[str, str] = {}
    places: dict[str, Quote] = {}
    try:
        for one in read_lines(folder / "corpus.jsonl", read_text(folder / "corpus.jsonl")):
            title = str(one.get("title") or "").strip()
            name = title or str(one["_id"])
            before = texts.get(name, f"# {title}" if title else "")
            start = len(before) + len(_BETWEEN) if before else 0
            texts[name] = (before + _BETWEEN if before else "") + str(one["text"])
            places[str(one["_id"])] = Quote(str(one["text"]), name, start, start + len(one["text"]))
        queries = {
            str(one["_id"]): str(one["text"]).strip()
            for one in read_lines(folder / "queries.jsonl", read_text(folder / "queries.jsonl"))
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"{folder} looks like BEIR, but {error!r} is missing") from error
    return Labels("BEIR", tuple(_judged(folder, queries, places)), texts)


def _judged(folder: Path, queries: dict[str, str], places: dict[str, Quote]) -> list[Labelled]:
    path = next((p for name in _SPLITS if (p := folder / "qrels" / name).is_file()), None)
    if path is None:
        raise DatasetError(f"{folder} has no judgements; put them into {folder / 'qrels/test.tsv'}")
    relevant: dict[str, list[Quote]] = defaultdict(list)
    for row in csv.reader(read_text(path).splitlines(), delimiter="\t"):
        if len(row) >= 3 and row[2].strip().isdigit() and int(row[2]) > 0 and row[1] in places:  # noqa: PLR2004 -- query, passage, score
            relevant[row[0]].append(places[row[1]])
    return [
        Labelled(query, queries[query], tuple((quote,) for quote in quotes if quote.text.strip()))
        for query, quotes in relevant.items()
        if query in queries
    ]
