"""What stands before page, REST and MCP: who may come in, how much they bring, who works when."""

from rag_nodes.server.gate.access import Access, Gate
from rag_nodes.server.gate.headers import NoDeepLinks, SecurityHeaders
from rag_nodes.server.gate.limits import BodyLimits, ServerLimits
from rag_nodes.server.gate.throttle import Throttle
from rag_nodes.server.gate.workers import Caller, Workers, ended_by_leaving

__all__ = [
    "Access",
    "BodyLimits",
    "Caller",
    "Gate",
    "NoDeepLinks",
    "SecurityHeaders",
    "ServerLimits",
    "Throttle",
    "Workers",
    "ended_by_leaving",
]
