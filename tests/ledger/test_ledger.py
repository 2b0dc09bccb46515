"""What a ledger writes down is there again, and what does not hold any more is gone."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal

import pytest

from rag_nodes.ledger import CollectionRow, DepositRow, DocumentRow, FileRow, Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DAY = 24 * 3600.0


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path, clock: Clock) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite", clock=clock) as made:
        yield made


def file(path: str, *, corpus: str = "tea", documents: int = 1, content: str = "c") -> FileRow:
    return FileRow(corpus, path, 10, 77, content, "r", "read", documents)


def document(
    path: str, document_id: str, *, corpus: str = "tea", expires_at: float | None = None
) -> DocumentRow:
    return DocumentRow(
        corpus, path, document_id, "h", f"Name of {document_id}", path, 3, 400, None, expires_at
    )


def collection(name: str, corpus: str = "tea", dimension: int | None = None) -> CollectionRow:
    return CollectionRow(name, corpus, "FixedSizeNodeParser", "f" * 8, "{}", "lexical", dimension)


def deposit(name: str, document_id: str, chunks: int) -> DepositRow:
    return DepositRow(name, document_id, "h", chunks, 1, chunks * 100, 120)


def test_files_and_documents_are_there_again_after_closing(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    with Ledger(place) as first:
        first.record(
            file("/d/crawl.json", documents=2),
            [document("/d/crawl.json", "z"), document("/d/crawl.json", "a")],
        )

    with Ledger(place) as again:
        assert again.files("tea") == {"/d/crawl.json": file("/d/crawl.json", documents=2)}
        [documents] = again.documents("tea").values()
        assert [one.id for one in documents] == ["z", "a"], "in the order of the file"
        assert again.files("coffee") == {}
        again.check()


def test_documents_that_a_file_has_no_more_stay_known_without_a_hash(ledger: Ledger) -> None:
    pages = [document("/a", one) for one in ("page 2", "page 1", "page 3")]
    ledger.record(file("/a", documents=3), pages)

    ledger.record(file("/a", documents=2), pages[:2])

    [known] = ledger.known("tea", ["/a", "/never seen"]).values()
    assert known.file == file("/a", documents=2)
    assert known.documents == [*pages[:2], pages[2]._replace(source_hash="")]


def test_a_document_is_known_before_its_file_is_and_stays_as_it_is_known(ledger: Ledger) -> None:
    ledger.announce(document("/a", "new", expires_at=DAY))
    [announced] = ledger.vanished("tea")
    assert announced == document("/a", "new")._replace(source_hash="")

    ledger.record(file("/a"), [document("/a", "new")])
    ledger.announce(document("/a", "new")._replace(source_hash="later"))

    assert ledger.vanished("tea") == []
    assert ledger.documents("tea") == {"/a": [document("/a", "new")]}


def test_what_is_written_together_is_there_as_a_whole_or_not_at_all(ledger: Ledger) -> None:
    def both(then: type[Exception] | None) -> None:
        with ledger.together():
            ledger.record(file("/a"), [document("/a", "one")])
            ledger.record(file("/b"), [document("/b", "two")])
            if then:
                raise then

    with pytest.raises(KeyError):
        both(KeyError)
    assert ledger.documents("tea") == {}
    both(None)
    assert [*ledger.documents("tea")] == ["/a", "/b"]


@pytest.mark.parametrize("state", ["failed", "empty"])
def test_documents_of_a_file_that_fails_stay_as_they_are(
    ledger: Ledger, state: Literal["failed", "empty"]
) -> None:
    ledger.record(file("/a"), [document("/a", "one")])

    ledger.record(file("/a", documents=0)._replace(state=state, error="it broke"), [])

    [known] = ledger.known("tea", ["/a"]).values()
    assert known.file.error == "it broke"
    assert known.documents == [document("/a", "one")]


def test_files_that_could_not_be_read_are_those_of_one_corpus_or_of_all(ledger: Ledger) -> None:
    for corpus in ("tea", "coffee"):
        failed = file("/a", corpus=corpus, documents=0)._replace(state="failed", error="no")
        ledger.record(failed, [])
        ledger.record(file("/b", corpus=corpus), [document("/b", "b", corpus=corpus)])

    assert [(one.corpus, one.path) for one in ledger.unread("tea")] == [("tea", "/a")]
    assert [one.corpus for one in ledger.unread()] == ["coffee", "tea"]


def test_documents_of_emptied_files_and_those_that_files_have_no_more_have_vanished(
    ledger: Ledger,
) -> None:
    ledger.record(file("/a"), [document("/a", "emptied")])
    ledger.record(file("/b", documents=2), [document("/b", "kept"), document("/b", "gone")])
    ledger.record(file("/c"), [document("/c", "unread")])

    ledger.record(file("/a", documents=0)._replace(state="empty", error="no text"), [])
    ledger.record(file("/b"), [document("/b", "kept")])
    ledger.record(file("/c", documents=0)._replace(state="failed", error="torn"), [])

    assert [one.id for one in ledger.vanished("tea")] == ["emptied", "gone"]


def test_a_thousand_files_are_looked_up_at_once(ledger: Ledger) -> None:
    paths = [f"/{number}" for number in range(1001)]
    for path in paths:
        ledger.record(file(path), [document(path, f"id {path}")])
    ledger.settle(deposit("one", f"id {path}", 1) for path in paths)

    assert set(ledger.known("tea", paths)) == set(paths)
    assert len(ledger.deposits("one", [f"id {path}" for path in paths])) == 1001
    assert set(ledger.deposits("one", ["id /7", "no such"])) == {"id /7"}
    assert ledger.known("coffee", paths) == {}


def test_documents_of_the_same_bytes_are_twins(ledger: Ledger) -> None:
    ledger.record(file("/a", content="same"), [document("/a", "a")])
    ledger.record(file("/b", content="other"), [document("/b", "b")])

    assert ledger.twins("tea", "same") == ["a"]
    assert ledger.twins("coffee", "same") == []


def test_a_file_that_was_only_touched_keeps_its_documents(ledger: Ledger) -> None:
    ledger.record(file("/a"), [document("/a", "one")])

    ledger.refresh([file("/a")._replace(mtime_ns=88)])

    [known] = ledger.known("tea", ["/a"]).values()
    assert known.file.mtime_ns == 88
    assert known.documents == [document("/a", "one")]


def test_collections_come_with_sums_the_one_used_last_first(ledger: Ledger, clock: Clock) -> None:
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


def test_using_a_collection_again_keeps_when_it_was_made(ledger: Ledger, clock: Clock) -> None:
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


def test_a_collection_can_be_written_down_anew(ledger: Ledger) -> None:
    ledger.settle([deposit("one", "a", 3), deposit("other", "a", 9)])

    ledger.replace("one", [deposit("one", "b", 5)])

    assert set(ledger.deposits("one")) == {"b"}
    assert ledger.is_true("other", 9)


def test_what_is_forgotten_is_gone_and_nothing_else(ledger: Ledger) -> None:
    for path in ("/a", "/b", "/c"):
        ledger.record(file(path), [document(path, path[1:])])
    for name in ("one", "two"):
        ledger.use(collection(name))
        ledger.settle([deposit(name, one, 2) for one in "abc"])

    ledger.forget_documents("tea", ["a"])
    ledger.forget_files("tea", ["/b"])
    ledger.forget_deposits("one", ["a", "b"])
    ledger.forget_collection("two")

    assert set(ledger.files("tea")) == {"/c"}
    assert set(ledger.documents("tea")) == {"/c"}
    assert set(ledger.deposits("one")) == {"c"}
    assert ledger.deposits("two") == {}
    assert [one.row.name for one in ledger.collections()] == ["one"]


def test_a_file_of_many_documents_stays_while_one_of_them_does(ledger: Ledger) -> None:
    ledger.record(file("/a", documents=2), [document("/a", "x"), document("/a", "y")])

    ledger.forget_documents("tea", ["x"])

    assert set(ledger.files("tea")) == {"/a"}


def test_documents_expire_at_their_time(ledger: Ledger, clock: Clock) -> None:
    web = document("/a", "web", expires_at=clock.now + DAY)
    ledger.record(file("/a"), [web, document("/a", "file")])
    assert ledger.expired("tea") == []

    clock.now += DAY

    assert ledger.expired("tea") == [web]


def test_a_transaction_that_fails_leaves_nothing(ledger: Ledger) -> None:
    def rows() -> Iterator[DepositRow]:
        yield deposit("one", "a", 1)
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
            ledger.unsettle("one", [f"{number}.{one}"])
            ledger.settle([deposit("one", f"{number}.{one}", 1)])

    with Ledger(place) as first, Ledger(place) as second, ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8), [first, second] * 4))

        assert first.is_true("one", 160)
        assert second.is_true("one", 160)
