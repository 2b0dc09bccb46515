"""Where chunks live: the only package that knows Qdrant.

`open_store` takes `":memory:"`, a folder or a URL and gives a `Store`; nothing above this package
can tell which. Qdrant itself is imported when a store is opened, not before.
"""

from rag_nodes.store.catalogue import Catalogue, StoredNode, is_complete
from rag_nodes.store.filters import Filter
from rag_nodes.store.fusion import Fusion
from rag_nodes.store.hit import Hit
from rag_nodes.store.names import CollectionInfo, collection_name, parser_collection
from rag_nodes.store.search import SearchMode
from rag_nodes.store.store import Store, open_store

__all__ = [
    "Catalogue",
    "CollectionInfo",
    "Filter",
    "Fusion",
    "Hit",
    "SearchMode",
    "Store",
    "StoredNode",
    "collection_name",
    "is_complete",
    "open_store",
    "parser_collection",
]
