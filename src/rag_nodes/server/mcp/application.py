"""The tools as one app for streamable HTTP."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.fastmcp import FastMCP
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import Tool, ToolAnnotations

from rag_nodes import IDENTITY
from rag_nodes.parsers import offered
from rag_nodes.server.mcp.evaluation import EvaluationTools
from rag_nodes.server.mcp.tools import Tools
from rag_nodes.server.rest.parser_options import naming

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rag_nodes.parsers import Preset
    from rag_nodes.server.limits import ServerLimits
    from rag_nodes.server.workers import Workers
    from rag_nodes.settings import Settings

PATH = "/mcp"
"""Where the tools are."""
_READ_ONLY = ToolAnnotations(
    readOnlyHint=True, destructiveHint=False, idempotentHint=True, openWorldHint=False
)


def make_mcp(
    settings: Settings,
    workers: Workers,
    limits: ServerLimits,
    offer: Mapping[str, Preset] | None = None,
) -> FastMCP[Any]:
    """The tools as a server for streamable HTTP, without sessions.

    Args:
        settings: models, store and corpus.
        workers: threads for what blocks.
        limits: how much one request may bring.
        offer: parsers that may be named; None for presets and plug-ins.
    """
    offer = offered() if offer is None else offer
    with _logging_kept():
        server = _Server(
            "rag_nodes",
            instructions=f"{IDENTITY} The tools cut texts, answer questions from them with "
            "citations, and evaluate parsers on labelled questions.",
            streamable_http_path=PATH,
            stateless_http=True,
            # Events, unlike one JSON document, can tell of progress before the result.
            json_response=False,
            max_request_body_size=limits.body_bytes,
            # `Gate` has looked at host and origin already.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
    server.parsers = tuple(offer)
    tools = Tools(settings, workers, offer)
    evaluation = EvaluationTools(settings, workers, offer)
    for tool in (
        tools.chunk,
        tools.ask,
        tools.compare,
        evaluation.evaluate,
        evaluation.check_questions,
    ):
        server.tool(annotations=_READ_ONLY)(tool)
    return server


class _Server(FastMCP[Any]):
    """The SDK's server, which says in the schema of each tool which parsers there are."""

    parsers: tuple[str, ...] = ()

    async def list_tools(self) -> list[Tool]:
        """The tools, as agents see them."""
        tools = await super().list_tools()
        for tool in tools:
            tool.inputSchema = naming(tool.inputSchema, self.parsers)
        return tools


@contextmanager
def _logging_kept() -> Iterator[None]:
    """Undo what the SDK does to the logging of the whole process while it is set up."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
