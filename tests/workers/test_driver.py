"""The loop over workers that do as they are told, in this process: who is blamed, what is kept."""

from __future__ import annotations

import dataclasses
from collections import deque
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rag_nodes.errors import (
    ConfigurationError,
    EngineError,
    RagNodesError,
    StoreFullError,
)
from rag_nodes.ledger import FileRow
from rag_nodes.pipeline import FileColumn, FileOutcome, IngestReport, ParserOutcome, Progress
from rag_nodes.pipeline.books import Books
from rag_nodes.pipeline.found import FoundDocument
from rag_nodes.pipeline.record import CollectionRecord
from rag_nodes.pipeline.rows import FileRows
from rag_nodes.readers import ListedFile
from rag_nodes.store import StoredNode
from rag_nodes.workers.batches import MOST_BYTES, DueFile
from rag_nodes.workers.driver import BARREN, WAITING, Driver
from rag_nodes.workers.merging import Done, merged_column
from rag_nodes.workers.messages import (
    Batch,
    BatchFinished,
    Began,
    Deleted,
    FileNote,
    NotStored,
    Progressed,
)
from rag_nodes.workers.packing import PackedPoints
from rag_nodes.workers.transport import Arrived, CannotWork, Died, Transport
from rag_nodes.workers.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rag_nodes.workers.messages import Message

    Behaviour = Callable[[Batch], Iterator[Message | Died]]

KILLED = Died("SIGKILL")


class Actors(Transport[Batch, "Message"]):
    """Workers that do what a function says, one message after another by turns.

    Attributes:
        deaths: of whom.
        batches: all that were given, in order.
        had: of each, how many others its worker had.
        working: of each, how many workers then had something to do.
        closed: they were ended.
    """

    def __init__(self, workers: int, behaviour: Behaviour) -> None:
        self.workers = workers
        self.deaths: list[int] = []
        self.batches: list[Batch] = []
        self.had: list[int] = []
        self.working: list[int] = []
        self.closed = False
        self._behaviour = behaviour
        self._busy: deque[tuple[int, int, Iterator[Message | Died]]] = deque()

    def submit(self, worker: int, batch: Batch) -> None:
        assert not self.closed
        self.batches.append(batch)
        self.had.append(sum(one == worker for one, _, _ in self._busy))
        self._busy.append((worker, batch.number, self._behaviour(batch)))
        self.working.append(len({one for one, _, _ in self._busy}))

    def wait(self, seconds: float) -> Arrived[Message] | None:
        del seconds
        worker, number, events = self._busy[0]
        event = next(events)
        own = [one for one in self._busy if one[0] == worker]
        over = isinstance(event, BatchFinished | CannotWork | Died)
        others = [one for one in self._busy if one[0] != worker]
        self._busy = deque([*others, *own[over:]])  # behind the others, in their order
        return Arrived(worker, number, event)

    def replace(self, worker: int) -> None:
        self.deaths.append(worker)
        self._busy = deque(one for one in self._busy if one[0] != worker)

    def close(self) -> None:
        self.closed = True
        self._busy.clear()


