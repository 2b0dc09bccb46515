"""LegalBench-RAG: `tests` with snippets of files, which lie in a folder `corpus`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.importers.labels import Labelled, Labels, Quote, file_inside, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def is_legalbench(plain: Any) -> bool:
    """Whether this is a benchmark of queries with snippets."""
    tests = plain.get("tests") if isinstance(plain, dict) else None
    first = tests[0] if isinstance(tests, list) and tests else None
    return isinstance(first, dict) and "snippets" in first and "query" in first


def read_legalbench(plain: Mapping[str, Any], path: Path) -> Labels:
    """The questions of such a file, and the files where the corpus lies beside it.

    Raises:
        DatasetError: a field is missing.
    """
    try:
        questions = tuple(
            Labelled(
                id=f"{path.stem}-{number}",
                text=text_of(one["query"]),
                gold=(tuple(_quote(snippet) for snippet in one["snippets"]),),
                kind=text_of((one.get("tags") or [""])[0]),
            )
            for number, one in enumerate(plain["tests"], start=1)
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(f"{path} looks like LegalBench-RAG, but {error!r} is missing") from error
    named = sorted({quote.document for one in questions for quote in one.gold[0] if quote.document})
    return Labels("LegalBench-RAG", questions, _texts(path, named))


def _quote(snippet: Mapping[str, Any]) -> Quote:
    start, end = snippet["span"]
    return Quote(str(snippet.get("answer") or ""), str(snippet["file_path"]), int(start), int(end))


def _texts(path: Path, names: list[str]) -> dict[str, str]:
    """The corpus: beside the file, or beside its folder; only what lies inside it."""
    for corpus in (path.parent / "corpus", path.parent.parent / "corpus"):
        found = {name: file for name in names if (file := file_inside(corpus, name)) is not None}
        if found:
            return {name: file.read_text("utf-8", "replace") for name, file in found.items()}
    return {}
