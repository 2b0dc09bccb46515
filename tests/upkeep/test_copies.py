"""A store that was copied is known to the ledger of the other one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from kept_store import FIXED, HEADING, nodes_of

from rag_nodes.errors import StoreDamagedError, StoreUnreachableError
from rag_nodes.ledger import Ledger
from rag_nodes.store import CopyReport, open_store
from rag_nodes.store.edge.collection import Collection
from rag_nodes.upkeep import CopyFailure, Inventory, copied, removed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Inventory]:
    with (
        open_store(tmp_path / "target") as store,
        Ledger(tmp_path / "target" / "ledger.sqlite") as ledger,
    ):
        yield Inventory(store, ledger)


def copy_all(source: Inventory, target: Inventory, *, prune: bool = False) -> None:
    list(copied(source, target, source.collections("tests"), prune=prune))


def test_both_ledgers_say_the_same_afterwards(known: Inventory, target: Inventory) -> None:
    copy_all(known, target)
    assert known.ledger is not None
    assert target.ledger is not None
    assert target.ledger.known("tests") == known.ledger.known("tests")
    assert [one.row and one.row.fingerprint for one in target.collections()] == ["f2", "f1"]
    for ours, theirs in zip(known.collections(), target.collections(), strict=True):
        assert target.ledger.stored(ours.info.name) == known.ledger.stored(ours.info.name)
        assert target.ledger.totals(ours.info.name) == (5, 5)
        both = (one.stored(held) for one, held in ((known, ours), (target, theirs)))
        first, second = ({id_: row.version for id_, row in of.items()} for of in both)
        assert first == second == {"a.md": "hash of a.md", "b.md": "hash of b.md"}


def test_what_only_the_target_has_stays_known(known: Inventory, target: Inventory) -> None:
    assert target.ledger is not None
    target.store.add(HEADING, nodes_of("only-there.md", 1))
    copy_all(known, target)
    copy_all(known, target)
    names = [one.name for one in target.documents("tests", target.collections("tests"))]
    assert names == ["a.md", "b.md", "only-there.md"]


def test_a_ledger_that_does_not_agree_with_its_store_tells_nothing(
    known: Inventory, target: Inventory
) -> None:
    known.store.add(HEADING, nodes_of("c.md", 1))
    copy_all(known, target)
    assert target.ledger is not None
    assert [one.name for one in target.ledger.collections()] == [FIXED]
    assert target.store.count(HEADING) == 6


def test_without_a_ledger_the_collections_are_copied_all_the_same(
    unknown: Inventory, target: Inventory
) -> None:
    copy_all(unknown, target)
    assert target.store.count(FIXED) == 5
    assert target.ledger is not None
    assert target.ledger.collections() == []


def test_what_was_pruned_is_not_there_any_more(known: Inventory, target: Inventory) -> None:
    copy_all(known, target)
    chosen = [one for one in known.documents("tests", known.collections()) if one.name == "a.md"]
    removed(known, "tests", chosen, known.collections())
    copy_all(known, target, prune=True)
    assert [target.stored(one).keys() for one in target.collections()] == [{"b.md"}] * 2
    assert target.ledger is not None
    assert target.ledger.totals(HEADING) == (2, 2)


def test_a_collection_that_is_damaged_keeps_no_other_from_being_copied(
    known: Inventory, target: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Collection, "select", failing(StoreDamagedError("torn")))
    failure, report = copied(known, target, known.collections("tests"))
    assert isinstance(failure, CopyFailure)
    assert (failure.collection, str(failure.error)) == (FIXED, "torn")
    assert isinstance(report, CopyReport)
    assert (report.collection, report.sent) == (HEADING, report.points)
    assert target.ledger is not None
    assert [one.name for one in target.ledger.collections()] == [HEADING]


def test_a_store_that_does_not_answer_is_not_asked_for_the_next_collection(
    known: Inventory, target: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Collection, "select", failing(StoreUnreachableError("gone")))
    with pytest.raises(StoreUnreachableError, match="gone"):
        copy_all(known, target)
    assert target.store.count(HEADING) == 0


def failing(error: Exception) -> Callable[..., Any]:
    """How points are read where those of one collection cannot be."""
    select = Collection.select

    def read(self: Collection, *rest: Any, **how: Any) -> Any:
        if repr(FIXED) in self.where:
            raise error
        return select(self, *rest, **how)

    return read
