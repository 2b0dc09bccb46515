"""Collections are copied one after another, and one that cannot be keeps no other from it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kept_store import FIXED, HEADING, nodes_of

from rag_nodes.core.errors import LedgerError, StoreDamagedError, StoreUnreachableError
from rag_nodes.pipeline.ledger import Ledger
from rag_nodes.pipeline.upkeep import Inventory, copied, removed
from rag_nodes.store import open_store
from rag_nodes.store.copying import CopyFailure, CopyReport
from rag_nodes.store.edge.collection import Collection


@pytest.fixture
def target(tmp_path: Path, blank: Ledger) -> Iterator[Inventory]:
    with open_store(tmp_path / "target") as store:
        yield Inventory(store, blank)


def copy_all(source: Inventory, target: Inventory, *, prune: bool = False) -> None:
    list(copied(source.store, target, source.collections("tests"), prune=prune))


def documents_of(inventory: Inventory) -> list[str]:
    return [
        document.name for document in inventory.documents("tests", inventory.collections("tests"))
    ]


def test_points_only_in_the_target_stay_until_pruned(
    inventory: Inventory, target: Inventory
) -> None:
    target.store.add(HEADING, nodes_of("only-there.md", 1))
    for _ in range(2):
        copy_all(inventory, target)
        assert documents_of(target) == ["a.md", "b.md", "only-there.md"]
    assert target.store.count(FIXED) == 5
    chosen = [
        document
        for document in inventory.documents("tests", inventory.collections())
        if document.name == "a.md"
    ]
    removed(inventory, "tests", chosen, inventory.collections())
    copy_all(inventory, target, prune=True)
    assert documents_of(target) == ["b.md"]


def test_a_ledger_of_the_target_forgets_what_is_about_to_be_written(
    inventory: Inventory, target: Inventory
) -> None:
    (fixed, heading) = inventory.collections("tests")
    copy_all(inventory, target)
    list(copied(target.store, inventory, [fixed]))
    assert [collection.name for collection in inventory.ledger.collections()] == [heading.info.name]


def test_a_collection_that_is_damaged_keeps_no_other_from_being_copied(
    inventory: Inventory, target: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Collection, "select", failing(StoreDamagedError("torn")))
    failure, report = copied(inventory.store, target, inventory.collections("tests"))
    assert isinstance(failure, CopyFailure)
    assert (failure.collection, str(failure.error)) == (FIXED, "torn")
    assert isinstance(report, CopyReport)
    assert (report.collection, report.sent) == (HEADING, report.points)


def test_a_store_that_does_not_answer_is_not_asked_for_the_next_collection(
    inventory: Inventory, target: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Collection, "select", failing(StoreUnreachableError("gone")))
    with pytest.raises(StoreUnreachableError, match="gone"):
        copy_all(inventory, target)
    assert target.store.count(HEADING) == 0


def test_a_ledger_that_fails_ends_the_copy(
    inventory: Inventory, target: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> None:
        raise LedgerError(f"{name} cannot be forgotten")

    monkeypatch.setattr(target.ledger, "forget_collection", fail)
    with pytest.raises(LedgerError, match=FIXED):
        copy_all(inventory, target)
    assert target.store.engine.names() == []


def failing(error: Exception) -> Callable[..., Any]:
    """How points are read where those of one collection cannot be."""
    select = Collection.select

    def read_or_fail(self: Collection, *rest: Any, **how: Any) -> Any:
        if repr(FIXED) in self.where:
            raise error
        return select(self, *rest, **how)

    return read_or_fail
