"""MCP tools beside the page: agents cut, ask, compare and evaluate; none of it changes anything.

The official SDK is mounted instead of Gradio's support: that would make tools of the page's
events, whose inputs are two dozen sliders and whose answers are HTML.
"""

from rag_nodes.server.mcp.application import PATH, make_mcp

__all__ = ["PATH", "make_mcp"]
