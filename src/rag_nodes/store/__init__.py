"""Where chunks live: the only package that knows Qdrant.

`open_store` takes `":memory:"`, a folder or a URL and gives a `Store`; nothing above this package
can tell which, and any other class that follows `Store` will do. Qdrant itself is imported when a
store is opened, not before.
"""

from rag_nodes.store.catalogue import (
    CollectionInfo,
    StoredNode,
    collection_name,
    described,
    is_complete,
    is_embedded_by,
    is_of,
    parser_collection,
)
from rag_nodes.store.faults import missing
from rag_nodes.store.filters import Filter
from rag_nodes.store.fusion import Scores
from rag_nodes.store.hits import Hit, best_hits
from rag_nodes.store.opening import open_store
from rag_nodes.store.options import ServerOptions
from rag_nodes.store.points import Point
from rag_nodes.store.protocol import Store
from rag_nodes.store.qdrant import QdrantStore
from rag_nodes.store.queries import Fusion, Query, SearchMode
from rag_nodes.store.transfer import CopyReport, CopyStep, copy_collection

__all__ = [
    "CollectionInfo",
    "CopyReport",
    "CopyStep",
    "Filter",
    "Fusion",
    "Hit",
    "Point",
    "QdrantStore",
    "Query",
    "Scores",
    "SearchMode",
    "ServerOptions",
    "Store",
    "StoredNode",
    "best_hits",
    "collection_name",
    "copy_collection",
    "described",
    "is_complete",
    "is_embedded_by",
    "is_of",
    "missing",
    "open_store",
    "parser_collection",
]
