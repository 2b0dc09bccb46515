"""REST, MCP and the page behind one gate.

Importing this loads no web framework; `launch` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rag_nodes.server.gate import Access
    from rag_nodes.settings import Settings

__all__ = ["launch"]


def launch(
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 7860,
    documents: Sequence[str | Path] = (),
    access: Access | None = None,
    mcp: bool = False,
    local_models: bool = False,
    parsers: Mapping[str, Any] | Sequence[str] = (),
) -> None:
    """Serve the app until it is interrupted; see `rag_nodes.server.serve`."""
    from rag_nodes.server.serve import launch as serve

    serve(
        settings,
        host=host,
        port=port,
        documents=documents,
        access=access,
        mcp=mcp,
        local_models=local_models,
        parsers=parsers,
    )
