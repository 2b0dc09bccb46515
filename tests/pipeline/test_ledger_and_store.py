"""The store is the truth: whatever becomes of the ledger, the next ingest agrees with the store."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from counting_models import CountingEmbedding
from folder_ingests import FolderIngests, states
from llama_index.core.schema import Document
from stored_points import points_of

from rag_nodes.core.errors import LedgerDamagedError, StoreError
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import IngestReport, ingest_documents
from rag_nodes.pipeline.ledger import Ledger, StoredDocument, ledger_path
from rag_nodes.store import Store, open_store


class KilledError(BaseException):
    """Stands for SIGKILL: nothing catches it."""


def agrees(corpus: FolderIngests) -> bool:
    with corpus.ledger as ledger:
        return all(
            ledger.totals(info.name)[0] == corpus.store.count(info.name)
            for info in corpus.store.collections()
        )


def points(store: Store) -> dict[str, dict[str, Any]]:
    return {info.name: points_of(store, info.name) for info in store.collections()}


def test_a_torn_ledger_ends_the_ingest_in_a_sentence_and_harms_nothing(
    corpus: FolderIngests, embedding: CountingEmbedding
) -> None:
    corpus.ingest()
    before = points(corpus.store)
    place = ledger_path(corpus.store.location) or pytest.fail("no ledger")
    for beside in place.parent.glob("ledger.sqlite*"):
        beside.write_bytes(b"torn" * 2000)

    with pytest.raises(LedgerDamagedError, match=r"ledger\.sqlite.*move it away.*the store"):
        corpus.ingest()

    assert points(corpus.store) == before
    for beside in place.parent.glob("ledger.sqlite*"):
        beside.rename(beside.with_name(f"torn-{beside.name}"))
    embedding.texts.clear()
    assert states(corpus.ingest()) == ["unchanged"] * 3
    assert embedding.texts == []
    assert states(corpus.ingest()) == ["unchanged"] * 3
    assert corpus.opened == []


def lose_a_row(ledger: Ledger, collection: str) -> None:
    ledger.forget_stored(collection, list(ledger.stored(collection))[:1])


def add_a_row(ledger: Ledger, collection: str) -> None:
    ledger.settle([StoredDocument(collection, "no such document", "hash", 5)])


def lose_all(ledger: Ledger, collection: str) -> None:
    ledger.forget_collection(collection)


def leave_one_open(ledger: Ledger, collection: str) -> None:
    ledger.open(collection, list(ledger.stored(collection))[1:2])


@pytest.mark.parametrize("change", [lose_a_row, add_a_row, lose_all, leave_one_open])
def test_a_ledger_that_is_wrong_is_made_again_from_the_store(
    corpus: FolderIngests, embedding: CountingEmbedding, change: Callable[[Ledger, str], None]
) -> None:
    [column] = corpus.ingest().columns
    before = points(corpus.store)
    embedding.texts.clear()
    with corpus.ledger as ledger:
        change(ledger, column.collection)
    assert not agrees(corpus)

    report = corpus.ingest()

    assert states(report).count("unchanged") >= 2
    assert report.columns[0].chunks == column.chunks
    assert embedding.texts == []
    assert points(corpus.store) == before
    assert agrees(corpus)


def test_unflushed_points_are_not_reported_as_stored(corpus: FolderIngests) -> None:
    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "flush", full)
        report = corpus.ingest()

    assert [column.error for column in report.columns] == ["the last chunks: the disk is full"]
    rows = [file.columns["fixed"] for file in report.files]
    assert {(row.status, row.error) for row in rows} == {("incomplete", "the disk is full")}
    flushed: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "flush", lambda _, name: flushed.append(name))
        again = corpus.ingest()
    assert states(again) == ["read"] * 3
    assert again.embedding_tokens == 0
    assert flushed == [again.columns[0].collection]
    assert agrees(corpus)


def test_a_file_that_is_put_back_after_a_kill_is_stored_as_it_is(corpus: FolderIngests) -> None:
    """As many chunks as before, and a file of known size and time: only the ledger can tell."""
    old = (corpus.folder / "2.md").read_text(encoding="utf-8")
    corpus.ingest()
    [before] = points(corpus.store).values()
    corpus.write("2.md", old.replace("green", "black"), (1.65e9, 1.65e9))
    real = Store.delete_others

    def delete_and_die(*arguments: Any) -> None:
        real(*arguments)
        raise KilledError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "delete_others", delete_and_die)
        with pytest.raises(KilledError):
            corpus.ingest()
    [killed_at] = points(corpus.store).values()
    assert len(killed_at) == len(before)
    corpus.write("2.md", old)

    corpus.ingest()

    assert [*points(corpus.store).values()] == [before]


def test_two_ingests_at_the_same_time_leave_one_truth(corpus: FolderIngests) -> None:
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda _: corpus.ingest(), range(2)))

    assert {len(report.files) for report in reports} == {3}
    assert states(corpus.ingest()) == ["unchanged"] * 3
    assert agrees(corpus)
    [stored] = points(corpus.store).values()
    assert len(stored) == reports[0].columns[0].chunks


def test_two_writers_of_a_document_never_report_missing_points(
    models: Models, tmp_path: Path
) -> None:
    """Each stores its version and deletes the other's: nothing is left."""
    with open_store(":memory:") as store:

        def run(version: str) -> IngestReport:
            given, parsers = [Document(text=version * 50, id_="tea")], {"page": get_parser("page")}
            place = tmp_path / f"{version.strip()}.sqlite"
            return ingest_documents(given, parsers, store, models=models, ledger=place)

        real = Store.delete_others
        run("Green ")
        with pytest.MonkeyPatch.context() as patch:

            def meanwhile(*arguments: Any) -> None:
                patch.setattr(Store, "delete_others", real)
                run("Black ")
                real(*arguments)

            patch.setattr(Store, "delete_others", meanwhile)
            with Ledger(tmp_path / "Green.sqlite") as ledger:
                [row] = ledger.collections()
                ledger.open(row.name, ["tea"])
            report = run("Green ")

        [info] = store.collections()
        assert info.points == 0
        column = report.files[0].columns["page"]
        assert (column.status, "another process" in str(column.error)) == ("incomplete", True)
        for version in ("Green ", "Black "):
            assert run(version).files[0].status == "read"
            nodes = store.fetch(info.name, [*store.stored(info.name, "tea")])
            assert {node.text.split()[0] for node in nodes.values()} == {version.strip()}
