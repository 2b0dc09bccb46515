"""Whose session a request is about, and whose places it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import Header

if TYPE_CHECKING:
    from fastapi import Request

    from rag_nodes.server.clients import Clients
    from rag_nodes.server.workers import Caller, Workers

SessionId = Annotated[
    str | None,
    Header(alias="X-Session", max_length=100, description="What /upload answered as session."),
]


def caller_of(request: Request, key: str | None, clients: Clients, workers: Workers) -> Caller:
    """Whose places a request takes: its session's, else those of where it comes from."""
    if key is not None and key in clients:
        return workers.session(key)
    return workers.address(request.client.host if request.client else "")
