"""The browser app: documents in, the answers of several parsers side by side.

Importing this loads no Gradio; `build_app` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import gradio as gr
    from llama_index.core.schema import Document

    from rag_nodes.core.settings import Settings

__all__ = ["build_app", "require_gradio"]


def build_app(
    settings: Settings | None = None,
    *,
    columns: Mapping[str, Any] | str | Sequence[str | Any] = (),
    documents: str | Path | Document | Sequence[str | Path | Document] = (),
    **options: Any,
) -> gr.Blocks:
    """The app as Gradio blocks, safe to launch, to mount, or to be a tab of other blocks.

    The options are those of `rag_nodes.apps.page.build_app`: `embed_model`, `llm`,
    `answering`.

    Raises:
        MissingExtraError: Gradio is not installed.
        ConfigurationError: one of the columns cannot be used.
    """
    require_gradio()
    from rag_nodes.apps.page import build_app as build

    return build(settings, columns=columns, documents=documents, **options)


def require_gradio() -> None:
    """Say which extra is missing where the app cannot be served.

    Raises:
        MissingExtraError: Gradio is not installed.
    """
    try:
        import gradio as gr
    except ModuleNotFoundError as error:
        if error.name != "gradio":
            raise
        raise MissingExtraError("gradio", "app") from error
    del gr
