"""What is stored, as the store and its ledger say it together."""

import shutil
from pathlib import Path

import pytest
from kept_store import FIXED, HEADING, NOON, nodes_of

from rag_nodes.pipeline.ledger import DocumentRow, FileRow, Ledger
from rag_nodes.pipeline.upkeep import Inventory, ListedDocument, cleared
from rag_nodes.store import collection_name, open_store
from rag_nodes.store.edge.collection import Collection


def list_documents(inventory: Inventory) -> dict[str, ListedDocument]:
    documents = inventory.documents("tests", inventory.collections("tests"))
    return {collection.name: collection for collection in documents}


def test_a_collection_says_what_is_in_it_and_from_when(inventory: Inventory) -> None:
    (fixed, _) = map(inventory.status, inventory.collections())
    assert (fixed.corpus, fixed.parser, fixed.model) == ("tests", "FixedParser", "fake/2")
    assert (fixed.dimension, fixed.chunks, fixed.documents) == (2, 5, 2)
    assert (fixed.incomplete, fixed.expired) == (0, 1)
    assert (fixed.first_used, fixed.last_used) == (NOON, NOON)
    assert fixed.size is not None
    assert fixed.size > 0


def test_without_a_ledger_the_store_is_asked_and_times_are_unknown(unknown: Inventory) -> None:
    (fixed, _) = map(unknown.status, unknown.collections("tests"))
    assert (fixed.parser, fixed.model, fixed.documents) == ("FixedParser", "fake-2", 2)
    assert (fixed.first_used, fixed.fingerprint) == (None, None)
    assert {file.state for file in list_documents(unknown).values()} == {"stored"}
    assert list_documents(unknown)["a.md"].source == "/docs/a.md"
    assert list_documents(unknown)["a.md"].chunks == {FIXED: 3, HEADING: 3}


def test_a_ledger_that_agrees_spares_a_look_at_every_point(
    inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Collection, "select", None)
    documents = list_documents(inventory)
    assert documents["a.md"].pages == 7
    assert (documents["a.md"].state, documents["b.md"].state) == ("stored", "expired")
    assert documents["a.md"].stored_at == NOON


def test_after_a_killed_run_only_open_documents_are_checked(
    inventory: Inventory, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    inventory.store.delete(HEADING, [nodes_of("a.md", 3)[0].node_id])
    ledger.open(HEADING, ["a.md", "new.md"])
    monkeypatch.setattr(type(inventory.store), "documents", None)
    documents = list_documents(inventory)
    assert [
        (column.name, column.state, column.chunks[HEADING]) for column in documents.values()
    ] == [
        ("a.md", "incomplete", 2),
        ("b.md", "expired", 2),
    ]


def test_documents_of_an_interrupted_ingest_are_incomplete_though_all_chunks_are_stored(
    inventory: Inventory, ledger: Ledger
) -> None:
    inventory.store.add(HEADING, nodes_of("new.md", 2))
    ledger.open(HEADING, ["a.md", "new.md"])
    documents = list_documents(inventory)
    assert {documents[name].state for name in ("a.md", "new.md")} == {"incomplete"}
    assert "interrupted, or is still running" in (documents["new.md"].error or "")
    assert documents["new.md"].chunks == {HEADING: 2}
    (_, heading) = map(inventory.status, inventory.collections())
    assert (heading.incomplete, heading.interrupted, heading.failed) == (2, 2, 0)


def test_a_ledger_that_differs_is_not_believed(inventory: Inventory) -> None:
    inventory.store.delete(HEADING, [nodes_of("a.md", 3)[0].node_id])
    documents = list_documents(inventory)
    assert documents["a.md"].state == "incomplete"
    assert documents["a.md"].chunks[HEADING] == 2
    (_, heading) = map(inventory.status, inventory.collections())
    assert heading.incomplete == 1


def test_a_file_that_failed_is_listed_with_its_reason(inventory: Inventory, ledger: Ledger) -> None:
    ledger.record(
        FileRow("tests", "/docs/bad.pdf", 10, 1, "", "reading", "failed", 0, "it is torn"), []
    )
    bad = list_documents(inventory)["bad.pdf"]
    assert (bad.state, bad.error, bad.chunks) == ("failed", "it is torn", {})


def test_a_document_that_is_stored_by_one_parser_only_is_incomplete_by_its_own_chunks(
    inventory: Inventory,
) -> None:
    inventory.store.add(FIXED, nodes_of("c.md", 1, total=2))
    assert list_documents(inventory)["c.md"].state == "incomplete"
    assert list_documents(inventory)["c.md"].chunks == {FIXED: 1}


def test_corpora_are_kept_apart(inventory: Inventory) -> None:
    other = collection_name("others", "f1", "HeadingParser", "fake-2")
    inventory.store.add(other, nodes_of("z.md", 1))
    assert [collection.info.name for collection in inventory.collections("others")] == [other]
    assert "z.md" not in list_documents(inventory)


def test_parents_are_counted_apart(tmp_path: Path, blank: Ledger) -> None:
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo

    child, parent = nodes_of("p.md", 2, total=1)
    child.relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=parent.node_id)
    parent.relationships[NodeRelationship.CHILD] = [RelatedNodeInfo(node_id=child.node_id)]
    parent.embedding = None
    with open_store(tmp_path / "family") as store:
        store.add(HEADING, [child, parent])
        inventory = Inventory(store, blank)
        (status,) = map(inventory.status, inventory.collections())
        assert (status.chunks, status.parents, status.incomplete) == (1, 1, 0)


