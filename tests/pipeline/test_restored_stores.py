"""A ledger is believed only while it is that of the state in which its store is."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from counting_models import CountingEmbedding
from folder_ingests import FolderIngests, contents
from httpx import Headers
from qdrant_client.http.exceptions import UnexpectedResponse
from store import qdrant_server as _server

from rag_nodes.pipeline import IngestReport, ingest
from rag_nodes.store import Store, open_store
from rag_nodes.store.copying import copy_collection

LATER = (1.7e9, 1.7e9)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with _server.serve() as double:
        yield double


@pytest.fixture(autouse=True)
def _closed_again(corpus: FolderIngests) -> Iterator[None]:
    yield
    corpus.store.close()


def folder_of(corpus: FolderIngests) -> Path:
    return Path(corpus.store.location)


def aside(corpus: FolderIngests, name: str, *, ledger: bool = False) -> Path:
    """A copy of the store while nobody has it open, with or without its ledger."""
    place, copy = folder_of(corpus), folder_of(corpus).with_name(name)
    corpus.store.close()
    ignored = shutil.ignore_patterns(*(() if ledger else ("ledger*",)))
    shutil.copytree(place, copy, ignore=ignored)
    corpus.store = open_store(place)
    return copy


def restore(corpus: FolderIngests, copy: Path, *, ledger: bool = False) -> None:
    """Put a copy in the place of the store; the ledger stays as it is unless it is in the copy."""
    place = folder_of(corpus)
    corpus.store.close()
    for path in place.iterdir():
        if ledger or not path.name.startswith("ledger"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(copy, place, dirs_exist_ok=True)
    corpus.store = open_store(place)


def texts(corpus: FolderIngests, report: IngestReport) -> str:
    return " ".join(contents(corpus.store, report)["fixed"].values())


def change(corpus: FolderIngests, colour: str) -> None:
    corpus.write("1.md", f"# Tea 1\n\nTea number 1 is {colour}.\n" * 20, LATER)


def test_an_older_copy_of_the_store_under_a_newer_ledger_is_found_out_and_brought_up_to_date(
    corpus: FolderIngests, embedding: CountingEmbedding
) -> None:
    corpus.ingest()
    copy = aside(corpus, "yesterday")
    change(corpus, "black")
    before = corpus.ingest()
    [chunks] = [column.chunks for column in before.columns]
    restore(corpus, copy)
    assert corpus.store.count(before.columns[0].collection) == chunks  # the number tells nothing
    embedding.texts.clear()

    report = corpus.ingest()

    assert corpus.opened == ["1.md"]
    assert "is black" in texts(corpus, report)
    assert "number 1 is green" not in texts(corpus, report)
    assert all("black" in text for text in embedding.texts)
    corpus.ingest()
    assert corpus.opened == []


def test_an_older_ledger_under_a_newer_store_is_found_out_and_pays_nothing(
    corpus: FolderIngests, embedding: CountingEmbedding, tmp_path: Path
) -> None:
    corpus.ingest()
    older = tmp_path / "older.sqlite"
    shutil.copy(folder_of(corpus) / "ledger.sqlite", older)
    change(corpus, "black")
    corpus.ingest()
    change(corpus, "green")
    for path in corpus.folder.iterdir():
        corpus.write(path.name, path.read_text(encoding="utf-8"))  # as the older ledger knows them
    embedding.texts.clear()

    report = corpus.ingest(ledger=older)

    assert "is black" not in texts(corpus, report)
    assert all("number 1 is green" in text for text in embedding.texts)


def test_a_store_and_a_ledger_that_were_restored_together_are_believed(
    corpus: FolderIngests, embedding: CountingEmbedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus.ingest()
    copy = aside(corpus, "yesterday", ledger=True)
    change(corpus, "black")
    corpus.ingest()
    change(corpus, "green")
    corpus.write("1.md", "# Tea 1\n\nTea number 1 is green.\n" * 20)
    restore(corpus, copy, ledger=True)
    embedding.texts.clear()
    monkeypatch.setattr(Store, "documents", None)

    corpus.ingest()

    assert (corpus.opened, embedding.texts) == ([], [])


def test_a_copy_made_while_an_ingest_wrote_is_not_taken_for_what_it_left(
    corpus: FolderIngests, monkeypatch: pytest.MonkeyPatch
) -> None:
    [collection] = [column.collection for column in corpus.ingest().columns]
    before, meanwhile = corpus.store.marks(collection), []
    put = Store.put

    def note_marks(store: Store, *arguments: Any) -> None:
        meanwhile.append(store.marks(collection))
        put(store, *arguments)

    monkeypatch.setattr(Store, "put", note_marks)
    change(corpus, "black")
    corpus.ingest()

    assert meanwhile
    assert before not in meanwhile
    assert corpus.store.marks(collection) not in [before, *meanwhile]


def test_a_ledger_is_not_believed_after_a_push_into_its_store(
    corpus: FolderIngests, tmp_path: Path
) -> None:
    [collection] = [column.collection for column in corpus.ingest().columns]
    change(corpus, "black")
    with open_store(tmp_path / "another") as other:
        ingest([corpus.folder], corpus.parsers, other, models=corpus.models)
        copy_collection(collection, other, corpus.store)
    corpus.write("1.md", "# Tea 1\n\nTea number 1 is green.\n" * 20)  # as the ledger knows it

    assert "is black" not in texts(corpus, corpus.ingest())


def test_marks_that_cannot_be_read_cost_a_look_and_nothing_else(
    corpus: FolderIngests, embedding: CountingEmbedding
) -> None:
    corpus.ingest()
    embedding.texts.clear()
    [marks] = folder_of(corpus).rglob("marks.json")
    marks.write_bytes(b"\xff" * 20)

    corpus.ingest()

    assert (corpus.opened, embedding.texts) == ([], [])


@pytest.mark.parametrize("whole", [True, False])
def test_deleted_points_come_back(corpus: FolderIngests, *, whole: bool) -> None:
    report = corpus.ingest()
    before = texts(corpus, report)
    [collection] = [column.collection for column in report.columns]
    if whole:
        corpus.store.drop(collection)
    else:
        nodes = contents(corpus.store, report)["fixed"]
        corpus.store.delete(collection, list(nodes)[:2])

    assert sorted(texts(corpus, corpus.ingest())) == sorted(before)
    corpus.ingest()
    assert corpus.opened == []


def test_a_server_keeps_the_marks_with_the_collection(
    corpus: FolderIngests, server: Any, embedding: CountingEmbedding, tmp_path: Path
) -> None:
    ours, theirs = tmp_path / "ours.sqlite", tmp_path / "theirs.sqlite"
    with open_store(server.url) as corpus.store:
        corpus.ingest(ledger=ours)
        server.requests.clear()
        corpus.ingest(ledger=ours)
        assert corpus.opened == []
        assert not [request for request in server.requests if "scroll" in request]

        change(corpus, "black")
        corpus.ingest(ledger=theirs)
        corpus.write("1.md", "# Tea 1\n\nTea number 1 is green.\n" * 20)
        report = corpus.ingest(ledger=ours)
        assert "is black" not in texts(corpus, report)

        embedding.texts.clear()
        corpus.ingest(ledger=ours)
        assert (corpus.opened, embedding.texts) == ([], [])


def test_a_key_that_may_not_change_a_collection_has_every_ingest_look(
    corpus: FolderIngests,
    server: Any,
    embedding: CountingEmbedding,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with open_store(server.url) as corpus.store:
        monkeypatch.setattr(corpus.store.engine.client, "update_collection", _refuse_write)
        corpus.ingest(ledger=tmp_path / "one.sqlite")
        embedding.texts.clear()
        corpus.ingest(ledger=tmp_path / "one.sqlite")
        assert (corpus.opened, embedding.texts) == ([], [])


def _refuse_write(*_: object, **__: object) -> None:
    raise UnexpectedResponse(403, "Forbidden", b"read only", Headers())
