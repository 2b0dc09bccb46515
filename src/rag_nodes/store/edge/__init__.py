"""Qdrant's own engine in this process, by `qdrant-edge-py`: nothing else touches that package.

What a new version of it may change without a word is written down in
`tests/store/test_inside_edge.py`, a test per assumption.
"""

from pathlib import Path

from rag_nodes.store.edge.engine import Edge, FolderEdge
from rag_nodes.store.engine import MEMORY

__all__ = ["Edge", "open_edge"]


def open_edge(location: str) -> Edge:
    """A new engine in memory, or the one that this process has on a folder; see `FolderEdge`."""
    if location == MEMORY:
        from rag_nodes.store.edge.memory import MemoryEdge

        return MemoryEdge()
    return FolderEdge.of(Path(location).expanduser().resolve())
