from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fake_time import FakeTime
from stored_points import points_of, without_seconds

from rag_nodes.errors import StoreError
from rag_nodes.models import Models, choose_models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest
from rag_nodes.pipeline.books import Books
from rag_nodes.pipeline.record import CollectionRecord
from rag_nodes.settings import Settings
from rag_nodes.store import QdrantStore, open_store
from rag_nodes.transforms import FurtherVectors, SectionSummary
from rag_nodes.vector_names import USUAL
from rag_nodes.workers import Batch, BatchWorker, Recipe, work
from rag_nodes.workers.messages import (
    BatchFinished,
    Began,
    Deleted,
    Message,
    NotStored,
    Progressed,
    pack,
    pack_batch,
    unpack,
    unpack_batch,
)
from rag_nodes.workers.outbox import Outbox
from rag_nodes.workers.packing import PackedPoints
from rag_nodes.workers.writer import Writer

if TYPE_CHECKING:
    from pathlib import Path

    from openai_server import OpenAIServer

    from rag_nodes.parsers import SpanNodeParser


def applied(messages: list[Message], store: QdrantStore) -> BatchFinished:
    """What is left to do by whoever writes."""
    for message in messages:
        sent = unpack(pack(message))
        if isinstance(sent, PackedPoints):
            store.put(sent.collection, sent.points())
        if isinstance(sent, Deleted):
            store.delete(sent.collection, sent.node_ids)
    assert isinstance(sent, BatchFinished)
    return sent


def test_a_batch_gives_what_an_ingest_of_its_files_gives(
    corpus: list[Path], parsers: dict[str, SpanNodeParser], models: Models
) -> None:
    with open_store() as alone, open_store() as store:
        expected = ingest(corpus, parsers, alone, models=models)
        worker = BatchWorker(Recipe.of(parsers, models))
        finished = applied([*worker.work(Batch(0, tuple(map(str, corpus))))], store)
        assert without_seconds(finished.report) == without_seconds(expected)
        assert finished.rows == tuple(range(6))
        for column in expected.columns:
            assert points_of(store, column.collection) == points_of(alone, column.collection)


def test_a_file_is_named_before_it_is_opened(
    corpus: list[Path], parsers: dict[str, SpanNodeParser], models: Models
) -> None:
    worker = BatchWorker(Recipe.of(parsers, models))
    messages = worker.work(Batch(0, tuple(map(str, corpus[:2]))))
    assert next(messages) == Began(0)
    corpus[0].write_text("# Written\n\nafter it was named.", encoding="utf-8")
    finished = [*messages][-1]
    assert isinstance(finished, BatchFinished)
    assert finished.report.files[0].characters == len("# Written\n\nafter it was named.")


def test_steps_of_a_batch_are_told_now_and_then_and_the_last_one_for_certain(
    tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeTime()
    monkeypatch.setattr(work, "time", clock)
    paths = [tmp_path / f"{number}.md" for number in range(10)]
    for path in paths:
        path.write_text("# One\n\nSteel is heavy.")
    worker = BatchWorker(Recipe.of({"x": get_parser("fixed")}, models))
    said = [*worker.work(Batch(0, tuple(map(str, paths))))]
    steps = [one.progress for one in said if isinstance(one, Progressed)]
    parsed = [one.done for one in steps if one.stage == "parse"]
    assert parsed == [1, 10]
    assert [one.done for one in steps if one.stage == "embed"] == [10]


def test_a_changed_file_replaces_what_was_sent_along(tmp_path: Path, models: Models) -> None:
    path = tmp_path / "a.md"
    parsers = {"x": get_parser("heading", chunk_size=60, min_chunk_size=5)}
    path.write_text("# One\n\nSteel is heavy.\n\n# Two\n\nWood is light.")
    with open_store() as store:
        report = ingest([path], parsers, store, models=models)
        (file,), (column,) = report.files, report.columns
        path.write_text("# One\n\nSteel is heavy.")
        document = str(file.document_id)
        stored = {column.collection: {document: store.stored(column.collection, document)}}
        worker = BatchWorker(Recipe.of(parsers, models))
        finished = applied([*worker.work(Batch(1, (str(path),), stored))], store)
        assert finished.report.columns[0].deleted == 1
        assert store.count(column.collection) == 1


def test_no_stored_embedding_of_any_name_is_paid_for_by_a_worker_again(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    path = tmp_path / "a.md"
    path.write_text("# One\n\nSteel is heavy.\n\n# Two\n\nWood is light.")
    parsers = {"x": get_parser("heading", chunk_size=60, min_chunk_size=5)}
    served = {"embedding": "openai", "llm": "extractive", "api_key": "sk-test"}
    models = choose_models(Settings(**served, api_base=openai_server.base))
    with open_store() as store:
        plain = [FurtherVectors("plain")]
        report = ingest([path], parsers, store, models=models, transformations=plain)
        (file,), (column,) = report.files, report.columns
        name, document = column.collection, str(file.document_id)
        stored = {name: {document: store.stored(name, document)}}
        writer = Writer([CollectionRecord(store, name)], Books(), vectors=(USUAL, "plain"))
        batch = Batch(1, (str(path),), stored, writer.vectors(stored))
        before = len(openai_server.embedded)
        # Summaries are new, so every chunk is due; what it was embedded as before is not.
        steps = [SectionSummary(), FurtherVectors("plain", "summary")]
        worker = BatchWorker(Recipe.of(parsers, models, transformations=steps))
        applied([*worker.work(unpack_batch(pack_batch(batch)))], store)
        summaries = store.vectors(name, [*store.stored(name, document)], "summary")
    assert sorted(openai_server.embedded[before:]) == sorted(text for text, _ in summaries.values())
    assert len(summaries) == column.chunks


def test_what_the_store_refused_is_refused_for_every_file(
    corpus: list[Path], models: Models
) -> None:
    parsers = {"x": get_parser("fixed")}
    worker = BatchWorker(Recipe.of(parsers, models))
    [*_, first] = worker.work(Batch(0, (str(corpus[0]),)))
    assert isinstance(first, BatchFinished)
    collection = first.report.columns[0].collection
    refused = {collection: "the disk is full"}
    *sent, last = worker.work(Batch(1, (str(corpus[0]),), refused=refused))
    assert isinstance(last, BatchFinished)
    document = str(last.report.files[0].document_id)
    [why] = [unpack(pack(one)) for one in sent if isinstance(one, NotStored)]
    assert why == NotStored(collection, {document: "the disk is full"})
    assert last.stopped == {"x": "the disk is full"}
    assert last.report.files[0].status == "incomplete"


def test_an_outbox_says_that_nobody_can_read_there(corpus: list[Path]) -> None:
    outbox = Outbox(Batch(0, (str(corpus[0]),)), lambda _: None)
    with pytest.raises(StoreError, match="ask the store itself"):
        outbox.fetch("c", ["a"])
    assert (outbox.count("c"), outbox.collections(), outbox.stored("c", "d")) == (0, [], {})


def test_a_batch_that_nobody_listens_to_any_more_ends(
    corpus: list[Path], parsers: dict[str, SpanNodeParser], models: Models
) -> None:
    messages = BatchWorker(Recipe.of(parsers, models)).work(Batch(0, tuple(map(str, corpus))))
    assert next(messages) == Began(0)
    messages.close()
