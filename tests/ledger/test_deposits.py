"""What a ledger knows of collections, what they hold of documents, and why they do not."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from rag_nodes.ledger import CollectionRow, DepositRow, DocumentRow, FileRow, Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import SimpleNamespace

DAY = 24 * 3600.0


def collection(name: str, corpus: str = "tea", dimension: int | None = None) -> CollectionRow:
    return CollectionRow(name, corpus, "FixedSizeNodeParser", "f" * 8, "{}", "lexical", dimension)


def deposit(name: str, document_id: str, chunks: int = 1) -> DepositRow:
    return DepositRow(name, document_id, "h", chunks, 1, chunks * 100, 120)


def record(ledger: Ledger, document_id: str, source_hash: str = "h", corpus: str = "tea") -> None:
    path = f"/{document_id}"
    file = FileRow(corpus, path, 10, 77, "c", "r", "read", 1)
    ledger.record(file, [DocumentRow(corpus, path, document_id, source_hash, path, path, None, 9)])


def test_collections_come_with_sums_the_one_used_last_first(
    ledger: Ledger, clock: SimpleNamespace
) -> None:
    assert ledger.use(collection("earlier"))
    clock.now += DAY
    assert ledger.use(collection("later", dimension=384))
    ledger.settle([deposit("later", "a", 3), deposit("later", "b", 4), deposit("earlier", "a", 5)])

    newest, oldest = ledger.collections("tea")

    assert (newest.row.name, newest.documents, newest.chunks) == ("later", 2, 7)
    assert newest.row.dimension == 384
    assert (oldest.row.name, oldest.row.first_used) == ("earlier", clock.now - DAY)
    assert ledger.collections("coffee") == []
    assert len(ledger.collections()) == 2


def test_a_document_of_parents_alone_is_stored_and_one_that_failed_is_not(ledger: Ledger) -> None:
    ledger.use(collection("one"))
    ledger.settle([DepositRow("one", "a", "h", parents=1)])
    ledger.fail("one", {"b": "no"})
    [sums] = ledger.collections()
    assert (sums.documents, sums.chunks) == (1, 0)


def test_using_a_collection_again_keeps_when_it_was_made(
    ledger: Ledger, clock: SimpleNamespace
) -> None:
    ledger.use(collection("one", dimension=384))
    clock.now += DAY

    assert not ledger.use(collection("one"))

    [found] = ledger.collections()
    assert found.row.last_used - found.row.first_used == DAY
    assert found.row.dimension == 384


def test_a_collection_is_known_when_sums_agree_and_nothing_is_under_way(ledger: Ledger) -> None:
    assert ledger.is_true("one", 0)
    ledger.settle([deposit("one", "a", 3), deposit("one", "b", 4)])
    assert ledger.is_true("one", 7)
    assert not ledger.is_true("one", 8), "somebody else wrote"

    ledger.unsettle("one", ["b", "new"])

    assert not ledger.is_true("one", 7), "a run was killed while it wrote"
    found = ledger.deposits("one")
    assert found["a"].stored_at
    assert found["b"].stored_at is None
    assert found["b"].chunks == 4, "what was there before, as far as is known"
    assert found["new"] == DepositRow("one", "new", "")

    ledger.settle([deposit("one", "b", 2), deposit("one", "new", 1)])
    assert ledger.is_true("one", 6)


def test_a_ledger_is_of_the_last_state_of_each_collection(ledger: Ledger) -> None:
    ledger.mark("one", "first")
    ledger.mark("other", "first")
    ledger.mark("one", "second")

    assert ledger.marks("one") == {ledger.writer: "second"}
    assert ledger.marks("other") == {ledger.writer: "first"}
    ledger.forget_collection("one")
    assert ledger.marks("one") == {}


def test_a_ledger_is_current_by_its_marks_and_the_count_alone(ledger: Ledger) -> None:
    assert not ledger.is_current("one", {}, 0), "no mark was left"
    ledger.settle([deposit("one", "a", 3)])
    ledger.mark("one", "now")
    marks = {ledger.writer: "now"}

    assert ledger.is_current("one", marks, 3)
    assert not ledger.is_current("one", marks, 4)
    assert not ledger.is_current("one", {ledger.writer: "another copy"}, 3)
    assert not ledger.is_current("one", {**marks, "somebody else": "then"}, 3)
    ledger.intend("one", {"a": []})
    assert not ledger.is_current("one", marks, 3), "a run was killed while it wrote"


def test_what_is_forgotten_is_gone_and_nothing_else(ledger: Ledger) -> None:
    for one in "abc":
        record(ledger, one)
    for name in ("one", "two"):
        ledger.use(collection(name))
        ledger.settle([deposit(name, one) for one in "abc"])

    ledger.forget_documents("tea", ["a"])
    ledger.forget_files("tea", ["/b"])
    ledger.forget_deposits("one", ["a", "b"])
    ledger.forget_collection("two")

    assert set(ledger.files("tea")) == {"/c"}
    assert set(ledger.documents("tea")) == {"/c"}
    assert set(ledger.deposits("one")) == {"c"}
    assert ledger.deposits("two") == {}
    assert [one.row.name for one in ledger.collections()] == ["one"]


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
    ledger: Ledger, clock: SimpleNamespace
) -> None:
    stored = DepositRow("one", "a", "h", chunks=3)
    for clock.now, why in ((100.0, "no"), (200.0, "never")):
        ledger.fail("one", {"a": why})
        row = ledger.deposits("one")["a"]
        assert (row.error, row.failed_at) == (why, 100.0)

    ledger.adopt("one", [(stored, [])])
    row = ledger.deposits("one")["a"]
    assert (row.chunks, row.error, row.stored_at) == (3, "never", 200.0)

    ledger.settle([stored._replace(stored_at=150.0)])
    assert ledger.deposits("one")["a"] == stored._replace(stored_at=150.0)


def test_what_is_stored_as_a_file_of_the_same_corpus_has_it_is_no_failure(ledger: Ledger) -> None:
    ledger.use(collection("one"))
    documents = ("former", "there", "by other code", "elsewhere", "unread")
    for one in documents:
        version = {"unread": "", "by other code": "9a:h"}.get(one, "h")
        ledger.settle([DepositRow("one", one, version, chunks=1)])
    record(ledger, "former", "new")
    record(ledger, "there")
    record(ledger, "by other code")
    record(ledger, "elsewhere", corpus="coffee")
    ledger.announce(DocumentRow("tea", "/d", "unread", "h", "/d", "/d", None, 9))
    ledger.fail("one", dict.fromkeys(documents, "no"))

    failures = {one.document_id for one in ledger.failures("one")}

    assert failures == {"former", "elsewhere", "unread"}


def test_a_transaction_that_fails_leaves_nothing(ledger: Ledger) -> None:
    def rows() -> Iterator[DepositRow]:
        yield deposit("one", "a")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        ledger.settle(rows())

    assert ledger.deposits("one") == {}


def test_many_threads_and_two_openings_write_at_the_same_time(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    barrier = threading.Barrier(8)

    def write(number: int, ledger: Ledger) -> None:
        barrier.wait()
        for one in range(20):
            ledger.intend("one", {f"{number}.{one}": [f"{one}"]})
            ledger.settle([deposit("one", f"{number}.{one}")])

    with Ledger(place) as first, Ledger(place) as second, ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8), [first, second] * 4))

        assert first.totals("one") == second.totals("one") == (160, 160)
