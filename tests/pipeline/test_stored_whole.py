"""What was stored stays until what replaces it is stored whole, and the rows say what is there."""

from pathlib import Path
from typing import Any

import pytest
from counting_models import served_by
from llama_index.core import Document
from openai_server import FAILING, Fault, OpenAIServer

from rag_nodes.core.errors import ModelRequestError, StoreError, UnknownModelError
from rag_nodes.embedding import FileColumn
from rag_nodes.models import Models
from rag_nodes.models.pacing import BATCH_BYTES
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import IngestReport, ingest_documents
from rag_nodes.store import Query, Store

WORDS = get_parser("fixed", chunk_size=40, chunk_overlap=0)


def text(version: str, sentences: int = 6) -> str:
    return " ".join(f"Sentence {n} of the {version} version of it." for n in range(sentences))


def ingest_texts(
    store: Store, models: Models, documents: dict[str, str], **parsers: Any
) -> tuple[IngestReport, list[FileColumn]]:
    """The report, and the only column of each document."""
    given = [Document(text=content, id_=name) for name, content in documents.items()]
    report = ingest_documents(given, parsers or {"fixed": WORDS}, store, models=models)
    return report, [next(iter(file.columns.values())) for file in report.files]


def versions(store: Store, report: IngestReport, name: str) -> set[str]:
    """Which versions of a document are stored."""
    hits = store.search(
        report.columns[0].collection, Query(vector=None, text="version", limit=999, mode="sparse")
    )
    texts = " ".join(hit.node.text for hit in hits if hit.node.ref_doc_id == name)
    return {version for version in ("former", "latter", "poison") if version in texts}


