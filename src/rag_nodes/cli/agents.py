"""`rag-nodes mcp`: the tools of agents over standard input and output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from rag_nodes.core.errors import MissingExtraError
from rag_nodes.operations.base import Request, Result
from rag_nodes.operations.fields import AS_PARSER, PARSER_NAMES, Parser
from rag_nodes.operations.run import Run

if TYPE_CHECKING:
    from rag_nodes.operations.agents import StoredTools


class McpRequest(Request):
    """Give an agent tools to search, ask and quote your stored documents (MCP over stdio).

    Desktop clients start this command themselves. Standard output is the protocol; it ends with
    standard input.
    """

    parser: Annotated[
        Parser | None,
        AS_PARSER,
        Field(description=f"Parser of the ingest: {PARSER_NAMES}."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered(Result):
    """Tools that are ready to be served."""

    tools: StoredTools

    def as_dict(self) -> dict[str, Any]:
        """Names of the tools."""
        from rag_nodes.operations.agents import TOOLS

        return {"tools": list(TOOLS)}


def mcp(request: McpRequest, run: Run) -> Offered:
    """Make the tools ready; what they lack may still be ingested."""
    try:
        import mcp.server.stdio  # noqa: F401 - the view serves with it
    except ModuleNotFoundError as error:
        if error.name != "mcp":
            raise
        raise MissingExtraError("mcp", "mcp") from error
    from rag_nodes.operations.agents import StoredTools

    tools = StoredTools(run.settings, request.parser)
    if words := tools.lack():
        run.warn(words)
    return Offered(tools=tools)
