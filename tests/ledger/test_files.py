"""What a ledger knows of files and their documents, and what does not hold any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from rag_nodes.ledger import DepositRow, DocumentRow, FileRow, Ledger

if TYPE_CHECKING:
    from pathlib import Path
    from types import SimpleNamespace

DAY = 24 * 3600.0


def document(path: str, document_id: str, corpus: str = "tea") -> DocumentRow:
    return DocumentRow(corpus, path, document_id, "h", f"Name of {document_id}", path, 3, 400)


def read(
    path: str, *ids: str, corpus: str = "tea", content: str = "c"
) -> tuple[FileRow, list[DocumentRow]]:
    file = FileRow(corpus, path, 10, 77, content, "r", "read", len(ids))
    return file, [document(path, one, corpus) for one in ids]


def unread(
    path: str, state: Literal["failed", "empty"] = "failed", corpus: str = "tea"
) -> tuple[FileRow, list[DocumentRow]]:
    file, _ = read(path, corpus=corpus)
    return file._replace(state=state, error="torn"), []


def test_files_and_documents_are_there_again_after_closing(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    with Ledger(place) as first:
        first.record(*read("/d/crawl.json", "z", "a"))

    with Ledger(place) as again:
        assert again.files("tea") == {"/d/crawl.json": read("/d/crawl.json", "z", "a")[0]}
        [documents] = again.documents("tea").values()
        assert [one.id for one in documents] == ["z", "a"], "in the order of the file"
        assert again.files("coffee") == {}
        again.check()


def test_documents_that_a_file_has_no_more_stay_known_without_a_hash(ledger: Ledger) -> None:
    _, pages = read("/a", "page 2", "page 1", "page 3")
    ledger.record(*read("/a", "page 2", "page 1", "page 3"))

    ledger.record(*read("/a", "page 2", "page 1"))

    [known] = ledger.known("tea", ["/a", "/never seen"]).values()
    assert known.file.documents == 2
    assert known.documents == [*pages[:2], pages[2]._replace(source_hash="")]


def test_a_document_is_known_before_its_file_is_and_stays_as_it_is_known(ledger: Ledger) -> None:
    new = document("/a", "new")
    ledger.announce(new._replace(expires_at=DAY))
    assert ledger.vanished("tea") == [new._replace(source_hash="")]

    ledger.record(*read("/a", "new"))
    ledger.announce(new._replace(source_hash="later"))

    assert ledger.vanished("tea") == []
    assert ledger.documents("tea") == {"/a": [new]}


def test_what_is_written_together_is_there_as_a_whole_or_not_at_all(ledger: Ledger) -> None:
    def both(then: type[Exception] | None) -> None:
        with ledger.together():
            ledger.record(*read("/a", "one"))
            ledger.settle([DepositRow("c", "one", "h", 1)])
            if then:
                raise then

    with pytest.raises(KeyError):
        both(KeyError)
    assert (ledger.documents("tea"), ledger.deposits("c")) == ({}, {})
    both(None)
    assert ([*ledger.documents("tea")], [*ledger.deposits("c")]) == (["/a"], ["one"])


@pytest.mark.parametrize("state", ["failed", "empty"])
def test_documents_of_a_file_that_fails_stay_as_they_are(
    ledger: Ledger, state: Literal["failed", "empty"]
) -> None:
    ledger.record(*read("/a", "one"))

    ledger.record(*unread("/a", state))

    [known] = ledger.known("tea", ["/a"]).values()
    assert known.file.error == "torn"
    assert known.documents == [document("/a", "one")]


def test_files_that_could_not_be_read_are_those_of_one_corpus_or_of_all(ledger: Ledger) -> None:
    for corpus in ("tea", "coffee"):
        ledger.record(*unread("/a", corpus=corpus))
        ledger.record(*read("/b", "b", corpus=corpus))

    assert [(one.corpus, one.path) for one in ledger.unread("tea")] == [("tea", "/a")]
    assert [one.corpus for one in ledger.unread()] == ["coffee", "tea"]


def test_a_file_has_failed_since_it_did_so_first(ledger: Ledger, clock: SimpleNamespace) -> None:
    def since() -> float | None:
        return ledger.files("tea")["/a"].failed_at

    for clock.now in (100.0, 200.0):
        ledger.record(*unread("/a"))
        assert since() == 100.0
    ledger.record(*read("/a", "a"))
    assert since() is None
    clock.now = 300.0
    ledger.record(*unread("/a"))
    assert since() == 300.0
    ledger.record(unread("/a")[0]._replace(failed_at=7.0), [])
    assert since() == 7.0, "as another ledger knows it"


def test_documents_of_emptied_files_and_those_that_files_have_no_more_have_vanished(
    ledger: Ledger,
) -> None:
    ledger.record(*read("/a", "emptied"))
    ledger.record(*read("/b", "kept", "gone"))
    ledger.record(*read("/c", "unread"))
    ledger.record(*read("/d", "left", "not read"))

    ledger.record(*unread("/a", "empty"))
    ledger.record(*read("/b", "kept"))
    ledger.record(*unread("/c"))
    file, documents = read("/d", "left")
    ledger.record(file._replace(state="partial"), documents)

    assert [one.id for one in ledger.vanished("tea")] == ["emptied", "gone", "not read"]
    assert [one.id for one in ledger.holders("tea", ["left", "not read"])] == ["left"]


def test_a_thousand_files_are_looked_up_at_once(ledger: Ledger) -> None:
    paths = [f"/{number}" for number in range(1001)]
    with ledger.together():
        for path in paths:
            ledger.record(*read(path, f"id {path}"))
    ids = [f"id {path}" for path in paths]
    ledger.settle(DepositRow("one", one, "h", 1) for one in ids)

    assert set(ledger.known("tea", paths)) == set(paths)
    assert [*ledger.paths("tea")] == sorted(paths)
    assert len(ledger.deposits("one", ids)) == 1001
    assert set(ledger.deposits("one", ["id /7", "no such"])) == {"id /7"}
    assert ledger.known("coffee", paths) == {}


def test_documents_of_the_same_bytes_are_twins(ledger: Ledger) -> None:
    ledger.record(*read("/a", "a", "former", content="same"))
    ledger.record(*read("/a", "a", content="same"))
    ledger.record(*read("/b", "b", content="other"))

    assert ledger.twins("tea", "same") == ["a"]
    assert ledger.twins("coffee", "same") == []


def test_a_file_that_was_only_touched_keeps_its_documents(ledger: Ledger) -> None:
    file, _ = read("/a", "one")
    ledger.record(*read("/a", "one"))

    ledger.refresh([file._replace(mtime_ns=88)])

    [known] = ledger.known("tea", ["/a"]).values()
    assert known.file.mtime_ns == 88
    assert known.documents == [document("/a", "one")]


def test_a_file_is_forgotten_with_the_last_of_its_documents(ledger: Ledger) -> None:
    ledger.record(*unread("/never had one"))
    ledger.record(*read("/a", "x", "y"))

    for document_id, left in (("x", ["/a", "/never had one"]), ("y", ["/never had one"])):
        ledger.forget_documents("tea", [document_id])
        assert list(ledger.paths("tea")) == left


def test_documents_expire_at_their_time(ledger: Ledger, clock: SimpleNamespace) -> None:
    web = document("/a", "web")._replace(expires_at=clock.now + DAY)
    ledger.record(read("/a", "web", "file")[0], [web, document("/a", "file")])
    assert ledger.expired("tea") == []

    clock.now += DAY

    assert ledger.expired("tea") == [web]
