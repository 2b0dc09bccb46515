"""A run that breaks off, a file or a parser that fails: the rest is stored, and nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from folder_ingests import contents

from rag_nodes.errors import (
    CredentialsError,
    ModelRequestError,
)
from rag_nodes.parsers import FixedSizeNodeParser, get_parser
from rag_nodes.pipeline import driver, ingest
from rag_nodes.store import Store, open_store

if TYPE_CHECKING:
    from pathlib import Path

    from llama_index.core.base.embeddings.base import BaseEmbedding

    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser


def test_a_run_that_broke_in_the_middle_completes_when_run_again(
    manual: Path,
    parsers: dict[str, SpanNodeParser],
    store: Store,
    models: Models,
    embedding: Any,
) -> None:
    embedding.embed_batch_size = 1
    models = replace(models, offline=False)
    batches = Counter[str]()

    def break_down(texts: list[str]) -> None:
        batches.update(["batch"])
        if batches["batch"] > 3:
            raise CredentialsError(f"the key ran out at {len(texts)} texts")

    embedding.fail(break_down)
    broken = ingest([manual], parsers, store, models=models)
    assert all("key ran out" in (column.error or "") for column in broken.columns)
    done = sum(column.written for column in broken.columns)
    assert done > 0

    embedding.fail(lambda _: None)
    embedded = len(embedding.texts)
    report = ingest([manual], parsers, store, models=models)
    total = sum(column.chunks for column in report.columns)
    assert len(embedding.texts) - embedded == total - done, "what was stored is not embedded again"
    with open_store(":memory:") as fresh:
        clean = ingest([manual], parsers, fresh, models=models)
        assert contents(store, report) == contents(fresh, clean)


KILLED = """
import os, sys
from rag_nodes.models import Models, get_embedding
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import driver, ingest
from rag_nodes.store import open_store

driver.MOST_FILES = 1
embedding = get_embedding("lexical")
models = Models(embedding, None, "lexical", "extractive", True)
limit = int(sys.argv[3])

def progress(step):
    if limit and step.stage == "store" and step.done >= limit:
        os.write(1, str(step.done).encode())
        os._exit(9)

with open_store(sys.argv[1]) as store:
    parsers = {"fixed": get_parser("fixed", chunk_size=40, chunk_overlap=0)}
    [outcome] = ingest(sys.argv[2:3], parsers, store, models=models, progress=progress).columns
    print(outcome.chunks, outcome.written, store.count(outcome.collection))
"""


def test_a_killed_process_loses_nothing_it_had_stored(manual: Path, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("first.md", "second.md"):
        (folder / name).write_text(manual.read_text(encoding="utf-8"), encoding="utf-8")

    def run(limit: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", KILLED, str(tmp_path / "store"), str(folder), str(limit)],
            capture_output=True,
            text=True,
            check=False,
        )

    killed = run(3)
    assert killed.returncode == 9
    resumed = run(0)
    assert resumed.returncode == 0, resumed.stderr
    chunks, written, stored = map(int, resumed.stdout.split())
    assert stored == chunks
    assert written == chunks - int(killed.stdout) > 0


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


def test_a_hopeless_failure_is_not_repeated_for_every_document(
    manual: Path,
    tmp_path: Path,
    store: Store,
    models: Models,
    embedding: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(driver, "MOST_FILES", 1)
    attempts = []

    def refuse(texts: list[str]) -> None:
        attempts.append(texts)
        raise CredentialsError("wrong key")

    embedding.fail(refuse)
    others = [tmp_path / f"{n}.txt" for n in range(3)]
    for other in others:
        other.write_text("text")
    report = ingest([manual, *others], {"fixed": get_parser("fixed")}, store, models=models)
    assert len(attempts) == 1
    assert report.columns[0].error == "manual.md: wrong key"


def test_where_a_batch_is_refused_its_chunks_are_embedded_alone(
    manual: Path, store: Store, models: Models, embedding: Any
) -> None:
    def refuse(texts: list[str]) -> None:
        if any("green" in text or "red" in text for text in texts):
            raise ModelRequestError("too colourful")

    embedding.fail(refuse)
    parsers = {"heading": get_parser("heading", chunk_size=60, min_chunk_size=5)}
    [column] = ingest([manual], parsers, store, models=models).columns
    assert column.written == column.chunks - 1
    assert "too colourful" in (column.error or "")


def test_an_embedding_that_raises_its_own_errors_ends_as_one_of_ours(
    manual: Path, store: Store, models: Models, embedding: BaseEmbedding
) -> None:
    def fail(_texts: list[str]) -> None:
        raise ConnectionError("provider's own words")

    embedding.fail(fail)  # type: ignore[attr-defined]
    [column] = ingest([manual], {"fixed": get_parser("fixed")}, store, models=models).columns
    assert "CountingEmbedding failed: ConnectionError: provider's own words" in (column.error or "")
    assert column.written == 0