class Kept:
    """A store that keeps ids."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.known: dict[str, dict[str, StoredNode]] = {}
        self.fails: dict[str, RagNodesError] = {}

    def put(self, collection: str, points: Sequence[Any]) -> None:
        for point in points:
            if point.node_id in self.fails:
                raise self.fails[point.node_id]
            self.log.append(f"{collection}: put {point.node_id}")

    def delete(self, collection: str, node_ids: Sequence[str]) -> None:
        self.log += [f"{collection}: delete {one}" for one in node_ids]

    def catalogue(self, collection: str) -> Any:
        del collection
        return lambda document: self.known.get(document, {})

    def documents(self, collection: str) -> dict[str, dict[str, StoredNode]]:
        del collection
        return self.known


def files(*names: str) -> list[DueFile]:
    return [
        DueFile(number, ListedFile(Path(name), f"/{name}", 1, 0))
        for number, name in enumerate(names)
    ]


def packed(collection: str, node_id: str) -> PackedPoints:
    return PackedPoints(
        collection,
        (node_id,),
        (f"id of {node_id}",),
        b"[{}]",
        np.ones((1, 2), dtype=np.float32),
        np.zeros(1, dtype=np.int32),
        np.zeros(0, dtype=np.uint32),
        np.zeros(0, dtype=np.float32),
        {},
    )


def row(path: str, columns: Sequence[str]) -> FileOutcome:
    stored = {name: FileColumn("stored", 1, 1) for name in columns}
    document = f"id of {path}"
    return FileOutcome(
        path, "read", None, 9, None, 0.1, document_id=document, columns=stored, name=path
    )


def finished(batch: Batch, columns: Sequence[str], **facts: Any) -> BatchFinished:
    count = len(batch.files)
    outcomes = tuple(
        ParserOutcome(name, f"c.{name}", count, count * 10, 10.0, 10, count, seconds={"parse": 1.0})
        for name in columns
    )
    report = IngestReport(tuple(row(one, columns) for one in batch.files), outcomes, 1.0, "m")
    return BatchFinished(
        report, tuple(range(count)), facts.get("errors", {}), facts.get("stopped", {})
    )


def good(batch: Batch, columns: Sequence[str] = ("x",)) -> Iterator[Message | Died]:
    """What a worker says of files in which nothing is wrong."""
    for number, path in enumerate(batch.files):
        yield Began(number)
        for name in columns:
            yield packed(f"c.{name}", path)
    yield Began(len(batch.files))
    yield finished(batch, columns)


def drive(
    given: list[DueFile],
    behaviour: Behaviour,
    *,
    store: Kept | None = None,
    workers: int = 2,
    columns: Sequence[str] = ("x",),
    progress: Callable[[Progress], None] | None = None,
    most: int | None = None,
) -> tuple[Done, Actors, Kept]:
    actors, kept = Actors(workers, behaviour), store or Kept()
    collections = {name: f"c.{name}" for name in columns}
    records = [CollectionRecord(kept, one) for one in collections.values()]  # type: ignore[arg-type]
    writer = Writer(records, Books())
    rows = FileRows(most)
    driver = Driver(actors, writer, collections, progress=progress, total=len(given), rows=rows)
    return driver.run(given), actors, kept


def column_of(done: Done, name: str = "x") -> ParserOutcome:
    return merged_column(name, f"c.{name}", done, model="lexical-1024", prices={})


def test_rows_are_in_the_order_of_the_listing_whoever_was_first() -> None:
    names = [f"{number}.md" for number in range(80)]
    slow = {0}

    def behave(batch: Batch) -> Iterator[Message | Died]:
        if batch.number in slow:
            yield from (Progressed(Progress("parse", "x", one)) for one in range(200))
        yield from good(batch)

    done, _, store = drive(files(*names), behave)
    assert [one.path for one in done.rows.in_order()] == names
    assert sorted(store.log) == sorted(f"c.x: put {name}" for name in names)
    assert (column_of(done).chunks, column_of(done).mean_tokens) == (80, 10.0)


def test_of_many_files_those_that_ended_well_are_counted_and_every_failure_has_its_row() -> None:
    def behave(batch: Batch) -> Iterator[Message | Died]:
        if "poison.md" in batch.files:
            yield Began(batch.files.index("poison.md"))
            yield Died("SIGKILL")
        else:
            yield from good(batch)

    names = [f"{number}.md" for number in range(60)]
    done, _, _ = drive(files(*names, "poison.md"), behave, most=10)
    kept = done.rows.in_order()
    assert [one.path for one in kept if one.status == "failed"] == ["poison.md"]
    assert len(kept) + done.rows.omitted == 61
    assert len(kept) <= 11
    assert column_of(done).chunks == 60


def test_a_worker_that_dies_costs_nothing_but_time() -> None:
    died: list[int] = []

    def behave(batch: Batch) -> Iterator[Message | Died]:
        if not died:
            died.append(batch.number)
            yield Began(0)
            yield packed("c.x", batch.files[0])
            yield KILLED
        yield from good(batch)

    done, actors, _ = drive(files("a.md", "b.md", "c.md"), behave)
    assert [one.status for one in done.rows.in_order()] == ["read"] * 3
    assert len(actors.deaths) == 1
    assert column_of(done).chunks == 3


def test_a_worker_has_its_next_batch_before_it_is_done_and_nobody_two_while_somebody_has_none() -> (
    None
):
    done, actors, _ = drive(files(*(f"{number}.md" for number in range(320))), good)
    assert actors.had == [0, 0, *[1] * 8]
    assert len(done.rows.in_order()) == 320


def test_a_batch_that_waited_for_a_worker_that_died_goes_back_whole_and_innocent() -> None:
    deaths = [Died("SIGKILL"), Died("SIGKILL")]

    def behave(batch: Batch) -> Iterator[Message | Died]:
        yield Began(0)
        if "0.md" in batch.files and deaths:
            yield deaths.pop()
        yield from list(good(batch))[1:]

    names = [f"{number}.md" for number in range(96)]
    done, actors, store = drive(files(*names), behave, workers=1)
    first, waited, again, *_ = actors.batches
    assert first.files == tuple(names[:32])
    assert waited.files == tuple(names[32:64])
    # What is left of the first, then what waited; the file in hand comes last and alone.
    assert again.files == tuple(names[1:32])
    assert actors.batches[3].files == waited.files
    assert [one.path for one in done.rows.in_order() if one.status == "failed"] == ["0.md"]
    assert sorted(store.log) == sorted(f"c.x: put {name}" for name in names[1:])
    assert len(actors.deaths) == 2


def test_what_a_worker_that_died_would_have_said_of_what_waited_is_not_heard() -> None:
    class Dead(Actors):
        def replace(self, worker: int) -> None:
            super().replace(worker)
            self.late = [Arrived(worker, 1, KILLED)]

        def wait(self, seconds: float) -> Arrived[Message] | None:
            late, self.late = getattr(self, "late", []), []
            return late[0] if late else super().wait(seconds)

    left = [KILLED]

    def behave(batch: Batch) -> Iterator[Message | Died]:
        yield Began(0)
        if left:
            yield left.pop()
        yield from list(good(batch))[1:]

    names = [f"{number}.md" for number in range(64)]
    actors = Dead(1, behave)
    writer = Writer([CollectionRecord(Kept(), "c.x")], Books())  # type: ignore[arg-type]
    done = Driver(actors, writer, {"x": "c.x"}).run(files(*names))
    assert {one.status for one in done.rows.in_order()} == {"read"}
    assert len(actors.deaths) == 1


@pytest.mark.parametrize("odd", ["large", "many documents", "same bytes"])
def test_what_should_not_wait_is_given_to_a_worker_that_has_nothing_else(odd: str) -> None:
    def one(number: int) -> DueFile:
        name = f"{number}.jsonl" if odd == "many documents" else f"{number}.md"
        size = MOST_BYTES + 1 if odd == "large" else MOST_BYTES
        twins = ("id",) if odd == "same bytes" else ()
        return DueFile(number, ListedFile(Path(name), f"/{name}", size, 0), twins=twins)

    done, actors, _ = drive([one(number) for number in range(6)], good)
    assert actors.had == [0] * 6
    assert actors.working == ([1] * 6 if odd == "many documents" else [1, *[2] * 5])
    assert len(done.rows.in_order()) == 6


def test_a_file_that_kills_every_worker_is_one_failed_row() -> None:
    def behave(batch: Batch) -> Iterator[Message | Died]:
        for number, path in enumerate(batch.files):
            yield Began(number)
            if path == "poison.md":
                yield KILLED
        yield from good(batch)

    names = [*(f"{number}.md" for number in range(40)), "poison.md"]
    done, actors, _ = drive(files(*names), behave)
    failed = [one for one in done.rows.in_order() if one.status == "failed"]
    assert [one.path for one in failed] == ["poison.md"]
    assert "the worker died twice reading it (SIGKILL)" in str(failed[0].error)
    assert len(actors.deaths) == 2
    assert len(done.rows.in_order()) == 41


def test_a_file_that_kills_while_it_is_embedded_is_found_among_innocents() -> None:
    def behave(batch: Batch) -> Iterator[Message | Died]:
        yield from (Began(number) for number in range(len(batch.files) + 1))
        if "poison.md" in batch.files:
            yield KILLED
        yield finished(batch, ["x"])

    names = [*(f"{number}.md" for number in range(20)), "poison.md"]
    done, actors, _ = drive(files(*names), behave)
    assert [one.path for one in done.rows.in_order() if one.status == "failed"] == ["poison.md"]
    assert len(actors.deaths) <= 7


@pytest.mark.parametrize(
    "lie",
    [
        Began(-1),
        Began(99),
        FileNote(1, None, None),
        packed("c.other", "a.md"),
        BatchFinished(IngestReport((row("a.md", ["x"]),), (), 1.0, "m"), (), {}, {}),
        BatchFinished(IngestReport((row("a.md", ["x"]),), (), 1.0, "m"), (7,), {}, {}),
    ],
)
def test_a_worker_that_says_what_cannot_be_is_replaced(lie: Message) -> None:
    lies = [lie]

    def behave(batch: Batch) -> Iterator[Message | Died]:
        yield Began(0)
        if lies:
            yield lies.pop()
        yield from good(batch)

    done, actors, store = drive(files("a.md"), behave)
    assert [one.status for one in done.rows.in_order()] == ["read"]
    assert (len(actors.deaths), store.log) == (1, ["c.x: put a.md"])


def test_points_that_do_not_fit_each_other_are_refused_and_nothing_else() -> None:
    torn = dataclasses.replace(packed("c.x", "a.md"), payloads=b"[")

    def behave(batch: Batch) -> Iterator[Message | Died]:
        yield torn
        yield from good(batch)

    done, _, _ = drive(files("a.md", "b.md"), behave)
    assert [one.status for one in done.rows.in_order()] == ["incomplete", "read"]
    assert "is torn" in str(column_of(done).error)


def test_workers_that_cannot_start_end_the_ingest_with_the_reason() -> None:
    def behave(_: Batch) -> Iterator[Message | Died]:
        yield Died("exit code 1")

    with pytest.raises(EngineError, match="exit code 1"):
        drive(files("a.md", "b.md"), behave)


def test_a_few_deaths_at_the_start_are_borne() -> None:
    left = [KILLED] * (BARREN * 2 - 1)

    def behave(batch: Batch) -> Iterator[Message | Died]:
        if left:
            yield left.pop()
        yield from good(batch)

    done, _, _ = drive(files("a.md", "b.md"), behave)
    assert [one.status for one in done.rows.in_order()] == ["read", "read"]


def test_what_a_worker_cannot_do_no_other_is_asked_to() -> None:
    def behave(_: Batch) -> Iterator[Message | Died]:
        yield CannotWork(ConfigurationError("no such splitter here"))

    with pytest.raises(ConfigurationError, match="no such splitter"):
        drive(files("a.md"), behave)


def test_what_replaces_is_stored_before_what_is_replaced_goes() -> None:
    def behave(batch: Batch) -> Iterator[Message | Died]:
        yield Began(0)
        yield packed("c.x", "new")
        yield Deleted("c.x", ("old",))
        yield finished(batch, ["x"])

    _, _, store = drive(files("a.md"), behave)
    assert store.log == ["c.x: put new", "c.x: delete old"]


def test_a_full_disk_stops_the_column_once_and_the_rest_is_not_read() -> None:
    store = Kept()
    store.fails["5.md"] = StoreFullError("the disk is full; free some space")
    names = [f"{number}.md" for number in range(200)]
    done, actors, _ = drive(files(*names), good, store=store)
    assert actors.closed
    assert len(actors.batches) < 6
    assert [one.path for one in done.rows.in_order()] == names
    assert {one.status for one in done.rows.in_order()} == {"incomplete"}
    assert column_of(done).error == "the disk is full; free some space"


def test_a_store_that_refuses_one_column_leaves_the_others() -> None:
    store = Kept()

    def behave(batch: Batch) -> Iterator[Message | Died]:
        if "c.x" in batch.refused:
            yield Began(0)
            errors = {"x": (f"{batch.files[0]}: full",)}
            yield finished(batch, ["x", "y"], errors=errors, stopped={"x": "full"})
            return
        yield Began(0)
        yield packed("c.x", "bad")
        yield packed("c.y", "fine")
        yield Deleted("c.x", ("old",))
        yield finished(batch, ["x", "y"])

    store.fails["bad"] = StoreFullError("full")
    names = [f"{number}.md" for number in range(70)]
    done, _, _ = drive(files(*names), behave, store=store, columns=["x", "y"], workers=1)
    assert "c.x: delete old" not in store.log
    # The second batch waited at the worker already, and does not know; the third does.
    assert store.log == ["c.y: put fine"] * 2
    assert column_of(done, "x").error == "64.md: full"
    assert column_of(done, "y").error is None


def test_what_the_store_refuses_of_one_document_is_incomplete_and_nothing_of_it_goes() -> None:
    store = Kept()
    store.fails["b.md"] = ConfigurationError("nested too deep")

    def behave(batch: Batch) -> Iterator[Message | Died]:
        yield from list(good(batch))[:-1]
        yield Deleted("c.x", ("old b",))
        yield finished(batch, ["x"])

    done, _, _ = drive(files("a.md", "b.md"), behave, store=store, workers=1)
    assert [one.status for one in done.rows.in_order()] == ["read", "incomplete"]
    assert done.rows.in_order()[1].columns["x"] == FileColumn(
        "incomplete", 1, 0, error="nested too deep"
    )
    assert store.log == ["c.x: put a.md"]
    assert column_of(done).written == 1
    assert column_of(done).error == "b.md: nested too deep"


class Remembered(CollectionRecord):
    """Notes why documents are not whole."""

    def __init__(self, store: Kept, collection: str) -> None:
        super().__init__(store, collection)  # type: ignore[arg-type]
        self.errors: dict[str, str] = {}

    def fail(self, errors: Mapping[str, str]) -> None:
        self.errors |= errors


class NotingBooks(Books):
    """Notes what files became."""

    def __init__(self) -> None:
        self.announced: list[tuple[str, str]] = []
        self.noted: list[tuple[str, str | None]] = []

    def announce(self, file: FileRow, found: FoundDocument) -> None:
        self.announced.append((file.path, found.id))

    def note(self, file: FileRow, found: FoundDocument | None, error: Exception | None) -> None:
        self.noted.append((file.path, str(error) if error else found and found.id))


def drive_noted(behaviour: Behaviour, store: Kept, *names: str) -> tuple[Remembered, NotingBooks]:
    record, books = Remembered(store, "c.x"), NotingBooks()
    driver = Driver(Actors(1, behaviour), Writer([record], books), {"x": "c.x"})
    due = [
        one._replace(row=FileRow("tea", one.file.place, 1, 0, "", "", "read", 0))
        for one in files(*names)
    ]
    driver.run(due)
    return record, books


def test_why_documents_are_not_whole_is_written_down_whoever_found_it() -> None:
    store = Kept()
    store.fails["b.md"] = ConfigurationError("nested too deep")

    def behave(batch: Batch) -> Iterator[Message | Died]:
        yield from list(good(batch))[:-1]
        yield NotStored("c.x", {"id of a.md": "the key is refused"})
        yield finished(batch, ["x"])

    record, _ = drive_noted(behave, store, "a.md", "b.md")
    assert record.errors == {"id of a.md": "the key is refused", "id of b.md": "nested too deep"}


def test_on_a_full_disk_what_was_read_for_nothing_says_so() -> None:
    store = Kept()
    store.fails["a.md"] = StoreFullError("full")

    def behave(batch: Batch) -> Iterator[Message | Died]:
        del batch
        yield Began(0)
        yield FileNote(0, FoundDocument("id of a.md", "h", "a.md", None, None, 9, None), None)
        yield packed("c.x", "a.md")
        raise AssertionError("it is ended")

    record, books = drive_noted(behave, store, "a.md", "b.md")
    assert record.errors == {"id of a.md": "full"}
    assert books.noted == [("/a.md", "id of a.md")]


def test_a_document_is_taken_down_before_anything_of_it_is_stored() -> None:
    seen = []

    class Watched(Kept):
        def put(self, collection: str, points: Sequence[Any]) -> None:
            seen.append((*books.announced, *books.noted))
            super().put(collection, points)

    store = Watched()

    def behave(batch: Batch) -> Iterator[Message | Died]:
        yield Began(0)
        yield FileNote(0, FoundDocument("id of a.md", "h", "a.md", None, None, 9, None), None)
        yield packed("c.x", "a.md")
        yield finished(batch, ["x"])

    record, books = Remembered(store, "c.x"), NotingBooks()
    [due] = files("a.md")
    noted = due._replace(row=FileRow("tea", due.file.place, 1, 0, "", "", "read", 0))
    Driver(Actors(1, behave), Writer([record], books), {"x": "c.x"}).run([noted])

    assert seen == [(("/a.md", "id of a.md"),)]
    assert books.noted == [("/a.md", "id of a.md")]


def test_what_became_of_the_files_of_a_batch_is_written_down_together() -> None:
    class Together(NotingBooks):
        @contextmanager
        def together(self) -> Iterator[None]:
            self.noted.append(("together", None))
            yield

    def behave(batch: Batch) -> Iterator[Message | Died]:
        for number, name in enumerate(batch.files):
            found = FoundDocument(f"id of {name}", "h", name, None, None, 9, None)
            yield FileNote(number, found, None)
        yield finished(batch, ["x"])

    books = Together()
    due = [
        one._replace(row=FileRow("tea", one.file.place, 1, 0, "", "", "read", 0))
        for one in files("a.md", "b.md")
    ]
    record = CollectionRecord(Kept(), "c.x")  # type: ignore[arg-type]
    Driver(Actors(1, behave), Writer([record], books), {"x": "c.x"}).run(due)
    assert books.noted == [("together", None), ("/a.md", "id of a.md"), ("/b.md", "id of b.md")]


def test_a_file_that_kills_its_workers_is_taken_down_as_one_that_failed() -> None:
    def behave(batch: Batch) -> Iterator[Message | Died]:
        del batch
        yield Began(0)
        yield KILLED

    _, books = drive_noted(behave, Kept(), "a.md")
    [(path, error)] = books.noted
    assert path == "/a.md"
    assert "the worker died twice reading it (SIGKILL)" in str(error)


def test_an_error_that_all_workers_meet_stands_once_in_the_report() -> None:
    def behave(batch: Batch) -> Iterator[Message | Died]:
        yield Began(0)
        why = "the key was refused"
        errors = {"x": (f"{batch.files[0]}: {why}",)}
        yield finished(batch, ["x"], errors=errors, stopped={"x": why})

    done, actors, _ = drive(files(*(f"{number}.md" for number in range(300))), behave)
    assert column_of(done).error == "0.md: the key was refused"
    assert len(actors.batches) <= 2 * (1 + WAITING)  # no more than they had by then
    assert len(done.rows.in_order()) == 300


def test_what_is_stored_of_its_files_goes_with_a_batch() -> None:
    from rag_nodes.readers.base import document_id

    store = Kept()
    ids = [document_id(Path(name)) for name in ("/a.md", "/else.md")]
    nodes = {one: {"n": StoredNode("hash", 1, 5)} for one in ids}
    store.known = nodes
    _, actors, _ = drive(files("a.md", "pages.jsonl"), good, store=store)
    assert [batch.stored for batch in actors.batches] == [
        {"c.x": {ids[0]: nodes[ids[0]]}},
        {"c.x": nodes},
    ]


def test_progress_is_the_sum_over_all_workers_and_counts_no_file_twice() -> None:
    seen: list[Progress] = []
    died: list[int] = []

    def behave(batch: Batch) -> Iterator[Message | Died]:
        yield Began(0)
        yield Progressed(Progress("embed", "x", 10, 20))
        if not died:
            died.append(batch.number)
            yield KILLED
        yield Progressed(Progress("embed", "x", 20, 20))
        yield finished(batch, ["x"])

    names = [f"{number}.md" for number in range(64)]
    drive(files(*names), behave, progress=seen.append)
    embedded = [one for one in seen if one.stage == "embed"]
    assert (embedded[-1].done, embedded[-1].total) == (60, 60)
    read = [one.done for one in seen if one.stage == "read"]
    assert read == sorted(read)
    assert {one.total for one in seen if one.stage == "read"} == {64}
