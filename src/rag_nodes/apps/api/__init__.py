"""The REST API: upload, chunk, ask, compare, status and clear, as an app to mount at `/api`."""

from rag_nodes.apps.api.access import Access, Gate
from rag_nodes.apps.api.application import make_api
from rag_nodes.apps.api.clients import Client, Clients
from rag_nodes.apps.api.limits import BodyLimits, ServerLimits, Workers

__all__ = [
    "Access",
    "BodyLimits",
    "Client",
    "Clients",
    "Gate",
    "ServerLimits",
    "Workers",
    "make_api",
]
