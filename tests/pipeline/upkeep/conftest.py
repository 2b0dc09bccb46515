"""A store in a folder with two documents in two collections, and a ledger that knows of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kept_store import FIXED, HEADING, NOON, nodes_of

from rag_nodes.pipeline.ledger import CollectionRow, DocumentRow, FileRow, Ledger, StoredDocument
from rag_nodes.pipeline.upkeep import Inventory
from rag_nodes.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store") as opened:
        for collection in (HEADING, FIXED):
            opened.add(collection, [*nodes_of("a.md", 3), *nodes_of("b.md", 2)])
        yield opened


@pytest.fixture
def ledger(tmp_path: Path, store: Store) -> Iterator[Ledger]:
    sizes = {"a.md": 3, "b.md": 2}
    with Ledger(tmp_path / "store" / "ledger.sqlite", clock=lambda: NOON) as opened:
        for name, parser, fingerprint in (
            (HEADING, "HeadingParser", "f1"),
            (FIXED, "FixedParser", "f2"),
        ):
            opened.use(CollectionRow(name, "tests", parser, fingerprint, "{}", "fake/2", 2))
            opened.settle(
                [
                    StoredDocument(name, document, f"hash of {document}", chunks, tokens=4 * chunks)
                    for document, chunks in sizes.items()
                ]
            )
            store.mark(name, {opened.writer(name): "an epoch"})
            opened.mark(name, "an epoch")
        for document in ("a.md", "b.md"):
            path = f"/docs/{document}"
            expires = NOON - 1 if document == "b.md" else None
            opened.record(
                FileRow("tests", path, 10, 1, "bytes", "reading", "read", 1),
                [
                    DocumentRow(
                        "tests",
                        path,
                        document,
                        f"hash of {document}",
                        document,
                        path,
                        7,
                        100,
                        None,
                        expires,
                    )
                ],
            )
        assert store.count(HEADING) == 5
        yield opened


@pytest.fixture
def inventory(store: Store, ledger: Ledger) -> Inventory:
    return Inventory(store, ledger)


@pytest.fixture
def blank() -> Iterator[Ledger]:
    with Ledger(":memory:") as opened:
        yield opened


@pytest.fixture
def unknown(store: Store, blank: Ledger) -> Inventory:
    return Inventory(store, blank)
