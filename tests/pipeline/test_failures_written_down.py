"""What an ingest could not store is in the ledger: which document, which column, since when."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from counting_models import CountingEmbedding
from folder_ingests import FolderIngests, states
from llama_index.core import Document
from llama_index.core.schema import BaseNode, TransformComponent

from rag_nodes.core.errors import (
    CredentialsError,
    ModelRequestError,
    ModelResponseError,
    StoreFullError,
)
from rag_nodes.core.keys import words_of
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import IngestReport, ingest_documents
from rag_nodes.pipeline.ledger import StoredDocument
from rag_nodes.pipeline.units import LONGEST
from rag_nodes.pipeline.upkeep import Inventory, ListedDocument, Trouble, cleared, examined

NEW = "# Coffee\n\n" + "Coffee is black.\n" * 90


def refuse(error: Exception) -> Callable[[list[str]], None]:
    def before(texts: list[str]) -> None:
        if any("black" in text for text in texts):
            raise error

    return before


def rows(corpus: FolderIngests, name: str) -> list[StoredDocument]:
    """What the ledger says of a file, by column."""
    path = str((corpus.folder / name).resolve())
    with corpus.ledger as ledger:
        [document] = ledger.known("default")[path].documents
        collections = [collection.name for collection in ledger.collections()]
        entries = [ledger.stored(collection).get(document.id) for collection in sorted(collections)]
        return [row for row in entries if row]


def list_documents(corpus: FolderIngests) -> dict[str, ListedDocument]:
    with corpus.ledger as ledger:
        inventory = Inventory(corpus.store, ledger)
        documents = inventory.documents("default", inventory.collections("default"))
    return {collection.name: collection for collection in documents}


def findings(corpus: FolderIngests) -> list[Trouble]:
    """Check the store as `doctor` does."""
    with corpus.ledger as ledger:
        place = ledger.path
    return list(examined(corpus.store.location, lambda: corpus.store, lambda _: place))


@pytest.mark.parametrize(
    "error",
    [
        CredentialsError("the key is refused"),
        ValueError("a bug"),
        StoreFullError("the disk is full"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_document_that_fails_says_why_until_it_is_stored(
    corpus: FolderIngests, embedding: CountingEmbedding, error: Exception
) -> None:
    corpus.ingest()
    [former] = rows(corpus, "1.md")
    corpus.write("1.md", NEW)
    embedding.fail(refuse(error))
    broken = corpus.ingest()

    [row] = rows(corpus, "1.md")
    [column] = [file.columns["fixed"] for file in broken.files if file.name == "1.md"]
    assert row.error
    assert column.error == row.error
    assert words_of(error) in row.error
    assert row.failed_at
    assert row._replace(error=None, failed_at=None) == former, "what is stored stays known"
    assert corpus.store.count(broken.columns[0].collection) == former.chunks * 3
    document = list_documents(corpus)["1.md"]
    assert (document.state, document.error, document.failed_at) == (
        "incomplete",
        row.error,
        row.failed_at,
    )

    assert states(corpus.ingest()) == ["unchanged", "incomplete", "unchanged"], "it is tried again"
    assert rows(corpus, "1.md")[0].failed_at == row.failed_at, "since the first time"

    embedding.fail(lambda _: None)
    assert states(corpus.ingest()) == ["unchanged", "read", "unchanged"]
    [settled] = rows(corpus, "1.md")
    assert (settled.error, settled.failed_at) == (None, None)
    assert list_documents(corpus)["1.md"].state == "stored"


def test_a_collection_of_which_nothing_was_ever_stored_says_why(
    corpus: FolderIngests, embedding: CountingEmbedding
) -> None:
    embedding.fail(refuse(CredentialsError("the key is refused")))
    for name in ("0.md", "1.md", "2.md"):
        corpus.write(name, NEW)
    corpus.ingest()
    assert corpus.store.collections() == []
    documents = list_documents(corpus).values()
    assert {row.error for row in documents} == {"the key is refused"}
    assert [(column.chunks, column.stored_at) for column in documents] == [({}, None)] * 3
    with corpus.ledger as ledger:
        inventory = Inventory(corpus.store, ledger)
        [held] = inventory.never_stored("default")
        status = inventory.status(held)
        assert (status.documents, status.failed, status.chunks) == (0, 3, 0)
        assert status.error == "the key is refused"
        cleared(inventory, [held])
        assert inventory.never_stored() == inventory.documents("default", []) == []


def test_a_version_that_is_put_back_is_no_failure_any_more(
    corpus: FolderIngests, embedding: CountingEmbedding
) -> None:
    corpus.ingest()
    old = (corpus.folder / "1.md").read_text(encoding="utf-8")
    corpus.write("1.md", NEW)
    embedding.fail(refuse(CredentialsError("the key is refused")))
    corpus.ingest()
    corpus.write("1.md", old)
    assert states(corpus.ingest()) == ["unchanged"] * 3
    assert [row.error for row in rows(corpus, "1.md")] == [None]


def test_partly_stored_documents_keep_their_reason(
    corpus: FolderIngests, embedding: CountingEmbedding
) -> None:
    corpus.write("1.md", "# Tea\n\nTea is green.\n" * 30 + NEW)
    embedding.fail(refuse(ModelRequestError("too long")))
    [column] = corpus.ingest().columns
    [row] = rows(corpus, "1.md")
    assert (row.version, row.error) == ("", "too long"), "only the store knows"
    assert 0 < list_documents(corpus)["1.md"].chunks[column.collection] < column.chunks
    with corpus.ledger as ledger:
        inventory = Inventory(corpus.store, ledger)
        [status] = map(inventory.status, inventory.collections())
    assert (status.incomplete, status.failed, status.error) == (1, 1, "too long")
    stored = corpus.store.documents(column.collection)
    assert findings(corpus) == []
    assert corpus.store.documents(column.collection) == stored, "what was paid for stays"
    corpus.ingest()
    [row] = rows(corpus, "1.md")
    assert (row.error, row.version) == ("too long", "")
    embedding.fail(lambda _: None)
    corpus.ingest()
    assert [row.error for row in rows(corpus, "1.md")] == [None]
    assert list_documents(corpus)["1.md"].state == "stored"


class RefusesBlackSmallChunks(TransformComponent):
    """Fails in one column, whose chunks are small."""

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        del kwargs
        if any("black" in node.get_content() for node in nodes) and len(nodes) > 3:
            raise ValueError("no black")
        return nodes


def test_only_the_column_that_failed_has_an_error(corpus: FolderIngests) -> None:
    corpus.parsers["heading"] = get_parser("fixed", chunk_size=5000, chunk_overlap=0)
    corpus.ingest()
    corpus.write("1.md", NEW)
    corpus.ingest(transformations=[RefusesBlackSmallChunks()])
    [error] = [row.error for row in rows(corpus, "1.md") if row.error is not None]
    assert "RefusesBlackSmallChunks failed: ValueError" in error


def test_no_key_is_written_down_and_no_page_of_words(
    corpus: FolderIngests, embedding: CountingEmbedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEA_API_KEY", "no-such-key-here")
    reply = f"refused\nsk-1234567890abcdef and no-such-key-here {'word ' * 900}"
    embedding.fail(refuse(ModelResponseError(reply)))
    corpus.write("1.md", NEW)
    corpus.ingest()
    [row] = rows(corpus, "1.md")
    assert "refused **** and **** word" in str(row.error)
    assert len(str(row.error)) <= LONGEST + len("…")


def test_a_file_that_cannot_be_read_says_why_and_since_when(corpus: FolderIngests) -> None:
    corpus.ingest()
    path = corpus.folder / "2.md"
    whole = path.read_text(encoding="utf-8")
    [stored] = rows(corpus, "2.md")
    since = []
    for size in (500, 501):
        path.write_bytes(b"\x00\x01\xff" * size)
        [failed] = corpus.ingest().failed
        document = list_documents(corpus)["2.md"]
        assert (document.state, document.error) == ("failed", failed.error)
        assert document.chunks == {stored.collection: stored.chunks}
        with corpus.ledger as ledger:
            [file] = ledger.unread("default")
        since.append(file.failed_at)
    assert since[0] == since[1], "since the first time"
    corpus.write("2.md", whole)
    corpus.ingest()
    with corpus.ledger as ledger:
        assert ledger.unread() == []
    assert list_documents(corpus)["2.md"].state == "stored"


def test_documents_that_were_no_files_say_why_too(
    corpus: FolderIngests, embedding: CountingEmbedding
) -> None:
    def ingest_tea(text: str) -> IngestReport:
        documents = [Document(text=text, id_="tea")]
        return ingest_documents(documents, corpus.parsers, corpus.store, models=corpus.models)

    ingest_tea("Tea is green. " * 20)
    embedding.fail(refuse(CredentialsError("the key is refused")))
    ingest_tea("Tea is black. " * 20)
    [document] = list_documents(corpus).values()
    assert (document.state, document.error) == ("incomplete", "the key is refused")
    assert document.chunks.popitem()[1] > 0
    embedding.fail(lambda _: None)
    ingest_tea("Tea is black. " * 20)
    assert [file.state for file in list_documents(corpus).values()] == ["stored"]


def test_files_are_not_opened_any_more_once_every_parser_has_given_up(
    corpus: FolderIngests, embedding: CountingEmbedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_nodes.pipeline.run.MOST_FILES", 5)
    corpus.parsers["other"] = get_parser("fixed", chunk_size=5000, chunk_overlap=0)
    corpus.ingest()
    for number in range(40):
        corpus.write(f"new {number:02}.md", NEW)

    embedding.fail(refuse(CredentialsError("the key is refused")))
    report = corpus.ingest()

    assert len(corpus.opened) < 30, "a few are read ahead"
    assert states(report) == ["unchanged"] * 3 + ["incomplete"] * 40
    last = report.files[-1]
    assert {name: column.error for name, column in last.columns.items()} == {
        "fixed": "the key is refused",
        "other": "the key is refused",
    }
    with corpus.ledger as ledger:
        assert len(ledger.known("default")) == 3 + len(corpus.opened), "what was not opened is due"
    embedding.fail(lambda _: None)
    monkeypatch.setattr("rag_nodes.pipeline.run.MOST_FILES", 32)
    assert states(corpus.ingest()) == ["unchanged"] * 3 + ["read"] * 40


class CancelsBlack(TransformComponent):
    """Has a loop of its own, which was cancelled."""

    def __call__(self, nodes: Sequence[BaseNode], **_: Any) -> Sequence[BaseNode]:
        if any("black" in node.get_content() for node in nodes):
            raise asyncio.CancelledError
        return nodes


def test_a_step_whose_loop_was_cancelled_is_one_failed_document(corpus: FolderIngests) -> None:
    corpus.write("coffee.md", NEW)
    report = corpus.ingest(transformations=[CancelsBlack()])
    assert {file.name: file.status for file in report.files} == {
        **dict.fromkeys(["0.md", "1.md", "2.md"], "read"),
        "coffee.md": "incomplete",
    }
    assert "CancelledError" in str(list_documents(corpus)["coffee.md"].error)
