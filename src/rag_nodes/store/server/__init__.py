"""Qdrant at a URL: the only folder that speaks to a server."""

from rag_nodes.store.server.engine import Served, open_server

__all__ = ["Served", "open_server"]
