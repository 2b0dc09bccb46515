"""Qdrant at a URL: the only folder that speaks to a server."""

from rag_nodes.store.server.connection import connected
from rag_nodes.store.server.engine import Served

__all__ = ["Served", "connected"]
