"""Collections of a folder that qdrant-client's local mode made, copied into a folder of ours."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from rag_nodes.errors import ConfigurationError, RagNodesError, StoreError, StoreFullError
from rag_nodes.store.engine import MEMORY
from rag_nodes.store.points import UNNAMED, Layout, Point
from rag_nodes.store.transfer import CopyStep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rag_nodes.store.edge.engine import Edge
    from rag_nodes.store.inside_qdrant import LocalFolder
    from rag_nodes.store.qdrant import QdrantStore

_PAGE = 1_000
"""Points written together."""


@dataclass(frozen=True, slots=True)
class ImportReport:
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
    """A collection that was not imported; nothing of it is in the store.

    Attributes:
        collection: its name.
        error: why, with the remedy.
    """

    collection: str
    error: RagNodesError


def import_collections(
    source: LocalFolder,
    store: QdrantStore,
    progress: Callable[[CopyStep], None] | None = None,
) -> Iterator[ImportReport | ImportFailure]:
    """Copy every collection of a folder of local mode, with ids, payloads and vectors.

    The folder is only read. Each collection is there as a whole or not at all; one that cannot be
    imported does not keep the others from it.

    Args:
        source: to copy from.
        store: to copy into, one in a folder.
        progress: called after every page.

    Raises:
        ConfigurationError: the store is not one in a folder.
        StoreFullError: the disk has too little space; the collections before are imported.
    """
    from rag_nodes.store.edge.engine import Edge

    engine = store.engine
    if not isinstance(engine, Edge) or engine.location == MEMORY:
        raise ConfigurationError(
            f"{store.location}: collections are imported into a folder; name one with --store"
        )
    for name in source.names:
        try:
            points, left_out = _imported(name, source, engine, progress or (lambda _: None))
        except StoreFullError:
            raise
        except RagNodesError as error:
            yield ImportFailure(name, error)
        else:
            yield ImportReport(name, points, left_out)


def _imported(
    name: str, source: LocalFolder, engine: Edge, report: Callable[[CopyStep], None]
) -> tuple[int, tuple[str, ...]]:
    """How many points are there now, and which vectors are not."""
    from rag_nodes.store.server.terms import layout_of

    params = source.params(name)
    layout = layout_of(params, f"{source.path}: collection {name!r}")
    total = source.count(name)

    def pages() -> Iterator[list[Point]]:
        points, done = (_point(one, layout) for one in source.points(name)), 0
        while page := list(islice(points, _PAGE)):
            yield page
            done += len(page)
            report(CopyStep("copy", name, done, total))

    with engine.step(name):
        _make_room(name, engine)
        engine.take(name, layout, pages())
        points = engine.count(name, None)
    dense = params.vectors if isinstance(params.vectors, dict) else {UNNAMED: params.vectors}
    there = {*dense, *(params.sparse_vectors or ())}
    return points, tuple(sorted(there - {layout.dense, layout.sparse, *layout.named}))


def _make_room(name: str, engine: Edge) -> None:
    """See that nothing is replaced but an empty collection.

    Raises:
        StoreError: something is there under that name.
    """
    if name in engine.aliases():
        raise StoreError(
            f"{engine.location}: {name!r} is an alias there; remove it with `rag-nodes store alias "
            f"{name} --remove`, or import into another folder"
        )
    if name in engine.names():
        if there := engine.count(name, None):
            raise StoreError(
                f"{engine.location}: collection {name!r} is there already, with {there:,} points; "
                "import into another folder"
            )
        engine.drop(name)


def _point(stored: Any, layout: Layout) -> Point:
    """A point of another program, with those of its vectors that can be ranked here."""
    from pydantic_core import to_jsonable_python

    vectors = stored.vector if isinstance(stored.vector, dict) else {UNNAMED: stored.vector}
    sparse = vectors.get(layout.sparse) if layout.sparse else None
    named = {name: vectors[name] for name in layout.named if vectors.get(name) is not None}
    return Point(
        str(stored.id if isinstance(stored.id, int) else UUID(str(stored.id))),
        to_jsonable_python(stored.payload or {}),
        vectors.get(layout.dense),
        (list(sparse.indices), list(sparse.values)) if sparse else ([], []),
        named,
    )
