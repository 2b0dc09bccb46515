"""Storage of chunks: the only package that knows Qdrant.

`open_store` takes `":memory:"`, a folder or a URL and gives a `Store`; nothing above this package
can tell which, and a `Store` over an `Engine` of your own will do. Qdrant itself is imported when
a store is opened, not before.
"""

from rag_nodes.store.bm25 import document_vectors, query_vectors
from rag_nodes.store.catalogue import (
    CollectionInfo,
    StoredNode,
    collection_name,
    described,
    is_complete,
    is_embedded_by,
    is_of,
    lack_of,
    missing,
    parser_collection,
)
from rag_nodes.store.conditions import Where, holds
from rag_nodes.store.engine import Engine, EngineCollection, Layout, Point
from rag_nodes.store.filters import Filter
from rag_nodes.store.fusion import Fusion, Scores
from rag_nodes.store.opening import ServerOptions, open_store
from rag_nodes.store.queries import Hit, Query, SearchMode
from rag_nodes.store.store import Store

__all__ = [
    "CollectionInfo",
    "Engine",
    "EngineCollection",
    "Filter",
    "Fusion",
    "Hit",
    "Layout",
    "Point",
    "Query",
    "Scores",
    "SearchMode",
    "ServerOptions",
    "Store",
    "StoredNode",
    "Where",
    "collection_name",
    "described",
    "document_vectors",
    "holds",
    "is_complete",
    "is_embedded_by",
    "is_of",
    "lack_of",
    "missing",
    "open_store",
    "parser_collection",
    "query_vectors",
]
