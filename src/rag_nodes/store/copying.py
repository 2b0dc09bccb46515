"""Collections copied: from one store to another, or out of a folder of qdrant-client's local mode.

From store to store a copy can be gone on with after any end: both sides list their points with what
an ingest notes of each, and a point is sent where the target lacks it or has it of another version.
Then the target is listed again, and has to hold what the source does.

What is assumed about folders of local mode is here, and a new qdrant-client may change any of it
without a word: its upper bound in `pyproject.toml` is raised when `tests/store/test_importing.py`
passes.
"""

from __future__ import annotations

import io
import json
import pickle
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar
from uuid import UUID

from rag_nodes.errors import (
    ConfigurationError,
    CredentialsError,
    DimensionError,
    RagNodesError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreUnreachableError,
)
from rag_nodes.store.catalogue import missing
from rag_nodes.store.engine import MEMORY, UNNAMED, Point

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from rag_nodes.store.catalogue import StoredNode
    from rag_nodes.store.engine import EngineCollection
    from rag_nodes.store.store import Store

    Documents = Mapping[str, Mapping[str, StoredNode]]

PAGE = 256
"""Points read, sent and deleted together."""
_UNFINISHED = "import"
"""Mark of a collection of which not all is there yet."""
_READ = {
    ("qdrant_client.http.models.models", "PointStruct"),
    ("qdrant_client.http.models.models", "SparseVector"),
    *(("datetime", name) for name in ("date", "datetime", "timedelta", "timezone")),
    ("uuid", "UUID"),
}
"""Classes that a stored point is made of. Points are pickles, which could run anything."""


class CopyStep(NamedTuple):
    """How far the copy of the collection `name` is, in points that are in the target."""

    name: str
    done: int
    total: int
    stage: Literal["copy"] = "copy"


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What became of a collection, in points: of the source's, `sent` or there `unchanged`.

    Of the target's, `deleted` as the source has others or none in their place, and `extra`, of
    documents that only the target has, which were left alone.
    """

    collection: str
    points: int
    sent: int
    unchanged: int
    deleted: int
    extra: int
    seconds: float


class ImportReport(NamedTuple):
    """What became of a collection; vectors that are `left_out` cannot be ranked here."""

    collection: str
    points: int
    left_out: tuple[str, ...]


class CopyFailure(NamedTuple):
    """A collection that could not be copied, and why; a run that is repeated goes on with it."""

    collection: str
    error: RagNodesError


_ENDS_ALL = (CredentialsError, StoreFullError, StoreLockedError, StoreUnreachableError)
"""Errors by which the next collection could not be copied either."""
Report = TypeVar("Report")


def one_by_one(
    names: Iterable[str], copy: Callable[[str], Report]
) -> Iterator[Report | CopyFailure]:
    """What became of each collection: one that cannot be copied keeps no other from it.

    Raises:
        StoreError: what no collection can be copied by: a store is full, locked or does not answer.
        CredentialsError: the key of a server is wrong.
    """
    for name in names:
        try:
            yield copy(name)
        except _ENDS_ALL:
            raise
        except RagNodesError as error:
            yield CopyFailure(name, error)


def copy_collection(
    collection: str,
    source: Store,
    target: Store,
    progress: Callable[[CopyStep], None] | None = None,
    *,
    prune: bool = False,
) -> CopyReport:
    """Make a collection of one store the same in another; nothing is embedded or computed anew.

    Run again after any interruption it sends what lacks. Nothing else may write to either
    meanwhile.

    Args:
        collection: its name, one of ours, or an alias of it; made in the target where missing.
        source: read from.
        target: written to.
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
    ours, theirs = _sides(name, source, target)
    wanted, there = source.documents(name), target.documents(name)
    total, due = sum(map(len, wanted.values())), _unlike(wanted, there)
    alone = {d: nodes.keys() - wanted.get(d, {}).keys() for d, nodes in there.items()}
    stale = [one for d, ids in alone.items() if prune or d in wanted for one in ids]
    if due or stale:
        with target.engine.step(name):  # no ledger is believed that does not hear of this
            theirs.mark(dict.fromkeys(theirs.marks()))
    for first in range(0, len(due), PAGE):
        with source.engine.step(name):
            page = ours.read(due[first : first + PAGE], vectors=True)
        with target.engine.step(name):
            theirs.write(page)
        if progress:
            progress(CopyStep(name, total - len(due) + first + len(page), total))
    target.delete(name, stale)
    target.flush(name)
    if lost := len(_unlike(wanted, target.documents(name), all_versions=True)):
        raise StoreError(
            f"{target.location}: collection {name!r} is not what was sent to it: {lost} of "
            f"{total} points differ; see that nothing else writes to it or to {source.location}, "
            "and run this again"
        )
    extra = sum(map(len, alone.values())) - len(stale)
    seconds = time.perf_counter() - started
    return CopyReport(name, total, len(due), total - len(due), len(stale), extra, seconds)


def _unlike(wanted: Documents, there: Documents, *, all_versions: bool = False) -> list[str]:
    """Points that are not there as they are wanted.

    What no ingest wrote has no version: it counts as another one, but with `all_versions`.
    """
    return [
        one
        for document, nodes in wanted.items()
        for one, node in nodes.items()
        if not (node.source_hash or all_versions) or there.get(document, {}).get(one) != node
    ]


