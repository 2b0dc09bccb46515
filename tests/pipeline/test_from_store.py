"""Stored chunks that another model embeds are those of an ingest of their files with that model."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from counting_models import CountingEmbedding, Prices
from folder_ingests import FolderIngests, states
from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter
from openai_server import OpenAIServer
from stored_points import points_of

from rag_nodes import FileMetadata, ingest_from_store
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.models import Models
from rag_nodes.models.executors import Pool
from rag_nodes.parsers import PRESETS, get_parser
from rag_nodes.pipeline import IngestReport, ingest, ingest_documents
from rag_nodes.pipeline.ledger import Ledger
from rag_nodes.store import Store, open_store

EXAMPLES = Path(__file__).parents[2] / "examples" / "corpus"
FILES = [EXAMPLES / name for name in ("manual.md", "handbook.pdf", "ferry_questions.csv")]


@pytest.fixture
def other(models: Models) -> Models:
    """Another model, which counts what it embeds itself."""
    embedding = CountingEmbedding(embed_batch_size=1000)
    return replace(models, embedding=embedding, embedding_name="other")


def embedded_texts(models: Models) -> list[str]:
    assert isinstance(models.embedding, CountingEmbedding)
    return models.embedding.texts


def every_preset() -> dict[str, object]:
    return {name: get_parser(name) for name in PRESETS}


def contents(store: Store, report: IngestReport) -> dict[str, dict[str, Any]]:
    return {column.parser: points_of(store, column.collection) for column in report.columns}


def rows(ledger: Ledger, report: IngestReport) -> list[Any]:
    """What a ledger says of collections, documents and files, but for times."""
    stored = [
        [row._replace(stored_at=None) for row in ledger.stored(column.collection).values()]
        for column in report.columns
    ]
    places = {column.collection for column in report.columns}
    collections = [
        row._replace(first_used=0, last_used=0)
        for row in ledger.collections("default")
        if row.name in places
    ]
    lost = [ledger.unheld("default", file) for file in ledger.paths("default")]
    return [stored, sorted(collections), ledger.known("default"), lost]


def test_points_and_ledger_are_those_of_an_ingest_with_the_other_model(
    tmp_path: Path, models: Models, other: Models
) -> None:
    parsers = every_preset()
    table = tmp_path / "metadata.csv"
    table.write_text(f"path,dept,tags\n{FILES[0]},hr,a|b\n")
    options: dict[str, Any] = {
        "text": "summary",
        "embed_metadata": ("dept", "title"),
        "metadata": FileMetadata({"year": 2024}, table),
    }
    with open_store(tmp_path / "a") as ours, open_store(tmp_path / "b") as theirs:
        wanted = ingest(FILES, parsers, theirs, models=other, **options)
        once = sorted(embedded_texts(other))
        ingest(FILES, parsers, ours, models=models, **options)
        embedded_texts(other).clear()

        report = ingest_from_store(parsers, ours, models=other)

        assert contents(ours, report) == contents(theirs, wanted)
        assert sorted(embedded_texts(other)) == once
        with Ledger.of(ours.location) as mine, Ledger.of(theirs.location) as reference:
            assert rows(mine, report) == rows(reference, wanted)
        embedded_texts(other).clear()
        assert {*states(ingest_from_store(parsers, ours, models=other))} == {"unchanged"}
        night = ingest(FILES, parsers, ours, models=other, **options)
        assert {*states(night)} == {"unchanged"}
        assert not embedded_texts(other)


def test_no_file_is_opened_and_nothing_is_split(
    corpus: FolderIngests, other: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.ingest()
    corpus.opened.clear()
    for file in corpus.folder.iterdir():
        file.unlink()
    parser: Any = corpus.parsers["fixed"]
    with monkeypatch.context() as patch:
        patch.setattr(type(parser), "_parse_nodes", lambda *_, **__: pytest.fail("it was split"))
        report = ingest_from_store(corpus.parsers, corpus.store, models=other)
    assert states(report) == ["read"] * 3
    assert [file.name for file in report.files] == ["0.md", "1.md", "2.md"]
    assert corpus.opened == []
    assert report.superseded, "the collection of the former model is named"


def test_the_dry_run_says_the_price_and_asks_nobody(
    corpus: FolderIngests, served: Models, openai_server: OpenAIServer, prices: Prices
) -> None:
    corpus.ingest()

    def run(**options: Any) -> IngestReport:
        return ingest_from_store(
            corpus.parsers, corpus.store, models=served, prices=prices, **options
        )

    openai_server.requests.clear()
    planned = run(dry_run=True)
    assert not openai_server.requests
    assert dict(planned.due) == {"fixed": 3}
    done = run()
    assert planned.embedding_cost == done.embedding_cost != 0
    assert planned.columns[0].written == done.columns[0].written > 0
    again = run(dry_run=True)
    assert (again.due, again.embedding_cost) == ({"fixed": 0}, 0)


def test_the_content_of_the_last_ingest_stays(
    corpus: FolderIngests, models: Models, other: Models
) -> None:
    def texts(report: IngestReport) -> str:
        points = contents(corpus.store, report)["fixed"].values()
        return "".join(payload["_node_content"] for payload, *_ in points)

    corpus.ingest()
    changed = corpus.write("0.md", "# Coffee\n\nCoffee is black.\n" * 9)
    corpus.models = other
    corpus.ingest(changed)
    corpus.models = models
    corpus.ingest(corpus.folder / "1.md")  # its collection is the last one used
    third = replace(models, embedding=CountingEmbedding(), embedding_name="third")
    for model, status in ((third, "read"), (other, "unchanged")):
        report = ingest_from_store(corpus.parsers, corpus.store, models=model)
        assert states(report) == [status, "read", "read"]
        assert "Coffee" in texts(report)
        assert "Tea 0" not in texts(report)


def test_the_collection_with_whole_documents_is_taken(
    corpus: FolderIngests, models: Models, other: Models
) -> None:
    corpus.ingest()
    refused = replace(models, embedding=CountingEmbedding(), embedding_name="refused")

    def refuse(texts: list[str]) -> None:
        if any("number 1 " in text for text in texts):
            raise ConnectionError("refused")

    assert isinstance(refused.embedding, CountingEmbedding)
    refused.embedding.fail(refuse)
    ingest_from_store(corpus.parsers, corpus.store, models=refused)
    report = ingest_from_store(corpus.parsers, corpus.store, models=other)
    assert states(report) == ["read"] * 3


def test_a_document_that_is_nowhere_whole_is_incomplete(
    corpus: FolderIngests, other: Models
) -> None:
    report = corpus.ingest()
    name, document = report.columns[0].collection, report.files[0].document_id
    assert document
    corpus.store.delete(name, next(iter(corpus.store.stored(name, document))))
    report = ingest_from_store(corpus.parsers, corpus.store, models=other)
    assert states(report) == ["incomplete", "read", "read"]
    assert "ingest its file" in str(report.files[0].columns["fixed"].error)
    corpus.models = other
    assert states(corpus.ingest()) == ["read", "unchanged", "unchanged"]


def test_documents_that_were_given_are_embedded_as_well(
    store: Store, models: Models, other: Models, tmp_path: Path
) -> None:
    parsers = {"sentences": SentenceSplitter(chunk_size=30, chunk_overlap=0)}
    given = [Document(text="Tea is green. " * 20, id_="tea", metadata={"dept": "hr"})]
    ledger = tmp_path / "ledger.sqlite"
    ingest_documents(given, parsers, store, models=models, ledger=ledger)
    report = ingest_from_store(parsers, store, models=other, ledger=ledger)
    assert states(report) == ["read"]
    with open_store(":memory:") as second:
        wanted = ingest_documents(given, parsers, second, models=other)
        assert contents(store, report) == contents(second, wanted)


def test_chunks_of_a_splitter_whose_code_changed_are_refused(
    corpus: FolderIngests, other: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def splitter(size: int) -> dict[str, object]:
        text = f"return [text[at : at + {size}] for at in range(0, len(text), {size})]"
        source = f"class Mine:\n    def split_text(self, text):\n        {text}\n"
        (tmp_path / "own_cuts.py").write_text(source)
        monkeypatch.delitem(sys.modules, "own_cuts", raising=False)
        importlib.invalidate_caches()
        return {"mine": importlib.import_module("own_cuts").Mine()}

    corpus.parsers = splitter(300)
    corpus.ingest()
    report = ingest_from_store(corpus.parsers, corpus.store, models=other)
    assert states(report) == ["read"] * 3
    third = replace(other, embedding_name="third")
    report = ingest_from_store(splitter(200), corpus.store, models=third)
    assert states(report) == ["incomplete"] * 3
    assert "code may have changed" in str(report.files[0].columns["mine"].error)


def test_workers_embed_the_same(
    corpus: FolderIngests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_nodes.pipeline.run.MOST_FILES", 1)
    corpus.ingest()
    lexical = Models.of(embed_model="lexical")
    report = ingest_from_store(corpus.parsers, corpus.store, models=lexical, executor=Pool(2))
    with open_store(tmp_path / "other") as second:
        wanted = ingest(corpus.folder, corpus.parsers, second, models=lexical)
        mine, reference = (
            contents(*ingested) for ingested in ((corpus.store, report), (second, wanted))
        )
    assert mine.keys() == reference.keys()
    assert {key: p[0] for key, p in mine["fixed"].items()} == {
        key: p[0] for key, p in reference["fixed"].items()
    }


def test_a_parser_that_is_not_stored_is_refused_by_name(
    corpus: FolderIngests, other: Models
) -> None:
    corpus.ingest()
    with pytest.raises(ConfigurationError, match=r"no chunks of heading .*stored: FixedSize"):
        ingest_from_store({"heading": get_parser("heading")}, corpus.store, models=other)
