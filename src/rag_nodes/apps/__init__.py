"""The browser app: documents in, the answers of several parsers side by side.

Importing this loads no Gradio; `build_app` and `launch` do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import gradio as gr
    from llama_index.core.schema import Document

    from rag_nodes.settings import Settings

__all__ = ["build_app", "launch"]


def build_app(
    settings: Settings | None = None,
    *,
    columns: Mapping[str, Any] | Sequence[str] = (),
    documents: Sequence[str | Path | Document] = (),
    **options: Any,
) -> gr.Blocks:
    """The app as Gradio blocks, safe to launch, to mount, or to be a tab of other blocks.

    The options are those of `rag_nodes.apps.page.build_app`: `embed_model`, `llm`, `local_models`.
    """
    from rag_nodes.apps.page import build_app as build

    return build(settings, columns=columns, documents=documents, **options)


def launch(settings: Settings, **options: Any) -> None:
    """Serve the app until it is interrupted; the options are those of `rag_nodes.server.launch`."""
    from rag_nodes.server import launch as serve

    serve(settings, **options)
