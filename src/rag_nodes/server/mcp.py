"""MCP: a tool per operation, for agents, over streamable HTTP; none of them changes anything.

The official SDK is mounted instead of Gradio's support: that would make tools of the page's
events, whose inputs are two dozen sliders and whose answers are HTML.
"""

from __future__ import annotations

import json
import logging
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import CallToolResult, TextContent, Tool, ToolAnnotations
from starlette.routing import Route

from rag_nodes import IDENTITY
from rag_nodes.core.errors import RagNodesError
from rag_nodes.core.keys import trace_of
from rag_nodes.operations import OPERATIONS, Operation
from rag_nodes.operations.base import model_for
from rag_nodes.server.failures import public
from rag_nodes.server.limits import address_of, ended_by_leaving
from rag_nodes.server.schemas import named_parsers, schema_of, shortened
from rag_nodes.server.served import request_of

if TYPE_CHECKING:
    from rag_nodes.server.served import ServedOperations

PATH = "/mcp"
"""Where the tools are."""
_READ_ONLY = ToolAnnotations(
    readOnlyHint=True, destructiveHint=False, idempotentHint=True, openWorldHint=False
)
logger = logging.getLogger(__name__)


class Tools(NamedTuple):
    """The tools of a server.

    Attributes:
        route: answers at `PATH`.
        manager: runs as long as the server does, see its `run`.
    """

    route: Route
    manager: StreamableHTTPSessionManager


def make_mcp(served: ServedOperations) -> Tools:
    """A tool for each operation that agents may ask for, without sessions.

    Args:
        served: the server they are part of.
    """
    offered = {one.name: one for one in OPERATIONS if "mcp" in one.surfaces}
    tools = [_tool(one, tuple(served.offer)) for one in offered.values()]
    server: Server[Any, Any] = Server(
        "rag_nodes",
        version=version("rag-nodes"),
        instructions=f"{IDENTITY} The tool answers from stored documents, with citations.",
    )

    @server.list_tools()  # type: ignore[no-untyped-call, untyped-decorator]
    async def listed() -> list[Tool]:
        return tools

    @server.call_tool(validate_input=False)  # type: ignore[untyped-decorator]
    async def call(name: str, arguments: dict[str, Any]) -> CallToolResult:
        if name not in offered:
            return _refused(f"unknown tool {name!r}; choose one of: {', '.join(offered)}")
        try:
            request = server.request_context.request
            return _result(await _done(served, offered[name], arguments, request))
        except RagNodesError as error:
            return _refused("; ".join(public(error)[1:]))
        except Exception as error:  # noqa: BLE001 - the agent is told what its server can say
            logger.error("a tool failed\n%s", trace_of(error))  # noqa: TRY400 - may hold a key
            return _refused("; ".join(public(error)[1:]))

    manager = StreamableHTTPSessionManager(
        server,
        stateless=True,
        max_request_body_size=served.limits.body_bytes,
        # `Gate` has looked at host and origin already.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Tools(Route(PATH, manager.asgi_app), manager)


async def _done(
    served: ServedOperations, operation: Operation, arguments: dict[str, Any], request: Any
) -> dict[str, Any]:
    """Do it in a thread as long as the agent waits."""
    asked = request_of(operation, "mcp", arguments)
    work = partial(served.perform, operation, "mcp", asked, lambda _: None)
    async with ended_by_leaving(request):
        with served.workers.place(address_of(request)):
            return await served.workers.thread(work)


def _tool(operation: Operation, parsers: tuple[str, ...]) -> Tool:
    """How agents see an operation."""
    taken = schema_of(model_for(operation.request, "mcp"))
    given = model_for(operation.reply, "mcp")
    return Tool(
        name=operation.name,
        title=operation.name.capitalize(),
        description=operation.summary,
        inputSchema=shortened(named_parsers(taken, parsers)),
        outputSchema=shortened(schema_of(given, reply=True), reply=True),
        annotations=_READ_ONLY,
    )


def _result(found: dict[str, Any]) -> CallToolResult:
    text = json.dumps(found, ensure_ascii=False)
    return CallToolResult(content=[TextContent(type="text", text=text)], structuredContent=found)


def _refused(words: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=words)], isError=True)
