"""What a ledger knows of files and their documents, and what does not hold any more."""

from types import SimpleNamespace

import pytest

from rag_nodes.pipeline.ledger import DocumentRow, FileRow, Ledger, StoredDocument


def document(path: str, document_id: str, corpus: str = "tea") -> DocumentRow:
    return DocumentRow(corpus, path, document_id, "h", f"Name of {document_id}", path, 3, 400)


def read_rows(
    path: str, *ids: str, corpus: str = "tea", content: str = "c"
) -> tuple[FileRow, list[DocumentRow]]:
    file = FileRow(corpus, path, 10, 77, content, "r", "read", len(ids))
    return file, [document(path, document_id, corpus) for document_id in ids]


def unread_rows(path: str, corpus: str = "tea") -> tuple[FileRow, list[DocumentRow]]:
    file, _ = read_rows(path, corpus=corpus)
    return file._replace(state="failed", error="torn"), []


def test_documents_without_a_file_are_listed_with_their_path(
    ledger: Ledger,
) -> None:
    ledger.record(*read_rows("/a", "page 2", "page 1", "page 3"))
    ledger.record(*read_rows("/b", "page 2"))
    ledger.settle([StoredDocument("c", f"page {n}", "v") for n in (1, 2, 3)])
    assert ledger.unheld("tea") == []

    ledger.record(*read_rows("/a", "page 1"))

    assert ledger.known("tea", ["/a", "/never seen"]) == {"/a": read_rows("/a", "page 1")}
    assert ledger.unheld("tea") == [("page 3", "/a", None)]
    assert ledger.unheld("coffee") == []
    assert ledger.unheld("tea", ["/a"]) == [("page 1", "/a", "/a"), ("page 3", "/a", None)]


def test_documents_of_unfinished_files_are_listed(ledger: Ledger) -> None:
    ledger.open("c", ["new", "given"], {"new": "/a"})
    assert ledger.unheld("tea") == [("new", "/a", None)]

    ledger.adopt("c", [StoredDocument("c", "new", "")])
    assert ledger.unheld("tea") == [("new", "/a", None)]

    ledger.record(*read_rows("/a", "new"))
    assert ledger.unheld("tea") == []


def test_writes_are_atomic(ledger: Ledger) -> None:
    def both(then: type[Exception] | None) -> None:
        with ledger.transaction():
            ledger.record(*read_rows("/a", "one"))
            ledger.settle([StoredDocument("c", "one", "h", 1)])
            if then:
                raise then

    with pytest.raises(KeyError):
        both(KeyError)
    assert (ledger.known("tea"), ledger.stored("c")) == ({}, {})
    both(None)
    assert ([*ledger.known("tea")], [*ledger.stored("c")]) == (["/a"], ["one"])


def test_files_that_could_not_be_read_are_those_of_one_corpus_or_of_all(ledger: Ledger) -> None:
    for corpus in ("tea", "coffee"):
        ledger.record(*unread_rows("/a", corpus=corpus))
        ledger.record(*read_rows("/b", "b", corpus=corpus))

    assert [(file.corpus, file.path) for file in ledger.unread("tea")] == [("tea", "/a")]
    assert [unread_file.corpus for unread_file in ledger.unread()] == ["coffee", "tea"]


def test_a_file_is_forgotten_with_the_last_of_its_documents(ledger: Ledger) -> None:
    ledger.record(*unread_rows("/never had one"))
    ledger.record(*read_rows("/a", "x", "y"))

    for document_id, left in (("x", ["/a", "/never had one"]), ("y", ["/never had one"])):
        ledger.forget_documents("tea", [document_id])
        assert ledger.paths("tea") == left


def test_documents_of_a_file_that_fails_stay_as_they_are(ledger: Ledger) -> None:
    ledger.record(*read_rows("/a", "one"))
    ledger.settle([StoredDocument("c", "one", "v")])

    ledger.record(*unread_rows("/a"))

    [recorded] = ledger.known("tea", ["/a"]).values()
    assert recorded.file.error == "torn"
    assert recorded.documents == [document("/a", "one")]
    assert not ledger.unheld("tea")


def test_a_document_is_known_as_each_file_has_it(ledger: Ledger) -> None:
    for path, ids in (("/a", ["both"]), ("/b", ["both", "other"])):
        ledger.record(*read_rows(path, *ids))

    assert ledger.documents("tea") == {
        "both": [document("/a", "both"), document("/b", "both")],
        "other": [document("/b", "other")],
    }
    assert [*ledger.documents("tea", ["other", "unheard of"])] == ["other"]


def test_a_file_has_failed_since_it_did_so_first(ledger: Ledger, clock: SimpleNamespace) -> None:
    def since() -> float | None:
        return ledger.known("tea")["/a"].file.failed_at

    for clock.now in (100.0, 200.0):
        ledger.record(*unread_rows("/a"))
        assert since() == 100.0
    ledger.record(*read_rows("/a", "a"))
    assert since() is None
    clock.now = 300.0
    ledger.record(*unread_rows("/a"))
    assert since() == 300.0
    ledger.record(unread_rows("/a")[0]._replace(failed_at=7.0), [])
    assert since() == 7.0, "as another ledger knows it"


def test_forgetting_removes_only_the_named_rows(ledger: Ledger) -> None:
    for letter in "abc":
        ledger.record(*read_rows(f"/{letter}", letter))
    ledger.settle([StoredDocument("c", letter, "v") for letter in "abc"])

    ledger.forget_documents("tea", ["a"])
    ledger.forget_files("tea", ["/b"])
    ledger.forget_stored("c", ["a", "b"])

    assert set(ledger.known("tea")) == {"/c"}
    assert set(ledger.documents("tea")) == set(ledger.stored("c")) == {"c"}
