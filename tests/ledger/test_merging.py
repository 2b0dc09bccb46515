"""`merge`: the ledgers of shards together know what one ledger would."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from rag_nodes.errors import LedgerError
from rag_nodes.ledger import CollectionRow, DepositRow, DocumentRow, FileRow, Ledger, merge

if TYPE_CHECKING:
    from pathlib import Path

COLLECTION = CollectionRow("c", "tea", "Fixed", "f", "{}", "lexical")


def written(place: Path, *names: str, now: float = 100.0, chunks: int = 2) -> Path:
    """A ledger that knows these files, of one document each."""
    with Ledger(place, clock=lambda: now) as ledger:
        ledger.use(COLLECTION)
        for name in names:
            ledger.record(
                FileRow("tea", name, 10, 77, "h", "r", "read", 1),
                [DocumentRow("tea", name, f"id-{name}", "s", name, name, None, 40)],
            )
        ledger.settle(DepositRow("c", f"id-{name}", "s", chunks) for name in names)
    return place


def known(place: Path) -> tuple[object, ...]:
    with Ledger(place) as ledger:
        return (
            ledger.files("tea"),
            ledger.documents("tea"),
            ledger.deposits("c"),
            ledger.collections(),
        )


def test_the_parts_together_know_what_one_would(tmp_path: Path) -> None:
    parts = [written(tmp_path / "1", "a", "b"), written(tmp_path / "2", "c")]
    target = tmp_path / "all"
    assert merge(target, parts) == 3
    assert known(target) == known(written(tmp_path / "one", "a", "b", "c"))


def test_a_collection_was_used_from_the_first_to_the_last_time(tmp_path: Path) -> None:
    parts = [written(tmp_path / "1", "a", now=50.0), written(tmp_path / "2", "b", now=200.0)]
    merge(tmp_path / "all", parts)
    with Ledger(tmp_path / "all") as ledger:
        [sums] = ledger.collections()
    assert (sums.row.first_used, sums.row.last_used, sums.chunks) == (50.0, 200.0, 4)


def test_of_a_file_that_two_parts_know_the_last_one_is_right(tmp_path: Path) -> None:
    first, last = written(tmp_path / "1", "a.md"), tmp_path / "2"
    with Ledger(last) as ledger:
        ledger.use(COLLECTION._replace(dimension=384))
        ledger.record(
            FileRow("tea", "a.md", 20, 88, "h2", "r", "read", 1),
            [DocumentRow("tea", "a.md", "id-other", "s", "a.md", "a.md", None, 40)],
        )
    sized = written(tmp_path / "3", "b.md")

    merge(tmp_path / "all", [first, last, sized])

    with Ledger(tmp_path / "all") as ledger:
        assert [one.id for one in ledger.documents("tea")["a.md"]] == ["id-other"]
        assert [one.row.dimension for one in ledger.collections()] == [384]


def test_what_was_stored_last_is_true_whichever_comes_first(tmp_path: Path) -> None:
    old = written(tmp_path / "old", "a", now=1.0, chunks=9)
    new = written(tmp_path / "new", "a", now=2.0, chunks=5)
    for number, parts in enumerate([(old, new), (new, old)]):
        merge(tmp_path / f"all-{number}", parts)
        with Ledger(tmp_path / f"all-{number}") as ledger:
            assert ledger.deposits("c")["id-a"].chunks == 5


def test_what_one_part_left_unsettled_stays_so(tmp_path: Path) -> None:
    killed, other = written(tmp_path / "killed", "a"), written(tmp_path / "other", "a", now=999.0)
    with Ledger(killed) as ledger:
        ledger.unsettle("c", ["id-a"])
    for number, parts in enumerate([(killed, other), (other, killed)]):
        merge(tmp_path / f"all-{number}", parts)
        with Ledger(tmp_path / f"all-{number}") as ledger:
            assert not ledger.is_true("c", 2)


def test_why_documents_failed_is_known_of_all_parts(tmp_path: Path) -> None:
    parts = [written(tmp_path / "1", "a"), written(tmp_path / "2", "b")]
    with Ledger(parts[0], clock=lambda: 101.0) as ledger:
        ledger.fail("c", {"id-a": "refused", "id-new": "refused"})
    merge(tmp_path / "all", parts)
    with Ledger(tmp_path / "all") as ledger:
        found = ledger.deposits("c")
    assert {one: (row.error, row.failed_at, row.chunks) for one, row in found.items()} == {
        "id-a": ("refused", 101.0, 2),
        "id-b": (None, None, 2),
        "id-new": ("refused", 101.0, 0),
    }


def test_a_ledger_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    target = written(tmp_path / "all", "a")
    with pytest.raises(LedgerError, match="name a new one"):
        merge(target, [written(tmp_path / "1", "b")])
    with Ledger(target) as ledger:
        assert ledger.files("tea").keys() == {"a"}


def test_a_part_that_is_missing_or_none_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    target = tmp_path / "all"
    with pytest.raises(LedgerError, match=r"gone\.sqlite: there is no ledger"):
        merge(target, [tmp_path / "gone.sqlite"])
    (tmp_path / "text").write_text("no database, but long enough to be looked at " * 9, "utf-8")
    with pytest.raises(LedgerError, match="text: this is a file of another kind"):
        merge(target, [written(tmp_path / "1", "a"), tmp_path / "text"])
    assert not target.exists()


def test_of_a_part_that_cannot_be_read_to_its_end_nothing_is_made(tmp_path: Path) -> None:
    whole, torn = written(tmp_path / "1", "a.md"), written(tmp_path / "2", "b.md")
    with closing(sqlite3.connect(torn)) as connection:
        connection.execute("DROP TABLE deposits")

    with pytest.raises(LedgerError, match=re.escape(str(torn))):
        merge(tmp_path / "all", [whole, torn])

    assert not [one for one in tmp_path.iterdir() if one.name.startswith("all")]
    torn.unlink()
    assert merge(tmp_path / "all", [whole]) == 1