def _sides(name: str, source: Store, target: Store) -> tuple[EngineCollection, EngineCollection]:
    """The collection and its copy, which has the same vectors; for errors see above."""
    if source.engine is target.engine:
        raise ConfigurationError(
            f"{source.location}: a store cannot be copied to itself; name another target"
        )
    with source.engine.step(name):
        ours = source.engine.collection(name)
    if ours is None:
        raise missing(source.location, name)
    with target.engine.step(name):
        if target.engine.collection(name) is None and ours.layout.is_ours:
            target.engine.create(name, ours.layout)
        theirs = target.engine.collection(name) or ours
    for store, side in ((source, ours), (target, theirs)):
        if not side.layout.is_ours:
            raise ConfigurationError(
                f"{store.location}: collection {name!r} was written by another program, and only "
                "collections of ours can be copied"
            )
    if theirs.layout.sizes != ours.layout.sizes:
        raise DimensionError(
            f"{target.location}: collection {name!r} holds vectors of {_told(theirs)}, that of "
            f"{source.location} {_told(ours)}; drop the one that is wrong, and run this again"
        )
    return ours, theirs


def _told(side: EngineCollection) -> str:
    return " and ".join(f"length {size} ({name})" for name, size in side.layout.sizes.items())


def collections_in(folder: Path) -> list[str]:
    """Names of the collections of a folder of local mode.

    Raises:
        StoreError: it is no such folder, or cannot be read.
    """
    return list(_settings(folder))


def import_collections(
    folder: Path, store: Store, progress: Callable[[CopyStep], None] | None = None
) -> Iterator[ImportReport | CopyFailure]:
    """Copy every collection of a folder of local mode, with ids, payloads and vectors.

    The folder is only read. One of which the import was killed is imported anew. `progress` is
    called after every page.

    Raises:
        ConfigurationError: the store is not one in a folder.
        StoreError: it is no such folder, or see `one_by_one`.
    """
    if store.location == MEMORY or "://" in store.location:
        raise ConfigurationError(
            f"{store.location}: collections are imported into a folder; name one with --store"
        )
    known, report = _settings(folder), progress or (lambda _: None)
    return one_by_one(known, lambda name: _imported(folder, name, known[name], store, report))


def _imported(
    folder: Path, name: str, about: Any, store: Store, report: Callable[[CopyStep], None]
) -> ImportReport:
    from qdrant_client.http.models import CreateCollection

    from rag_nodes.store.server.models import layout_of

    file = folder / "collection" / name / "storage.sqlite"
    # A copy made at once, so that the program it belongs to may write meanwhile.
    rows = sqlite3.connect("", check_same_thread=False)
    try:
        told = {key: about.get(key) for key in ("vectors", "sparse_vectors")}
        params = CreateCollection(**told)
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as theirs:
            theirs.backup(rows)
        [(total,)] = rows.execute("SELECT count(*) FROM points")
    except (sqlite3.Error, ValueError, AttributeError) as error:
        rows.close()
        raise _unreadable(file, error) from error
    engine = store.engine
    with closing(rows), engine.step(name):
        layout = layout_of(params, f"{folder}: collection {name!r}")
        _make_room(name, store)
        engine.create(name, layout)
        made, done = engine.collection(name), 0
        assert made  # noqa: S101 -- for the type checker
        made.mark({_UNFINISHED: name})
        try:
            points = _points(file, rows)
            while page := list(islice(points, PAGE)):
                made.write([Point.of(*one, layout) for one in page])
                done += len(page)
                report(CopyStep(name, done, total))
        except BaseException:
            engine.drop(name)
            raise
        made.flush()
        made.mark({_UNFINISHED: None})
        dense = params.vectors if isinstance(params.vectors, dict) else {UNNAMED: None}
        left_out = {*dense, *(params.sparse_vectors or ())} - {layout.sparse, *layout.sizes}
        return ImportReport(name, made.count(None), tuple(sorted(left_out)))


def _make_room(name: str, store: Store) -> None:
    """See that nothing is replaced but an empty collection, or one that is there in part."""
    if name in store.engine.aliases():
        raise StoreError(
            f"{store.location}: {name!r} is an alias there; remove it with `rag-nodes store alias "
            f"{name} --remove`, or import into another folder"
        )
    if there := store.engine.collection(name):
        if (points := there.count(None)) and _UNFINISHED not in there.marks():
            raise StoreError(
                f"{store.location}: collection {name!r} is there already, with {points:,} points; "
                "import into another folder"
            )
        store.engine.drop(name)


def _points(file: Path, rows: sqlite3.Connection) -> Iterator[tuple[str, Any, Any]]:
    """Id, payload and vectors of each point; of two with the same id the later one counts."""
    from pydantic_core import to_jsonable_python

    for (value,) in rows.execute("SELECT point FROM points ORDER BY rowid"):
        try:
            one = _Unpickler(io.BytesIO(value)).load()
            own = str(one.id if isinstance(one.id, int) else UUID(str(one.id)))
            yield own, to_jsonable_python(one.payload or {}), one.vector
        except Exception as error:  # damaged pickles raise anything
            raise _unreadable(file, error) from error


class _Unpickler(pickle.Unpickler):
    """Makes points and nothing else of a pickle."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _READ:
            raise pickle.UnpicklingError(f"a point holds a {module}.{name}")
        return super().find_class(module, name)


def _settings(folder: Path) -> dict[str, Any]:
    """What local mode notes of each collection, by name."""
    file = folder / "meta.json"
    if not file.is_file():
        raise StoreError(
            f"{folder}: this is no folder of qdrant-client's local mode; name the one that the "
            "program gives as QdrantClient(path=...)"
        )
    try:
        return dict(json.loads(file.read_bytes())["collections"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable(file, error) from error


def _unreadable(file: Path, error: Exception) -> StoreDamagedError:
    return StoreDamagedError(
        f"{file}: it cannot be read ({type(error).__name__}: {error}); see that the program it "
        "belongs to can open it, and run this again"
    )
