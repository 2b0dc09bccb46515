"""What a ledger lists of documents, whatever is killed when, and why they are not stored whole."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

from rag_nodes.pipeline.ledger import CollectionRow, Ledger, StoredDocument

DAY = 24 * 3600.0


def row(document_id: str, chunks: int, version: str = "v") -> StoredDocument:
    return StoredDocument("c", document_id, version, chunks=chunks)


def test_collections_come_with_sums_the_one_used_last_first(
    ledger: Ledger, clock: SimpleNamespace
) -> None:
    clock.now += DAY
    later = CollectionRow("later", "tea", "Fixed", "f", "{}", "lexical", 384)
    ledger.use(later)
    ledger.use(later._replace(dimension=None))
    ledger.settle([row("a", 3), StoredDocument("later", "a", "v", chunks=4, parents=1)])
    ledger.settle([StoredDocument("later", "b", "v", parents=1)])
    ledger.fail("later", {"failed": "no"})

    newest, oldest = ledger.collections("tea")

    assert newest == later._replace(
        first_used=100 + DAY, last_used=100 + DAY, documents=2, chunks=4
    )
    assert (oldest.name, oldest.first_used, oldest.documents, oldest.chunks) == ("c", 100.0, 1, 3)
    assert ledger.collections("coffee") == []
    assert len(ledger.collections()) == 2


def test_opened_documents_are_incomplete_and_keep_their_counts(ledger: Ledger) -> None:
    ledger.settle([row("a", 2), row("kept", 1)])

    ledger.open("c", ["a", "new"])

    stored = ledger.stored("c")
    assert (stored["a"].version, stored["a"].stored_at, stored["a"].chunks) == ("", 100.0, 2)
    assert {key: row.version for key, row in stored.items()} == {"a": "", "kept": "v", "new": ""}
    assert ledger.stored("c", ["new", "unheard of"]) == {"new": StoredDocument("c", "new", "")}


def test_committed_documents_have_no_error(ledger: Ledger) -> None:
    ledger.open("c", ["a"])
    ledger.fail("c", {"a": "refused"})

    ledger.settle([row("a", 1)])

    assert ledger.stored("c") == {"a": row("a", 1)._replace(stored_at=100.0)}


def test_only_what_must_outlive_a_power_failure_waits_for_the_disk(ledger: Ledger) -> None:
    statements: list[str] = []
    ledger._connection.set_trace_callback(statements.append)

    def waits() -> list[str]:
        synced = [line for line in statements if line.startswith(("PRAGMA", "COMMIT"))]
        statements.clear()
        return synced

    ledger.open("c", ["a"])
    assert waits() == ["PRAGMA synchronous = FULL", "COMMIT"]
    with ledger.transaction():
        ledger.open("c", ["a"])
        ledger.settle([row("a", 1)])
    assert waits() == ["PRAGMA synchronous = FULL", "COMMIT"]
    ledger.settle([row("a", 1)])
    assert waits() == ["PRAGMA synchronous = NORMAL", "COMMIT"]


def test_totals_are_of_chunks_of_whole_documents_and_of_open_ones(ledger: Ledger) -> None:
    assert ledger.totals("c") == (0, 0)
    ledger.settle([row("a", 2), row("b", 1)])
    ledger.settle([StoredDocument("other", "a", "v", chunks=9)])
    assert ledger.totals("c") == (3, 0)

    ledger.open("c", ["a"])
    assert ledger.totals("c") == (1, 1)

    ledger.forget_stored("c", ["a"])
    assert ledger.totals("c") == (1, 0)


def test_a_ledger_covers_a_collection_by_its_marks_and_as_many_chunks_as_there_may_be(
    ledger: Ledger,
) -> None:
    assert not ledger.covers("c", {}, 0), "no mark was left"
    assert not ledger.covers("unheard of", {}, 0)
    ledger.settle([row("a", 2), row("b", 1)])
    for epoch in ("first", "now"):
        ledger.mark("c", epoch)
    marks = {ledger.writer("c"): "now"}

    assert [count for count in range(9) if ledger.covers("c", marks, count)] == [3]
    assert not ledger.covers("c", {ledger.writer("c"): "another copy"}, 3)
    assert not ledger.covers("c", {**marks, "somebody else": "then"}, 3)
    ledger.open("c", ["a"])
    assert [count for count in range(6) if ledger.covers("c", marks, count)] == [1, 2, 3, 4, 5]
    ledger.forget_collection("c")
    assert (ledger.marks("c"), ledger.stored("c"), ledger.collections()) == ({}, {}, [])


def test_the_store_replaces_all_rows_except_failures(ledger: Ledger) -> None:
    ledger.settle([row("a", 2), row("failed", 1)])
    ledger.settle([StoredDocument("other", "a", "v", chunks=9)])
    ledger.fail("c", {"failed": "refused", "b": "too long"})

    ledger.adopt(
        "c", (row(document_id, 1, version) for document_id, version in (("b", ""), ("d", "w")))
    )

    rows = ledger.stored("c")
    assert {key: (row.version, row.chunks, row.error) for key, row in rows.items()} == {
        "failed": ("", 0, "refused"),
        "b": ("", 1, "too long"),
        "d": ("w", 1, None),
    }
    assert ledger.totals("c") == (1, 2)
    assert ledger.totals("other") == (9, 0)


def test_a_document_has_failed_since_it_did_so_first_until_it_is_stored(
    ledger: Ledger, clock: SimpleNamespace
) -> None:
    for clock.now, why in ((100.0, "no"), (200.0, "never")):
        ledger.fail("c", {"a": why})
        assert ledger.stored("c")["a"] == StoredDocument("c", "a", "", error=why, failed_at=100.0)

    ledger.adopt("c", [row("a", 3)])
    failed = ledger.stored("c")["a"]
    assert failed == row("a", 3)._replace(error="never", stored_at=200.0, failed_at=100.0)

    ledger.settle([row("a", 3)._replace(stored_at=150.0)])
    assert ledger.stored("c")["a"] == row("a", 3)._replace(stored_at=150.0)


def test_many_threads_and_two_openings_write_at_the_same_time(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    barrier = threading.Barrier(8)

    def write(number: int, ledger: Ledger) -> None:
        barrier.wait()
        for document_id in range(20):
            ledger.open("c", [f"{number}.{document_id}"])
            ledger.settle([row(f"{number}.{document_id}", 1)])

    with Ledger(place) as first, Ledger(place) as second, ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8), [first, second] * 4))

        assert first.totals("c") == second.totals("c") == (160, 0)
