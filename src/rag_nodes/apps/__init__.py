"""The browser app: documents in, the answers of several parsers side by side.

Importing this loads no Gradio; `build_app` and `launch` do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_nodes.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import gradio as gr
    from llama_index.core.schema import Document

    from rag_nodes.compare import Comparison
    from rag_nodes.settings import Settings

__all__ = ["build_app", "launch", "require_gradio", "tab_of"]


def build_app(
    settings: Settings | None = None,
    *,
    columns: Mapping[str, Any] | str | Sequence[str] = (),
    documents: str | Path | Document | Sequence[str | Path | Document] = (),
    **options: Any,
) -> gr.Blocks:
    """The app as Gradio blocks, safe to launch, to mount, or to be a tab of other blocks.

    The options are those of `rag_nodes.apps.page.build_app`: `embed_model`, `llm`, `local_models`,
    `data`, `answering`, `transformations`.

    Raises:
        MissingExtraError: Gradio is not installed.
        ConfigurationError: one of the columns cannot be used.
    """
    require_gradio()
    from rag_nodes.apps.page import build_app as build

    return build(settings, columns=columns, documents=documents, **options)


def launch(settings: Settings, **options: Any) -> None:
    """Serve the app until it is interrupted; the options are those of `rag_nodes.server.launch`."""
    from rag_nodes.server import launch as serve

    serve(settings, **options)


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


def tab_of(
    comparison: Comparison, documents: str | Path | Document | Sequence[str | Path | Document] = ()
) -> gr.Blocks:
    """The app over a comparison; see `rag_nodes.Comparison.tab`."""
    from rag_nodes.models.names import EXTRACTIVE
    from rag_nodes.parsers import PRESETS, get_parser
    from rag_nodes.settings import Settings

    models = comparison.models
    options = comparison.options
    columns: dict[str, Any] = {}
    for name in comparison.names:
        parser = comparison.parsers.get(name)
        if parser is None:
            columns[name] = comparison.found[name]
        elif name not in PRESETS:
            columns[name] = parser
        elif parser == get_parser(name):
            columns[name] = name
        else:  # what a preset is called means that preset alone on the page
            own = f"{name} (yours)"
            while own in comparison.names:
                own += "*"
            columns[own] = parser
    settings = Settings(
        prompt=comparison.prompt or models.prompt,
        system_prompt=models.system_prompt,
        embedding="lexical",
        llm=EXTRACTIVE,
        corpus=comparison.corpus,
        budget=options.budget,
        top_k=options.top_k,
        similarity_cutoff=options.similarity_cutoff,
    )
    return build_app(
        settings,
        columns=columns,
        documents=documents,
        embed_model=models.embedding,
        llm=models.llm,
        answering=options,
        transformations=comparison.transformations[:-1],
    )
