"""What a ledger knows of files and documents that failed, and since when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rag_nodes.ledger import CollectionRow, DepositRow, DocumentRow, FileRow, Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path, clock: Clock) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite", clock=clock) as made:
        made.use(CollectionRow("one", "tea", "Parser", "f", "{}", "lexical"))
        yield made


def failed(path: str, *, failed_at: float | None = None) -> FileRow:
    return FileRow("tea", path, 10, 77, "c", "r", "failed", 0, "torn", failed_at)


def read(
    path: str, *ids: str, source_hash: str = "h", corpus: str = "tea"
) -> tuple[FileRow, list[DocumentRow]]:
    documents = [DocumentRow(corpus, path, one, source_hash, one, path, None, 9) for one in ids]
    return FileRow(corpus, path, 10, 77, "c", "r", "read", len(ids)), documents


def test_a_file_has_failed_since_it_did_so_first(ledger: Ledger, clock: Clock) -> None:
    def since() -> float | None:
        return ledger.files("tea")["/a"].failed_at

    for clock.now in (100.0, 200.0):
        ledger.record(failed("/a"), [])
        assert since() == 100.0
    ledger.record(*read("/a", "a"))
    assert since() is None
    clock.now = 300.0
    ledger.record(failed("/a"), [])
    assert since() == 300.0
    ledger.record(failed("/a", failed_at=7.0), [])
    assert since() == 7.0, "as another ledger knows it"


def test_a_file_without_documents_is_not_forgotten_with_those_of_others(ledger: Ledger) -> None:
    ledger.record(failed("/a"), [])
    ledger.record(*read("/b", "b"))

    ledger.forget_documents("tea", ["b"])

    assert list(ledger.paths("tea")) == ["/a"]


def test_of_a_file_that_was_read_in_part_the_other_documents_have_vanished(ledger: Ledger) -> None:
    ledger.record(*read("/a", "x", "y"))
    file, documents = read("/a", "x")

    ledger.record(file._replace(state="partial"), documents)

    assert [one.id for one in ledger.vanished("tea")] == ["y"]
    assert [one.id for one in ledger.holders("tea", ["x", "y"])] == ["x"]
    assert ledger.twins("tea", "c") == ["x"]


@pytest.mark.parametrize("is_complete", [True, False])
def test_of_a_document_that_failed_at_once_nothing_is_stored_or_the_store_is_asked(
    ledger: Ledger, *, is_complete: bool
) -> None:
    ledger.fail("one", {"a": "no"}, is_complete=is_complete)

    row = ledger.deposits("one")["a"]
    assert (row.error, row.failed_at, row.is_empty) == ("no", 100.0, True)
    assert row.stored_at == (100.0 if is_complete else None)
    assert ledger.is_true("one", 0) is is_complete


def test_a_document_has_failed_since_it_did_so_first_until_it_is_stored(
    ledger: Ledger, clock: Clock
) -> None:
    stored = DepositRow("one", "a", "h", chunks=3)
    for clock.now, why in ((100.0, "no"), (200.0, "never")):
        ledger.fail("one", {"a": why})
        row = ledger.deposits("one")["a"]
        assert (row.error, row.failed_at) == (why, 100.0)

    ledger.confirm([stored])
    row = ledger.deposits("one")["a"]
    assert (row.chunks, row.error, row.stored_at) == (3, "never", 200.0)

    ledger.settle([stored._replace(stored_at=150.0)])
    assert ledger.deposits("one")["a"] == stored._replace(stored_at=150.0)


def test_what_is_stored_as_a_file_of_the_same_corpus_has_it_is_no_failure(ledger: Ledger) -> None:
    for one in ("former", "there", "elsewhere", "unread"):
        ledger.settle([DepositRow("one", one, "" if one == "unread" else "h", chunks=1)])
    ledger.record(*read("/a", "former", source_hash="new"))
    ledger.record(*read("/b", "there"))
    ledger.record(*read("/c", "elsewhere", corpus="coffee"))
    ledger.announce(read("/d", "unread")[1][0])
    ledger.fail("one", dict.fromkeys(["former", "there", "elsewhere", "unread"], "no"))

    failures = {one.document_id for one in ledger.failures("one")}

    assert failures == {"former", "elsewhere", "unread"}


@pytest.mark.parametrize("ids", [None, ["a", "b"]])
def test_a_collection_that_holds_nothing_keeps_why_documents_failed(
    ledger: Ledger, ids: list[str] | None
) -> None:
    ledger.settle(DepositRow("one", one, "h", chunks=1, stored_at=1.0) for one in "ab")
    ledger.fail("one", {"b": "no"})

    ledger.empty("one", ids)

    [left] = ledger.deposits("one").values()
    assert (left.document_id, left.is_empty, left.error) == ("b", True, "no")
    assert left.stored_at == 100.0


def test_a_document_of_parents_alone_is_stored(ledger: Ledger) -> None:
    ledger.settle([DepositRow("one", "a", "h", parents=1)])
    ledger.fail("one", {"b": "no"})
    [sums] = ledger.collections()
    assert (sums.documents, sums.chunks) == (1, 0)
