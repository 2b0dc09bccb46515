"""`merge`: the ledgers of shards together know what one ledger would."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from rag_nodes.errors import LedgerError
from rag_nodes.ledger import CollectionRow, DocumentRow, FileRow, Ledger, StoredDocument, merge

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
        ledger.settle(StoredDocument("c", f"id-{name}", "s", chunks) for name in names)
    return place


def known(place: Path) -> tuple[object, ...]:
    with Ledger(place) as ledger:
        return (
            ledger.known("tea"),
            ledger.stored("c"),
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
    assert (sums.first_used, sums.last_used, sums.chunks) == (50.0, 200.0, 4)


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
        assert [one.id for one in ledger.known("tea")["a.md"].documents] == ["id-other"]
        assert [one.dimension for one in ledger.collections()] == [384]


def test_what_is_stored_of_a_document_that_two_parts_know_the_store_is_asked(
    tmp_path: Path,
) -> None:
    old = written(tmp_path / "old", "a", now=1.0, chunks=9)
    new = written(tmp_path / "new", "a", "b", now=2.0, chunks=5)
    for number, parts in enumerate([(old, new), (new, old)]):
        merge(tmp_path / f"all-{number}", parts)
        with Ledger(tmp_path / f"all-{number}") as ledger:
            assert [one.version for one in ledger.stored("c").values()] == ["", "s"]


def test_why_documents_failed_is_known_of_all_parts(tmp_path: Path) -> None:
    parts = [written(tmp_path / "1", "a"), written(tmp_path / "2", "b")]
    with Ledger(parts[0], clock=lambda: 101.0) as ledger:
        ledger.fail("c", {"id-a": "refused", "id-new": "refused"})
    merge(tmp_path / "all", parts)
    with Ledger(tmp_path / "all") as ledger:
        found = ledger.stored("c")
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
        assert ledger.paths("tea") == ["a"]


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
        connection.execute("DROP TABLE stored")

    with pytest.raises(LedgerError, match=re.escape(str(torn))):
        merge(tmp_path / "all", [whole, torn])

    assert not [one for one in tmp_path.iterdir() if one.name.startswith("all")]
    torn.unlink()
    assert merge(tmp_path / "all", [whole]) == 1


def test_the_ledger_of_all_shards_lists_what_any_of_them_does_and_has_all_marks(
    tmp_path: Path,
) -> None:
    one, two, three = (str(UUID(int=7 * number)) for number in range(3))
    settled, killed = tmp_path / "settled", tmp_path / "killed"
    marks = {}
    for place, ids in ((settled, [one, "odd"]), (killed, [two, "odd"])):
        with Ledger(place) as part:
            part.use(COLLECTION)
            rows = [StoredDocument("c", name, "v", chunks=2) for name in ("a", place.name)]
            part.settle(rows, {"a": ids, place.name: [three]})
            part.mark("c", place.name)
            marks |= part.marks("c")
            if place == killed:
                part.intend("c", {"a": [three]})

    for number, parts in enumerate([(settled, killed), (killed, settled)]):
        merge(tmp_path / str(number), parts)
        with Ledger(tmp_path / str(number)) as ledger:
            found = ledger.listed_ids("c", ["a", "settled", "killed"])
            assert {*found.pop("a")} == {one, two, three, "odd"}
            assert found == {"settled": (three,), "killed": (three,)}
            assert ledger.stored("c")["a"].version == ""
            assert ledger.totals("c") == (4, 6)
            assert ledger.marks("c") == marks
            assert sorted(marks.values()) == ["killed", "settled"]
