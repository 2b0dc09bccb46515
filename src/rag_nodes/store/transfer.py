"""A collection from one Qdrant to another, point for point, to be gone on with after any end.

Both are read in the order of their ids, side by side, so that memory stays small and what is there
already is seen without being asked for: a point is sent where the other side lacks it or has
another one. What is sent is sent before what it replaces is deleted. Then both are read again, and
compared, every single point: payload, words and every embedding.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from uuid import UUID

import numpy as np

from rag_nodes.errors import ConfigurationError, DimensionError, StoreError
from rag_nodes.store.faults import missing
from rag_nodes.store.filters import DOCUMENT_ID
from rag_nodes.store.points import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rag_nodes.store.engine import Engine
    from rag_nodes.store.points import Point
    from rag_nodes.store.qdrant import QdrantStore

PAGE = 256
"""Points read, compared and sent together."""
ROUNDING = 1e-6
"""How far a number of an embedding may be off: a Qdrant may bring it to unit length once more."""


class CopyStep(NamedTuple):
    """How far the copy of a collection is.

    Attributes:
        stage: what is done.
        name: of the collection.
        done: points looked at.
        total: points there are.
    """

    stage: Literal["copy", "verify"]
    name: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What became of one collection.

    Attributes:
        collection: its name.
        points: of the source, parents too.
        sent: how many of them were written.
        unchanged: how many were there already.
        deleted: points of the target that the source has replaced by others, or has no more.
        extra: points of documents that only the target has, and that were left alone.
        exact: every number of every embedding is the same; else some differ by less than
            `ROUNDING`.
        seconds: in all.
    """

    collection: str
    points: int
    sent: int
    unchanged: int
    deleted: int
    extra: int
    exact: bool
    seconds: float


def copy_collection(
    collection: str,
    source: QdrantStore,
    target: QdrantStore,
    progress: Callable[[CopyStep], None] | None = None,
    *,
    prune: bool = False,
) -> CopyReport:
    """Make a collection of one store the same in another; nothing is embedded or computed anew.

    Run again after any interruption it sends what lacks. Nothing else may write to either
    meanwhile.

    Args:
        collection: its name, one of ours, or an alias of it.
        source: read from.
        target: written to; the collection is made where it is missing.
        progress: called after every page.
        prune: delete the documents that only the target has.

    Raises:
        CollectionMissingError: the source has no such collection.
        ConfigurationError: both stores are the same, or one of the collections is not ours.
        DimensionError: the target has a collection of that name for other embeddings.
        StoreError: a store failed, or what was written is not what is read afterwards.
    """
    started = time.perf_counter()
    meant = source.aliases().get(collection, collection)
    run = _Copy(meant, source, target, progress or _silent)
    run.send()
    run.delete_stale(prune=prune)
    return run.verified(started)


class _Copy:
    """One collection on its way."""

    def __init__(
        self,
        collection: str,
        source: QdrantStore,
        target: QdrantStore,
        report: Callable[[CopyStep], None],
    ) -> None:
        if source.location == target.location and source.engine is target.engine:
            raise ConfigurationError(
                f"{source.location}: a store cannot be copied to itself; name another target"
            )
        self._name, self._report = collection, report
        self._source, self._target = source.engine, target.engine
        self._layout = _prepared(collection, self._source, self._target)
        self._sent = self._unchanged = self._points = 0
        self._documents: set[str] = set()
        self._only_there: list[tuple[str, str]] = []
        self._stale: list[str] = []
        with self._source.step(collection):
            self._total = self._source.count(collection, None)

    def send(self) -> None:
        """Write what the target lacks, or has otherwise."""
        due: list[Point] = []
        for ours, theirs in self._pairs("copy"):
            if ours is None:
                assert theirs is not None  # noqa: S101 -- for the type checker
                self._only_there.append((theirs.node_id, _document(theirs)))
                continue
            self._documents.add(_document(ours))
            if theirs is not None and is_same(ours, theirs):
                self._unchanged += 1
                continue
            due.append(ours)
            if len(due) >= PAGE:
                self._write(due)
                due = []
        self._write(due)

    def delete_stale(self, *, prune: bool) -> None:
        """Delete what the target has of other versions of the documents, or of other documents."""
        self._stale = [
            one for one, document in self._only_there if prune or document in self._documents
        ]
        if self._stale:
            self._unmark()
        for first in range(0, len(self._stale), PAGE):
            with self._target.step(self._name):
                self._target.delete(self._name, self._stale[first : first + PAGE])

    def verified(self, started: float) -> CopyReport:
        """Read both again.

        Raises:
            StoreError: they differ.
        """
        extra = {one for one, _ in self._only_there}.difference(self._stale)
        different, points, exact = [], 0, True
        for ours, theirs in self._pairs("verify"):
            if ours is None:
                assert theirs is not None  # noqa: S101 -- for the type checker
                different += [theirs.node_id] if theirs.node_id not in extra else []
                continue
            points += 1
            if theirs is None or not is_same(ours, theirs):
                different.append(ours.node_id)
                continue
            exact = exact and ours == theirs
        if different or points != self._sent + self._unchanged:
            raise StoreError(
                f"{self._target.location}: collection {self._name!r} is not what was sent to it: "
                f"{len(different)} of {points} points differ (the first: "
                f"{different[0] if different else 'none'}); see that nothing else writes to it or "
                f"to {self._source.location}, and run this again"
            )
        return CopyReport(
            collection=self._name,
            points=points,
            sent=self._sent,
            unchanged=self._unchanged,
            deleted=len(self._stale),
            extra=len(extra),
            exact=exact,
            seconds=time.perf_counter() - started,
        )

    def _write(self, points: Sequence[Point]) -> None:
        if points:
            if not self._sent:
                self._unmark()
            with self._target.step(self._name):
                self._target.write(self._name, points)
            self._sent += len(points)

    def _unmark(self) -> None:
        """Have no ledger of the target be believed, as it does not hear of what comes."""
        with self._target.step(self._name):
            if marks := self._target.marks(self._name):
                self._target.mark(self._name, dict.fromkeys(marks))

    def _pairs(
        self, stage: Literal["copy", "verify"]
    ) -> Iterator[tuple[Point | None, Point | None]]:
        """Points of both sides by id, in the order of the ids; None where one side has none."""
        theirs = _points(self._target, self._name, self._layout)
        other = next(theirs, None)
        for done, ours in enumerate(_points(self._source, self._name, self._layout), start=1):
            while other is not None and _order(other) < _order(ours):
                yield None, other
                other = next(theirs, None)
            if other is not None and other.node_id == ours.node_id:
                yield ours, other
                other = next(theirs, None)
            else:
                yield ours, None
            if done % PAGE == 0 or done >= self._total:
                self._report(CopyStep(stage, self._name, done, max(done, self._total)))
        while other is not None:
            yield None, other
            other = next(theirs, None)


