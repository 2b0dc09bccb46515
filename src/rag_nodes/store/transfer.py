"""A collection from one Qdrant to another, point for point, to be gone on with after any end.

The source is read page by page, so that memory stays small, and a point is sent where the target
lacks it or has another one. Then the target is read page by page, and every single point compared:
payload, words and every embedding. What the source has replaced is deleted after that.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rag_nodes.errors import ConfigurationError, DimensionError, StoreError
from rag_nodes.store.faults import missing
from rag_nodes.store.filters import DOCUMENT_ID
from rag_nodes.store.points import Layout
from rag_nodes.store.queries import EVERYTHING

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
    run = _Copy(meant, source, target, progress or (lambda _: None))
    run.send()
    return run.verified(started, prune=prune)


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
        self._sent = self._points = 0
        self._documents: set[str] = set()
        with self._source.step(collection):
            self._total = self._source.count(collection, None)

    def send(self) -> None:
        """Write what the target lacks, or has otherwise."""
        for page in self._pages(self._source, "copy"):
            there = self._same_of(self._target, page)
            self._points += len(page)
            self._documents.update(map(_document, page))
            due = [one for one in page if not is_same(one, there.get(one.node_id))]
            if due and not self._sent:
                self._unmark()
            with self._target.step(self._name):
                self._target.write(self._name, due)
            self._sent += len(due)

    def verified(self, started: float, *, prune: bool) -> CopyReport:
        """Read both again, and delete what the target alone has of the documents, or of any.

        Raises:
            StoreError: they differ.
        """
        stale, different, extra, equal, exact = [], [], 0, 0, True
        for page in self._pages(self._target, "verify"):
            ours = self._same_of(self._source, page)
            for theirs in page:
                one = ours.get(theirs.node_id)
                if one is None and (prune or _document(theirs) in self._documents):
                    stale.append(theirs.node_id)
                elif one is None:
                    extra += 1
                elif is_same(one, theirs):
                    equal, exact = equal + 1, exact and one == theirs
                else:
                    different.append(theirs.node_id)
        if equal != self._points:
            raise StoreError(
                f"{self._target.location}: collection {self._name!r} is not what was sent to it: "
                f"{self._points - equal} of {self._points} points differ (the first: "
                f"{different[0] if different else 'lost'}); see that nothing else writes to it or "
                f"to {self._source.location}, and run this again"
            )
        self._delete(stale)
        return CopyReport(
            collection=self._name,
            points=self._points,
            sent=self._sent,
            unchanged=self._points - self._sent,
            deleted=len(stale),
            extra=extra,
            exact=exact,
            seconds=time.perf_counter() - started,
        )

    def _delete(self, stale: list[str]) -> None:
        if stale:
            self._unmark()
        for first in range(0, len(stale), PAGE):
            with self._target.step(self._name):
                self._target.delete(self._name, stale[first : first + PAGE])

    def _unmark(self) -> None:
        """Have no ledger of the target be believed, as it does not hear of what comes."""
        with self._target.step(self._name):
            if marks := self._target.marks(self._name):
                self._target.mark(self._name, dict.fromkeys(marks))

    def _pages(self, engine: Engine, stage: Literal["copy", "verify"]) -> Iterator[list[Point]]:
        """All points of one side."""
        with engine.step(self._name):
            found = iter(engine.select(self._name, EVERYTHING, None, self._layout))
        done = 0
        while True:
            with engine.step(self._name):  # others may ask between two pages
                points = list(islice(found, PAGE))
            if not points:
                return
            yield points
            done += len(points)
            self._report(CopyStep(stage, self._name, done, max(done, self._total)))

    def _same_of(self, engine: Engine, points: Sequence[Point]) -> dict[str, Point]:
        """What the other side has under the ids of some points."""
        with engine.step(self._name):
            found = engine.read(self._name, [one.node_id for one in points], self._layout)
        return {one.node_id: one for one in found}


def is_same(one: Point, other: Point | None) -> bool:
    """Whether two points of one id hold the same, but for rounding of embeddings."""
    if other is None:
        return False
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
