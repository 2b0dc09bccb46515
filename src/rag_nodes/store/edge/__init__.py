"""Qdrant's own engine in this process, by `qdrant-edge-py`: nothing else touches that package.

What a new version of it may change without a word is written down in
`tests/store/test_inside_edge.py`, a test per assumption.
"""

from rag_nodes.store.edge.engine import Edge, open_edge
from rag_nodes.store.edge.vector_store import EdgeVectorStore

__all__ = ["Edge", "EdgeVectorStore", "open_edge"]