def is_same(one: Point, other: Point) -> bool:
    """Whether two points of one id hold the same, but for rounding of embeddings."""
    if one == other:
        return True
    vectors, others = ({"": p.vector, **p.named} for p in (one, other))
    return (
        one.payload == other.payload
        and _words(one) == _words(other)
        and vectors.keys() == others.keys()
        and all(_is_near(vector, others[name]) for name, vector in vectors.items())
    )


def _prepared(collection: str, source: Engine, target: Engine) -> Layout:
    """The vectors of a collection, which the target has as well from now on.

    Raises:
        CollectionMissingError: the source has no such collection.
        ConfigurationError: one of the collections is not ours.
        DimensionError: the target's is for other embeddings.
    """
    with source.step(collection):
        layout = source.layout(collection)
    if layout is None:
        raise missing(source.location, collection)
    with target.step(collection):
        if target.layout(collection) is None:
            target.create(collection, layout.size, layout.named)
        there = target.layout(collection) or layout
    for engine, found in ((source, layout), (target, there)):
        if not found.is_ours or found.sparse is None:
            raise ConfigurationError(
                f"{engine.location}: collection {collection!r} was written by another program, and "
                "only collections of ours can be copied"
            )
    if (there.size, dict(there.named)) != (layout.size, dict(layout.named)):
        raise DimensionError(
            f"{target.location}: collection {collection!r} holds vectors of length {there.size}"
            f"{_others(there)}, that of {source.location} {layout.size}{_others(layout)}; drop "
            "the one that is wrong, and run this again"
        )
    return layout


def _others(layout: Layout) -> str:
    return "".join(f" and {name} of {size}" for name, size in layout.named.items())


def _points(engine: Engine, collection: str, layout: Layout) -> Iterator[Point]:
    """All points, in the order of their ids."""
    start: str | None = None
    while True:
        with engine.step(collection):
            points, start = engine.page(collection, layout, start, PAGE)
        yield from points
        if start is None:
            return


def _order(point: Point) -> tuple[bool, int]:
    """Qdrant's own order of ids: numbers before UUIDs."""
    if point.node_id.isdecimal():
        return False, int(point.node_id)
    return True, UUID(point.node_id).int


def _document(point: Point) -> str:
    return str(point.payload.get(DOCUMENT_ID))


def _words(point: Point) -> bytes:
    """The BM25 vector as bytes, in the order of the words' numbers."""
    pairs = sorted(zip(*point.words, strict=True))
    numbers = np.asarray([number for number, _ in pairs], np.uint32)
    return numbers.tobytes() + np.asarray([weight for _, weight in pairs], np.float32).tobytes()


def _is_near(one: Any, other: Any) -> bool:
    if one is None or other is None or len(one) != len(other):
        return one is other
    return bool(np.allclose(one, other, rtol=0, atol=ROUNDING))


def _silent(_step: CopyStep) -> None:
    """Nobody asked."""
