"""One user's documents, store and comparison, and who is here to use them."""

from rag_nodes.workspace.options import Choice
from rag_nodes.workspace.session import Session
from rag_nodes.workspace.sessions import Sessions, Visitors
from rag_nodes.workspace.workspace import Workspace

__all__ = ["Choice", "Session", "Sessions", "Visitors", "Workspace"]
