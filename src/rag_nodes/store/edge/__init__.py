"""Qdrant's own engine in this process, by `qdrant-edge-py`: nothing else touches that package.

What a new version of it may change without a word is written down in
`tests/store/test_inside_edge.py`, a test per assumption.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.lazy_imports import lazy_getattr
from rag_nodes.store.edge.engine import Edge
from rag_nodes.store.edge.folder import open_edge

if TYPE_CHECKING:
    from rag_nodes.store.edge.vector_store import EdgeVectorStore

__all__ = ["Edge", "EdgeVectorStore", "open_edge"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__ = lazy_getattr(__name__, {"EdgeVectorStore": "vector_store"})
