"""A store that was copied is known to the ledger of the other one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kept_store import FIXED, HEADING, nodes_of

from rag_nodes.ledger import Ledger
from rag_nodes.store import open_store
from rag_nodes.upkeep import Inventory, copied, removed

if TYPE_CHECKING:
    from collections.abc import Iterator
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
    for name in (FIXED, HEADING):
        assert target.ledger.is_true(name, target.store.count(name))
        assert target.ledger.deposits(name) == known.ledger.deposits(name)
    assert target.ledger.files("tests") == known.ledger.files("tests")
    assert target.ledger.documents("tests") == known.ledger.documents("tests")


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
    assert [one.row.name for one in target.ledger.collections()] == [FIXED]
    assert target.store.count(HEADING) == 6


def test_without_a_ledger_the_collections_are_copied_all_the_same(
    unknown: Inventory, target: Inventory
) -> None:
    copy_all(unknown, target)
    assert target.store.count(FIXED) == 5
    assert target.ledger is not None
    assert target.ledger.corpora() == []


def test_what_was_pruned_is_not_known_any_more(known: Inventory, target: Inventory) -> None:
    copy_all(known, target)
    chosen = [one for one in known.documents("tests", known.collections()) if one.name == "a.md"]
    removed(known, "tests", chosen, known.collections())
    copy_all(known, target, prune=True)
    assert target.ledger is not None
    assert target.ledger.deposits(HEADING).keys() == {"b.md"}
    assert target.ledger.is_true(HEADING, target.store.count(HEADING))
