"""MCP over streamable HTTP: the tools of agents at `PATH`, beside the page and REST.

The official SDK is mounted instead of Gradio's support: that would make tools of the page's
events, whose inputs are two dozen sliders and whose answers are HTML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import Route

from rag_nodes.operations.agents import StoredTools
from rag_nodes.server.limits import address_of, ended_by_leaving
from rag_nodes.server.tools import tool_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag_nodes.operations.fields import ParserSpec
    from rag_nodes.server.served import ServedOperations

PATH = "/mcp"
"""Path of the tools."""


class Tools(NamedTuple):
    """The tools of a server.

    Attributes:
        route: answers at `PATH`.
        manager: runs as long as the server does, see its `run`.
    """

    route: Route
    manager: StreamableHTTPSessionManager


def make_mcp(served: ServedOperations, parser: ParserSpec | None = None) -> Tools:
    """Return the tools over the store of a server, without sessions.

    Args:
        served: the server they are part of.
        parser: parser whose chunks are searched, see `StoredTools`.
    """

    async def caller(work: Callable[[], dict[str, Any]], request: Any) -> dict[str, Any]:
        async with ended_by_leaving(request):
            with served.workers.place(address_of(request)):
                return await served.workers.thread(work)

    manager = StreamableHTTPSessionManager(
        tool_server(StoredTools.over_http(served.settings, parser), caller),
        stateless=True,
        max_request_body_size=served.limits.body_bytes,
        # `Gate` has looked at host and origin already.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Tools(Route(PATH, manager.asgi_app), manager)
