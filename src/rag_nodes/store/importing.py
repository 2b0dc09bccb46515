"""Collections out of a folder of qdrant-client's local mode.

What is assumed about such folders is here, and a new qdrant-client may change any of it without a
word: its upper bound in `pyproject.toml` is raised when `tests/store/test_importing.py` passes.
"""

from __future__ import annotations

import io
import json
import pickle
import sqlite3
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from rag_nodes.errors import ConfigurationError, StoreDamagedError, StoreError
from rag_nodes.store.copying import PAGE, CopyStep, one_by_one
from rag_nodes.store.engine import MEMORY, UNNAMED, Point

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rag_nodes.store.copying import CopyFailure
    from rag_nodes.store.store import Store

_UNFINISHED = "import"
"""Mark of a collection of which not all is there yet."""
_READ = {
    ("qdrant_client.http.models.models", "PointStruct"),
    ("qdrant_client.http.models.models", "SparseVector"),
    *(("datetime", name) for name in ("date", "datetime", "timedelta", "timezone")),
    ("uuid", "UUID"),
}
"""Classes that a stored point is made of. Points are pickles, which could run anything."""


class ImportReport(NamedTuple):
    """What became of a collection; vectors that are `left_out` cannot be ranked here."""

    collection: str
    points: int
    left_out: tuple[str, ...]


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
