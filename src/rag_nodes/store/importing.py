"""Collections of a folder that qdrant-client's local mode made, copied into a folder of ours."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from rag_nodes.errors import ConfigurationError, RagNodesError, StoreError, StoreFullError
from rag_nodes.store.engine import MEMORY
from rag_nodes.store.points import UNNAMED, Layout, Point
from rag_nodes.store.transfer import CopyStep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rag_nodes.store.engine import Engine
    from rag_nodes.store.local_mode import LocalFolder
    from rag_nodes.store.store import Store

_PAGE = 1_000
"""Points written together."""
_UNFINISHED = "import"
"""Mark of a collection of which not all is there yet."""


class ImportReport(NamedTuple):
    """What became of one collection.

    Attributes:
        collection: its name, in both folders.
        points: that are stored now.
        left_out: names of vectors that cannot be ranked here, and were not copied.
    """

    collection: str
    points: int
    left_out: tuple[str, ...]


class ImportFailure(NamedTuple):
    """A collection that was not imported, and why; nothing of it is in the store."""

    collection: str
    error: RagNodesError


def import_collections(
    source: LocalFolder,
    store: Store,
    progress: Callable[[CopyStep], None] | None = None,
) -> Iterator[ImportReport | ImportFailure]:
    """Copy every collection of a folder of local mode, with ids, payloads and vectors.

    The folder is only read. One that cannot be imported does not keep the others from it; one of
    which the import was killed is imported anew.

    Args:
        source: to copy from.
        store: to copy into, one in a folder.
        progress: called after every page.

    Raises:
        ConfigurationError: the store is not one in a folder.
        StoreFullError: the disk has too little space; the collections before are imported.
    """
    if store.location == MEMORY or "://" in store.location:
        raise ConfigurationError(
            f"{store.location}: collections are imported into a folder; name one with --store"
        )
    for name in source.names:
        try:
            yield _imported(name, source, store.engine, progress or (lambda _: None))
        except StoreFullError:
            raise
        except RagNodesError as error:
            yield ImportFailure(name, error)


def _imported(
    name: str, source: LocalFolder, engine: Engine, report: Callable[[CopyStep], None]
) -> ImportReport:
    from rag_nodes.store.server.models import layout_of

    params = source.params(name)
    layout = layout_of(params, f"{source.path}: collection {name!r}")
    points, total, done = source.points(name), source.count(name), 0
    with engine.step(name):
        _make_room(name, engine)
        engine.create(name, layout)
        made = engine.collection(name)
        assert made  # noqa: S101 -- for the type checker
        made.mark({_UNFINISHED: name})
        try:
            while page := list(islice(points, _PAGE)):
                made.write([_point(one, layout) for one in page])
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


def _make_room(name: str, engine: Engine) -> None:
    """See that nothing is replaced but an empty collection, or one that is there in part."""
    if name in engine.aliases():
        raise StoreError(
            f"{engine.location}: {name!r} is an alias there; remove it with `rag-nodes store alias "
            f"{name} --remove`, or import into another folder"
        )
    if there := engine.collection(name):
        if (points := there.count(None)) and _UNFINISHED not in there.marks():
            raise StoreError(
                f"{engine.location}: collection {name!r} is there already, with {points:,} points; "
                "import into another folder"
            )
        engine.drop(name)


def _point(stored: Any, layout: Layout) -> Point:
    """A point of another program, with those of its vectors that can be ranked here."""
    from pydantic_core import to_jsonable_python

    own = str(stored.id if isinstance(stored.id, int) else UUID(str(stored.id)))
    return Point.of(own, to_jsonable_python(stored.payload or {}), stored.vector, layout)