def read_anew(ledger: Ledger, name: str, source_hash: str) -> None:
    path = f"/docs/{name}"
    file = FileRow("tests", path, 10, 1, "bytes", "reading", "read", 1)
    ledger.record(file, [DocumentRow("tests", path, name, source_hash, name, path, None, 9)])


def test_a_document_of_which_a_previous_version_alone_is_stored_is_incomplete(
    inventory: Inventory, ledger: Ledger
) -> None:
    read_anew(ledger, "a.md", "new hash")
    document = list_documents(inventory)["a.md"]
    assert (document.state, document.chunks) == ("incomplete", {FIXED: 3, HEADING: 3})
    assert document.error == "a previous version of it is stored; ingest it again"
    assert [inventory.status(collection).incomplete for collection in inventory.collections()] == [
        1,
        1,
    ]


def test_a_document_that_was_read_and_of_which_nothing_is_stored_is_incomplete(
    inventory: Inventory, ledger: Ledger
) -> None:
    read_anew(ledger, "new.md", "its hash")
    assert list_documents(inventory)["new.md"].error == "nothing of it is stored; ingest it again"
    (fixed, _) = inventory.collections("tests")
    assert "new.md" not in {document.name for document in inventory.documents("tests", [fixed])}


def test_a_document_that_its_file_has_no_more_stays_listed_until_it_is_removed(
    inventory: Inventory, ledger: Ledger
) -> None:
    ledger.record(FileRow("tests", "/docs/a.md", 10, 1, "other", "reading", "read", 0), [])
    assert list_documents(inventory)["a.md"].state == "stored"


def test_on_a_full_disk_the_ledger_says_what_is_stored(
    inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [inventory.status(collection) for collection in inventory.collections()]
    inventory.store.close()
    usage = shutil.disk_usage("/")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage._replace(free=1 << 20))
    with open_store(inventory.store.location) as full:
        full_inventory = Inventory(full, inventory.ledger)
        for collection, before in zip(full_inventory.collections(), whole, strict=True):
            status = full_inventory.status(collection)
            assert "free some space" in status.trouble
            assert (status.chunks, status.documents) == (before.chunks, before.documents)
        assert list_documents(full_inventory)["a.md"].chunks == {FIXED: 3, HEADING: 3}
        removed = cleared(full_inventory, full_inventory.collections()[:1])
        assert [(removal.documents, removal.nodes) for removal in removed] == [(2, 5)]
        assert full.engine.names() == [HEADING]
