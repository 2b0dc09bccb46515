"""The page as Gradio blocks: one HTML component, one script, and one function that answers it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr
from markupsafe import Markup

from rag_nodes.apps.desk import Desk
from rag_nodes.apps.given import given_documents
from rag_nodes.apps.inside_gradio import PageBlocks, take_uploads_only, user_of
from rag_nodes.apps.markup import render
from rag_nodes.apps.panes import changed
from rag_nodes.apps.panes.top import contexts
from rag_nodes.apps.theme import style_sheet
from rag_nodes.apps.visitors.columns import offer_of
from rag_nodes.apps.visitors.session import sessions_of
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.settings import Settings
from rag_nodes.core.several import several
from rag_nodes.core.spelling import quoted
from rag_nodes.evaluation.engines.offer import named
from rag_nodes.operations.fields import MOST_QUESTION
from rag_nodes.operations.run import context_budget
from rag_nodes.query import QueryOptions
from rag_nodes.readers import COLLECTIONS, SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM
    from llama_index.core.schema import Document

TITLE = "rag_nodes: compare parsers"
_CACHE_SECONDS = (600, 3600)
"""Interval at which Gradio looks for uploaded files, and the age at which it deletes them: a
session keeps the text it read, so it needs the file only to draw its pages."""
_EXAMPLE = (
    Path(__file__).parent / "example" / "ferry.pdf",
    Path(__file__).parents[3] / "examples" / "corpus" / "ferry.pdf",
)
"""The document for visitors who have none at hand: in the installed package, and in a checkout."""


@checks_keywords
def build_app(
    settings: Settings | None = None,
    *,
    columns: Mapping[str, Any] | str | Sequence[str | Any] = (),
    documents: str | Path | Document | Sequence[str | Path | Document] = (),
    embed_model: BaseEmbedding | None = None,
    llm: LLM | None = None,
    answering: QueryOptions | None = None,
) -> PageBlocks:
    """Build the app as Gradio blocks.

    Nothing is shared between two apps, nor between two visitors of one.

    Args:
        settings: defaults of the controls, and the models; None for those of the environment.
        columns: your own columns by name, as `rag_nodes.Comparison` takes them: parsers, splitters
            of other packages, and query engines, retrievers, indexes and vector stores of
            LlamaIndex; or a list of them. The first four are ticked, with their own options, and
            the first is the baseline. Several visitors ask them at once.
        documents: what your engines search, loaded as soon as a visitor opens the page, and the
            only documents that settings are tested on beside them: paths, or those of LlamaIndex;
            the pages that `SimpleDirectoryReader` makes of a file are one document.
        embed_model: embedding model of LlamaIndex; None for the model of the settings, or, if these
            leave it open, of LlamaIndex's `Settings`.
        llm: LLM of LlamaIndex that answers, likewise.
        answering: how questions are answered, but for the context and models that a visitor
            chooses; None for the settings.

    Raises:
        ConfigurationError: one of the columns cannot be used, or `answering` is something else.

    Returns:
        Blocks to launch, to mount, or, where other blocks are open, a part of those. They bring
        their style sheet; `rag_nodes.server.launch` adds theme, limits and headers, see
        `rag_nodes.server.serve.launch_options`.
    """
    settings = settings or Settings()
    if answering is not None and not isinstance(answering, QueryOptions):
        raise ConfigurationError(
            f"answering is {quoted(answering)}; give QueryOptions, such as "
            'QueryOptions(granularity="sentences")'
        )
    own = named(columns)
    offer = offer_of(own)
    paths, given = given_documents(several(documents))
    sessions = sessions_of(
        settings,
        changed,
        offer=offer,
        own=list(offer)[: len(own)],
        embed_model=embed_model,
        llm=llm,
        documents={path: given.get(path) for path in paths},
        answering=answering,
    )
    example = example_document()
    desk = Desk(sessions, example, paths)

    # The name of the function is its name in the script.
    async def act(sent: object, request: gr.Request) -> dict[str, Any]:
        return await desk.act(sent, await user_of(request))

    act.__annotations__["request"] = gr.Request  # Gradio reads it, and knows no names from here
    app = PageBlocks(
        title=TITLE, fill_width=True, analytics_enabled=False, delete_cache=_CACHE_SECONDS
    )
    with app:
        gr.HTML(
            _shell(settings, has_example=example is not None),
            js_on_load=_part("page.js"),
            apply_default_css=False,
            elem_classes="rn-app",
            server_functions=[act],
        )
        take_uploads_only(app)
    app.at_end = sessions.close
    return app


def example_document() -> Path | None:
    """Return the path of the example document; None if it was not shipped."""
    return next((path for path in _EXAMPLE if path.is_file()), None)


def _shell(settings: Settings, *, has_example: bool) -> str:
    """Return the page without anything in it."""
    shell = render(
        "page",
        has_example=has_example,
        most_question=MOST_QUESTION,
        accept=",".join(sorted({*SUFFIXES, *COLLECTIONS})),
        contexts=contexts(context_budget(settings), settings.top_k),
        embedding_model=settings.embedding_model,
        llm_model=settings.llm_model,
        style=Markup(f"<style>{style_sheet()}</style>"),  # noqa: S704 - it is ours
    )
    return str(shell)


def _part(name: str) -> str:
    return (files(__package__ or "") / "templates" / name).read_text(encoding="utf-8")
