"""What is stored, as the store and its ledger say it together."""

import shutil
from pathlib import Path

import pytest
from kept_store import FIXED, HEADING, NOON, nodes_of

from rag_nodes.pipeline.ledger import DocumentRow, FileRow, Ledger
from rag_nodes.pipeline.upkeep import Inventory, ListedDocument, cleared
from rag_nodes.store import collection_name, open_store
from rag_nodes.store.edge.collection import Collection


def listed(inventory: Inventory) -> dict[str, ListedDocument]:
    found = inventory.documents("tests", inventory.collections("tests"))
    return {collection.name: collection for collection in found}


def test_a_collection_says_what_is_in_it_and_from_when(known: Inventory) -> None:
    (fixed, _) = map(known.status, known.collections())
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
    assert {file.state for file in listed(unknown).values()} == {"stored"}
    assert listed(unknown)["a.md"].source == "/docs/a.md"
    assert listed(unknown)["a.md"].chunks == {FIXED: 3, HEADING: 3}


def test_a_ledger_that_agrees_spares_a_look_at_every_point(
    known: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Collection, "select", None)
    found = listed(known)
    assert found["a.md"].pages == 7
    assert (found["a.md"].state, found["b.md"].state) == ("stored", "expired")
    assert found["a.md"].stored_at == NOON


def test_after_a_killed_run_only_open_documents_are_checked(
    known: Inventory, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    known.store.delete(HEADING, [nodes_of("a.md", 3)[0].node_id])
    ledger.open(HEADING, ["a.md", "new.md"])
    monkeypatch.setattr(type(known.store), "documents", None)
    found = listed(known)
    assert [(column.name, column.state, column.chunks[HEADING]) for column in found.values()] == [
        ("a.md", "incomplete", 2),
        ("b.md", "expired", 2),
    ]


def test_documents_of_an_interrupted_ingest_are_incomplete_though_all_chunks_are_stored(
    known: Inventory, ledger: Ledger
) -> None:
    known.store.add(HEADING, nodes_of("new.md", 2))
    ledger.open(HEADING, ["a.md", "new.md"])
    found = listed(known)
    assert {found[name].state for name in ("a.md", "new.md")} == {"incomplete"}
    assert "interrupted, or is still running" in (found["new.md"].error or "")
    assert found["new.md"].chunks == {HEADING: 2}
    (_, heading) = map(known.status, known.collections())
    assert (heading.incomplete, heading.interrupted, heading.failed) == (2, 2, 0)


def test_a_ledger_that_differs_is_not_believed(known: Inventory) -> None:
    known.store.delete(HEADING, [nodes_of("a.md", 3)[0].node_id])
    found = listed(known)
    assert found["a.md"].state == "incomplete"
    assert found["a.md"].chunks[HEADING] == 2
    (_, heading) = map(known.status, known.collections())
    assert heading.incomplete == 1


def test_a_file_that_failed_is_listed_with_its_reason(known: Inventory, ledger: Ledger) -> None:
    ledger.record(
        FileRow("tests", "/docs/bad.pdf", 10, 1, "", "reading", "failed", 0, "it is torn"), []
    )
    bad = listed(known)["bad.pdf"]
    assert (bad.state, bad.error, bad.chunks) == ("failed", "it is torn", {})


def test_a_document_that_is_stored_by_one_parser_only_is_incomplete_by_its_own_chunks(
    known: Inventory,
) -> None:
    known.store.add(FIXED, nodes_of("c.md", 1, total=2))
    assert listed(known)["c.md"].state == "incomplete"
    assert listed(known)["c.md"].chunks == {FIXED: 1}


def test_corpora_are_kept_apart(known: Inventory) -> None:
    other = collection_name("others", "f1", "HeadingParser", "fake-2")
    known.store.add(other, nodes_of("z.md", 1))
    assert [collection.info.name for collection in known.collections("others")] == [other]
    assert "z.md" not in listed(known)


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
    known: Inventory, ledger: Ledger
) -> None:
    read_anew(ledger, "a.md", "new hash")
    found = listed(known)["a.md"]
    assert (found.state, found.chunks) == ("incomplete", {FIXED: 3, HEADING: 3})
    assert found.error == "a previous version of it is stored; ingest it again"
    assert [known.status(collection).incomplete for collection in known.collections()] == [1, 1]


def test_a_document_that_was_read_and_of_which_nothing_is_stored_is_incomplete(
    known: Inventory, ledger: Ledger
) -> None:
    read_anew(ledger, "new.md", "its hash")
    assert listed(known)["new.md"].error == "nothing of it is stored; ingest it again"
    (one, _) = known.collections("tests")
    assert "new.md" not in {found.name for found in known.documents("tests", [one])}


def test_a_document_that_its_file_has_no_more_stays_listed_until_it_is_removed(
    known: Inventory, ledger: Ledger
) -> None:
    ledger.record(FileRow("tests", "/docs/a.md", 10, 1, "other", "reading", "read", 0), [])
    assert listed(known)["a.md"].state == "stored"


def test_on_a_full_disk_the_ledger_says_what_is_stored(
    known: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [known.status(collection) for collection in known.collections()]
    known.store.close()
    usage = shutil.disk_usage("/")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage._replace(free=1 << 20))
    with open_store(known.store.location) as full:
        inventory = Inventory(full, known.ledger)
        for collection, before in zip(inventory.collections(), whole, strict=True):
            status = inventory.status(collection)
            assert "free some space" in status.trouble
            assert (status.chunks, status.documents) == (before.chunks, before.documents)
        assert listed(inventory)["a.md"].chunks == {FIXED: 3, HEADING: 3}
        removed = cleared(inventory, inventory.collections()[:1])
        assert [(removal.documents, removal.nodes) for removal in removed] == [(2, 5)]
        assert full.engine.names() == [HEADING]
