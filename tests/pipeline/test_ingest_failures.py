"""A run that breaks off, a file or a parser that fails: the rest is stored, and nothing is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rag_nodes.parsers import FixedSizeNodeParser, get_parser
from rag_nodes.pipeline import ingest
from rag_nodes.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from llama_index.core.base.embeddings.base import BaseEmbedding

    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser


def test_one_bad_file_never_stops_the_rest(
    manual: Path, tmp_path: Path, parsers: dict[str, SpanNodeParser], store: Store, models: Models
) -> None:
    empty = tmp_path / "empty.txt"
    empty.touch()
    missing = tmp_path / "missing.md"
    report = ingest([empty, manual, missing], parsers, store, models=models)
    assert [file.status for file in report.files] == ["failed", "read", "failed"]
    assert [file.path for file in report.failed] == [str(empty), str(missing)]
    assert all(file.error and file.characters == 0 for file in report.failed)
    assert all(column.error is None and column.chunks for column in report.columns)


def test_one_failing_parser_never_stops_the_others(
    manual: Path,
    tmp_path: Path,
    parsers: dict[str, SpanNodeParser],
    store: Store,
    models: Models,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spans = FixedSizeNodeParser.spans

    def fail_once(self: FixedSizeNodeParser, source: Any) -> Any:
        if "machine" in source.text:
            raise ZeroDivisionError("a bug in a parser")
        return spans(self, source)

    monkeypatch.setattr(FixedSizeNodeParser, "spans", fail_once)
    other = tmp_path / "other.txt"
    other.write_text("Something else entirely.")
    report = ingest([manual, other], parsers, store, models=models)
    fixed, heading = report.columns
    assert fixed.error == "manual.md: ZeroDivisionError: a bug in a parser"
    assert fixed.chunks == 1, "the other document went through"
    assert heading.error is None
    assert [file.status for file in report.files] == ["incomplete", "read"]
    assert report.files[0].columns["fixed"].lack == "nothing stored"


def test_an_embedding_that_raises_its_own_errors_ends_as_one_of_ours(
    manual: Path, store: Store, models: Models, embedding: BaseEmbedding
) -> None:
    def fail(_texts: list[str]) -> None:
        raise ConnectionError("provider's own words")

    embedding.fail(fail)  # type: ignore[attr-defined]
    [column] = ingest([manual], {"fixed": get_parser("fixed")}, store, models=models).columns
    assert "CountingEmbedding failed: ConnectionError: provider's own words" in (column.error or "")
    assert column.written == 0
