"""REST, MCP and the page behind one gate.

Importing this loads no web framework; `launch` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.core.import_paths import lazy_getattr

if TYPE_CHECKING:
    from rag_nodes.server.serve import launch

__all__ = ["launch"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for this one
    __getattr__ = lazy_getattr(__name__, {"serve": ["launch"]})
