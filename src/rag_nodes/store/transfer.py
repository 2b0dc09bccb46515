"""A collection from one Qdrant to another, point for point, to be gone on with after any end.

The source is read page by page, so that memory stays small, and a point is sent where the target
lacks it or has another payload under its id. Then the target is read page by page and compared with
the source, and what the source has replaced is deleted. Embeddings are not compared: they are
functions of the text, and a Qdrant may bring them to unit length once more.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rag_nodes.errors import ConfigurationError, DimensionError, StoreError
from rag_nodes.store.faults import missing
from rag_nodes.store.filters import DOCUMENT_ID
from rag_nodes.store.queries import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rag_nodes.store.engine import Engine, EngineCollection
    from rag_nodes.store.points import Point
    from rag_nodes.store.qdrant import QdrantStore

PAGE = 256
"""Points read, compared and sent together."""


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
        seconds: in all.
    """

    collection: str
    points: int
    sent: int
    unchanged: int
    deleted: int
    extra: int
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
    name = source.aliases().get(collection, collection)
    copy = _Copy(name, source.engine, target.engine, progress or (lambda _: None))
    sent = copy.send()
    stale, extra = copy.compared(prune=prune)
    copy.delete(stale)
    unchanged, seconds = copy.points - sent, time.perf_counter() - started
    return CopyReport(name, copy.points, sent, unchanged, len(stale), extra, seconds)


class _Copy:
    """One collection on its way.

    Attributes:
        points: of the source, as far as it was read.
    """

    def __init__(
        self, name: str, source: Engine, target: Engine, report: Callable[[CopyStep], None]
    ) -> None:
        self._name, self._source, self._target = name, source, target
        self._ours, self._theirs = _sides(name, source, target)
        self._report = report
        self._documents: set[str] = set()
        self.points = 0
        with source.step(name):
            self._total = self._ours.count(None)

    def send(self) -> int:
        """Write what the target lacks, or has otherwise; how many points that are."""
        sent = 0
        for page in self._pages(self._source, self._ours, "copy", vectors=True):
            with self._target.step(self._name):
                there = _payloads(self._theirs, page)
                due = [one for one in page if there.get(one.node_id) != one.payload]
                if due and not sent:
                    _unmark(self._theirs)
                self._theirs.write(due)
            self._documents.update(map(_document, page))
            self.points += len(page)
            sent += len(due)
        return sent

    def compared(self, *, prune: bool) -> tuple[list[str], int]:
        """Which points are to be deleted, and how many more the target alone has.

        Raises:
            StoreError: it is not what was sent.
        """
        equal, extra, stale = 0, 0, list[str]()
        for page in self._pages(self._target, self._theirs, "verify"):
            with self._source.step(self._name):
                known = _payloads(self._ours, page)
            equal += sum(known.get(one.node_id) == one.payload for one in page)
            others = [one for one in page if one.node_id not in known]
            gone = [o.node_id for o in others if prune or _document(o) in self._documents]
            stale += gone
            extra += len(others) - len(gone)
        if equal != self.points:
            raise StoreError(
                f"{self._target.location}: collection {self._name!r} is not what was sent to it: "
                f"{self.points - equal} of {self.points} points differ; see that nothing else "
                f"writes to it or to {self._source.location}, and run this again"
            )
        return stale, extra

    def delete(self, stale: list[str]) -> None:
        """Delete points of the target, which is on the disk afterwards."""
        with self._target.step(self._name):
            if stale:
                _unmark(self._theirs)
            for first in range(0, len(stale), PAGE):
                self._theirs.delete(stale[first : first + PAGE])
            self._theirs.flush()

    def _pages(
        self,
        engine: Engine,
        side: EngineCollection,
        stage: Literal["copy", "verify"],
        *,
        vectors: bool = False,
    ) -> Iterator[list[Point]]:
        """All points of one side."""
        with engine.step(self._name):
            found = iter(side.select(EVERYTHING, None, vectors=vectors))
        done = 0
        while True:
            with engine.step(self._name):  # others may ask between two pages
                page = list(islice(found, PAGE))
            if not page:
                return
            yield page
            done += len(page)
            self._report(CopyStep(stage, self._name, done, max(done, self._total)))


def _sides(name: str, source: Engine, target: Engine) -> tuple[EngineCollection, EngineCollection]:
    """The collection and its copy, which has the same vectors.

    Raises:
        CollectionMissingError: the source has no such collection.
        ConfigurationError: both stores are the same, or one of the collections is not ours.
        DimensionError: the target's is for other embeddings.
    """
    if source is target:
        raise ConfigurationError(
            f"{source.location}: a store cannot be copied to itself; name another target"
        )
    with source.step(name):
        ours = source.collection(name)
    if ours is None:
        raise missing(source.location, name)
    with target.step(name):
        if target.collection(name) is None and ours.layout.is_ours:
            target.create(name, ours.layout)
        theirs = target.collection(name) or ours
    for engine, side in ((source, ours), (target, theirs)):
        if not side.layout.is_ours or side.layout.sparse is None:
            raise ConfigurationError(
                f"{engine.location}: collection {name!r} was written by another program, and only "
                "collections of ours can be copied"
            )
    if (sizes := theirs.layout.sizes) != ours.layout.sizes:
        raise DimensionError(
            f"{target.location}: collection {name!r} holds vectors of {_told(sizes)}, that of "
            f"{source.location} {_told(ours.layout.sizes)}; drop the one that is wrong, and run "
            "this again"
        )
    return ours, theirs


def _unmark(side: EngineCollection) -> None:
    """Have no ledger of a collection be believed, as it does not hear of what comes."""
    if marks := side.marks():
        side.mark(dict.fromkeys(marks))


def _payloads(side: EngineCollection, page: list[Point]) -> dict[str, Mapping[str, Any]]:
    """What one side has under the ids of some points of the other."""
    return {one.node_id: one.payload for one in side.read([one.node_id for one in page])}


def _document(point: Point) -> str:
    return str(point.payload.get(DOCUMENT_ID))


def _told(sizes: dict[str, int]) -> str:
    return " and ".join(f"length {size} ({name})" for name, size in sizes.items())
