"""Documents are found by what they are called, and go from everywhere."""

import pytest
from kept_store import FIXED, HEADING, nodes_of

from rag_nodes.core.errors import AmbiguousDocumentError, DocumentMissingError
from rag_nodes.pipeline.ledger import FileRow, Ledger
from rag_nodes.pipeline.upkeep import Inventory, ListedDocument, cleared, documents_named, removed


def find_documents(inventory: Inventory, *words: str) -> list[ListedDocument]:
    listed = inventory.documents("tests", inventory.collections("tests"))
    return documents_named("tests", words, listed)


def take_out(inventory: Inventory, *words: str) -> list[tuple[str, int, int]]:
    collections = inventory.collections("tests")
    return [
        tuple(removal)
        for removal in removed(inventory, "tests", find_documents(inventory, *words), collections)
    ]


@pytest.mark.parametrize("word", ["a.md", "/docs/a.md", "./a.md"])
def test_a_document_is_found_by_id_path_or_name(
    inventory: Inventory, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pathlib.Path.resolve", lambda path: f"/docs/{path.name}")
    assert [question.id for question in find_documents(inventory, word)] == ["a.md"]


def test_it_goes_from_every_collection_and_from_the_ledger(
    inventory: Inventory, ledger: Ledger
) -> None:
    assert take_out(inventory, "/docs/a.md") == [(FIXED, 1, 3), (HEADING, 1, 3)]
    assert inventory.store.stored(HEADING, "a.md") == {}
    assert inventory.store.count(HEADING) == inventory.store.count(FIXED) == 2
    assert ledger.totals(HEADING) == (2, 0)
    assert ledger.paths("tests") == ["/docs/b.md"]


def test_it_goes_without_a_ledger_too(unknown: Inventory) -> None:
    assert take_out(unknown, "b.md") == [(FIXED, 1, 2), (HEADING, 1, 2)]


def test_a_name_that_several_files_have_is_refused_with_all_of_them(inventory: Inventory) -> None:
    for document, folder in (("one", "docs"), ("two", "elsewhere")):
        (node,) = nodes_of(document, 1, name="same.md")
        node.metadata["source"] = f"/{folder}/same.md"
        inventory.store.add(HEADING, [node])
    with pytest.raises(
        AmbiguousDocumentError, match=r"/docs/same\.md \(one\); /elsewhere/same\.md \(two\)"
    ):
        find_documents(inventory, "same.md")
    assert [question.id for question in find_documents(inventory, "/elsewhere/same.md")] == ["two"]


def test_a_missing_document_is_an_error_with_the_listing_command(inventory: Inventory) -> None:
    with pytest.raises(DocumentMissingError, match="rag-nodes list"):
        find_documents(inventory, "something else entirely")


def test_one_wrong_name_removes_nothing(inventory: Inventory) -> None:
    with pytest.raises(DocumentMissingError):
        take_out(inventory, "a.md", "missing.pdf")
    assert inventory.store.count(HEADING) == 5


def test_a_file_that_failed_is_forgotten(inventory: Inventory, ledger: Ledger) -> None:
    file = FileRow("tests", "/docs/bad.pdf", 10, 1, "", "reading", "failed", 0, "it is torn")
    ledger.record(file, [])
    take_out(inventory, "bad.pdf")
    assert "/docs/bad.pdf" not in ledger.paths("tests")


def test_a_removal_that_is_interrupted_is_completed_by_the_next(
    inventory: Inventory, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete_and_interrupt(collection: str, _: object) -> None:
        inventory.store.delete(collection, [nodes_of("a.md", 3)[0].node_id])
        raise KeyboardInterrupt

    monkeypatch.setattr(inventory.store, "delete_others", delete_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        take_out(inventory, "a.md")
    monkeypatch.undo()
    assert ledger.stored(FIXED)["a.md"].version == ""
    assert take_out(inventory, "a.md") == [(FIXED, 1, 2), (HEADING, 1, 3)]


def test_clearing_counts_no_documents_of_which_nothing_is_stored(
    inventory: Inventory, ledger: Ledger
) -> None:
    fixed, _ = inventory.collections("tests")
    first = next(iter(ledger.stored(FIXED).values()))
    failed = first._replace(document_id="failed.md", chunks=0, parents=0, error="the disk is full")
    ledger.settle([failed])
    assert inventory.status(fixed).documents == 2
    assert [tuple(removal) for removal in cleared(inventory, [fixed])] == [(FIXED, 2, 5)]


def test_clearing_drops_collections_and_the_last_one_takes_the_files_along(
    inventory: Inventory, ledger: Ledger
) -> None:
    fixed, heading = inventory.collections("tests")
    assert [tuple(removal) for removal in cleared(inventory, [fixed])] == [(FIXED, 2, 5)]
    assert ledger.paths("tests") == ["/docs/a.md", "/docs/b.md"]
    cleared(inventory, [heading])
    assert inventory.store.collections() == []
    assert [*ledger.collections(), *ledger.paths("tests")] == []


@pytest.mark.parametrize("ended", ["before", "after"])
def test_clearing_that_was_ended_is_completed_by_repeating_it(
    inventory: Inventory, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, ended: str
) -> None:
    drop = inventory.store.drop

    def drop_and_interrupt(name: str) -> None:
        if ended == "after":
            drop(name)
        raise KeyboardInterrupt

    for _ in range(2):
        monkeypatch.setattr(inventory.store, "drop", drop_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            cleared(inventory, inventory.collections("tests"))
        monkeypatch.undo()
    cleared(inventory, inventory.collections("tests"))
    assert inventory.store.collections() == []
    assert [*ledger.collections(), *ledger.paths("tests")] == []
    assert inventory.documents("tests", []) == []