def test_a_model_that_refuses_every_chunk_costs_none_of_the_previous_ones(
    store: Store, models: Models, embedding: Any
) -> None:
    names = [f"file-{n}" for n in range(6)]
    before, _ = ingest_texts(store, models, {name: text("former") for name in names})
    count = store.count(before.columns[0].collection)

    def refuse(_texts: list[str]) -> None:
        raise ModelRequestError("no chunk is good enough")

    embedding.fail(refuse)
    report, rows = ingest_texts(store, models, {name: text("latter") for name in names})
    [column] = report.columns
    assert column.written == 0
    assert store.count(column.collection) == count
    assert [file.status for file in report.files] == ["incomplete"] * 6
    for file, row in zip(report.files, rows, strict=True):
        assert (row.status, row.stored, row.superseded) == ("incomplete", 0, count // 6)
        assert row.chunks > 0
        assert row.error == "no chunk is good enough"
        assert row.lack == f"nothing stored, the {row.superseded} previous ones are kept"
        assert file.error is None, "it was read"
        assert versions(store, report, str(file.document_id)) == {"former"}


def test_one_refused_chunk_keeps_the_previous_chunks_of_its_document_alone(
    store: Store, models: Models, embedding: Any
) -> None:
    ingest_texts(store, models, {name: text("former") for name in ("good", "bad", "other")})

    def refuse(texts: list[str]) -> None:
        if any("poison" in item for item in texts):
            raise ModelRequestError("this is poison")

    embedding.fail(refuse)
    spoiled = f"{text('latter')} A poison."
    report, [good, bad, other] = ingest_texts(
        store, models, {"good": text("latter"), "bad": spoiled, "other": text("latter")}
    )
    assert [file.status for file in report.files] == ["read", "incomplete", "read"]
    assert (good.status, other.status) == ("stored", "stored")
    assert bad.stored == bad.chunks - 1
    assert bad.superseded > 0
    assert bad.error == "this is poison"
    assert bad.lack == (
        f"{bad.stored} of {bad.chunks} chunks stored, the {bad.superseded} previous ones are kept"
    )
    assert good.lack is None
    assert "bad, chunk" in (report.columns[0].error or "")
    assert versions(store, report, "good") == {"latter"}
    assert versions(store, report, "bad") == {"former", "latter"}


def test_a_family_of_which_no_child_is_accepted_is_not_begun(
    store: Store, models: Models, embedding: Any
) -> None:
    parser = get_parser("parent-child")
    before, [row] = ingest_texts(store, models, {"one": text("former", 300)}, family=parser)
    collection = before.columns[0].collection
    nodes, chunks = store.stored(collection, "one"), row.chunks
    assert chunks == before.columns[0].chunks < len(nodes), "parents are no chunks"

    def refuse(_texts: list[str]) -> None:
        raise ModelRequestError("no")

    embedding.fail(refuse)
    for name in ("one", "two"):
        report, [row] = ingest_texts(store, models, {name: text("latter", 300)}, family=parser)
        assert report.columns[0].written == row.stored == 0
        assert (row.superseded, row.error) == (chunks if name == "one" else 0, "no")
    assert store.stored(collection, "one") == nodes
    assert not store.stored(collection, "two")


def test_each_parser_says_what_it_stored_of_a_file(
    store: Store, models: Models, embedding: Any
) -> None:
    def refuse(texts: list[str]) -> None:
        if any(len(item) > 60 for item in texts):
            raise ModelRequestError("too long")

    embedding.fail(refuse)
    report, _ = ingest_texts(
        store, models, {"one": text("former")}, fixed=WORDS, wide=get_parser("fixed")
    )
    columns = report.files[0].columns
    assert list(columns) == ["fixed", "wide"]
    assert columns["fixed"].status == "stored"
    assert columns["wide"] == FileColumn("incomplete", 1, 0, 0, "too long")
    assert columns["wide"].lack == "nothing stored"
    assert columns["fixed"].lack is None
    assert report.as_dict()["files"][0]["columns"]["wide"]["error"] == "too long"


def test_a_document_given_twice_says_the_same_in_both_rows(store: Store, models: Models) -> None:
    document = Document(text=text("former"), id_="one")
    report = ingest_documents([document, document], {"fixed": WORDS}, store, models=models)
    first, second = report.files
    assert first.columns == second.columns
    assert first.columns["fixed"].status == "stored"


def test_previous_chunks_that_cannot_be_deleted_are_reported(
    store: Store, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_texts(store, models, {"one": text("former")})

    def refuse(*_: object) -> None:
        raise StoreError("the disk is read-only")

    monkeypatch.setattr(Store, "delete_others", refuse)
    report, [row] = ingest_texts(store, models, {"one": text("latter")})
    assert report.columns[0].error == "one: the disk is read-only"
    assert row.stored == row.chunks
    assert (row.status, row.error) == ("incomplete", "the disk is read-only")
    assert row.lack == f"stored, but {row.superseded} previous chunks could not be deleted"


def test_previous_chunks_left_by_a_broken_run_go_although_the_model_refuses_other_documents(
    store: Store, models: Models, embedding: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_texts(store, models, {"one": text("former")})
    with monkeypatch.context() as broken:
        broken.setattr(Store, "delete_others", lambda *_: 1 / 0)
        ingest_texts(store, models, {"one": text("latter")})

    def refuse(_texts: list[str]) -> None:
        raise UnknownModelError("there is no such model")

    embedding.fail(refuse)
    report, [first, two] = ingest_texts(
        store, models, {"one": text("latter"), "two": text("other")}
    )
    assert (first.status, first.superseded, first.error) == ("stored", 0, None)
    assert (two.status, two.error) == ("incomplete", "there is no such model")
    assert versions(store, report, "one") == {"latter"}


# --- behind a server ----------------------------------------------------------------------------


def test_vectors_of_another_length_than_the_stored_ones_end_the_parser_after_one_request(
    store: Store, served: Models, openai_server: OpenAIServer
) -> None:
    before, _ = ingest_texts(store, served, {"one": text("former")})
    openai_server.dimension = 32
    fresh = served_by(openai_server)
    asked = len(openai_server.asked("embeddings"))
    report, rows = ingest_texts(
        store, fresh, {"one": text("latter", 300), "two": text("latter", 301)}
    )
    assert len(openai_server.asked("embeddings")) == asked + 1
    assert "holds vectors of length 64" in (report.columns[0].error or "")
    assert [row.status for row in rows] == ["incomplete"] * 2
    assert store.count(before.columns[0].collection) == before.columns[0].written


def test_long_chunks_are_stored_request_by_request_as_well(
    store: Store, served: Models, openai_server: OpenAIServer
) -> None:
    long = {"one": "word " * (BATCH_BYTES // 2)}
    parser = get_parser("fixed", chunk_size=BATCH_BYTES // 50, chunk_overlap=0)
    openai_server.faults.extend([Fault(), FAILING])
    report, _ = ingest_texts(store, served, long, fixed=parser)
    first = openai_server.asked("embeddings")[0]["input"]
    assert 1 < len(first) < 100
    assert report.columns[0].written >= len(first)


def test_nothing_is_deleted_where_store_and_ledger_could_not_be_told_of_it_first(
    store: Store, models: Models, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object) -> None:
        raise StoreError("disk full")

    def run(version: str, failing: str | None = None) -> tuple[IngestReport, FileColumn]:
        given, place = [Document(text=text(version), id_="one")], tmp_path / "ledger.sqlite"
        with monkeypatch.context() as away:
            if failing:
                away.setattr(Store, failing, refuse)
            report = ingest_documents(given, {"fixed": WORDS}, store, models=models, ledger=place)
        return report, report.files[0].columns["fixed"]

    run("former")
    _, before = run("latter", failing="delete_others")
    report, row = run("latter", failing="mark")
    assert (row.status, row.error) == ("incomplete", "disk full")
    assert row.superseded == before.superseded > 0
    assert versions(store, report, "one") == {"former", "latter"}
    report, row = run("latter")
    assert (row.status, versions(store, report, "one")) == ("stored", {"latter"})
