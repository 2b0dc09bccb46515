"""The tools of agents, which have standard output to themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rag_nodes.cli.agents import Offered
    from rag_nodes.cli.invocation import Invocation


def served(offered: Offered, _request: object, cli: Invocation) -> list[RenderableType]:
    """Serve the tools on standard output until the agent leaves; then there is nothing to show."""
    from rag_nodes.server.stdio import serve

    output: Any = cli.output.file
    output.reconfigure(encoding="utf-8", newline="\n")
    serve(offered.tools, output)
    return []
