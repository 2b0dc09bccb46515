"""The app: one page with the comparison and the views of its chunks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr
from gradio.context import Context

from rag_nodes.apps.example import example_document
from rag_nodes.apps.inside_gradio import GuardedBlocks
from rag_nodes.apps.tabs.page import build_tabs
from rag_nodes.apps.theme import add_style
from rag_nodes.apps.votes.store import Votes
from rag_nodes.parsers import offered
from rag_nodes.parsers.isolation.parent import cutting
from rag_nodes.workspace.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_nodes.settings import Settings

TITLE = "rag_nodes: compare parsers"
_CACHE_SECONDS = (600, 3600)
"""How often uploaded files are looked for, and the age at which they are deleted: a session keeps
the text it read, so it never needs the file again."""
_WAITING = 100
"""Events of all visitors that may wait; later ones are told that the server is busy."""
_AT_ONCE = 8
"""Visitors whose quick events run at the same time."""


def build_app(
    settings: Settings,
    *,
    documents: Sequence[str | Path] = (),
    local_models: bool = False,
    parsers: Mapping[str, Any] | Sequence[str] = (),
) -> gr.Blocks:
    """The app as Gradio blocks.

    Nothing is shared between two apps, nor between two visitors of one.

    Args:
        settings: defaults of the controls, and the models where the visitor names none.
        documents: loaded as soon as a visitor opens the page.
        local_models: visitors may type in addresses behind this machine's firewall.
        parsers: what visitors can choose besides presets and plug-ins: splitters of other packages
            by name, or import paths, see `rag_nodes.parsers.offered`.

    Raises:
        ConfigurationError: one of the parsers cannot be used.

    Returns:
        Blocks to launch, to mount, or, where other blocks are open, a part of those. They bring
        their style sheet; `rag_nodes.apps.launch` adds theme, limits and headers, see
        `rag_nodes.server.serve.launch_options`.
    """
    sessions = Sessions(settings, local_models=local_models, offer=offered(parsers))
    app = GuardedBlocks(
        title=TITLE, fill_width=True, analytics_enabled=False, delete_cache=_CACHE_SECONDS
    )
    with app:
        root = Context.root_block or app  # other blocks, where it is built inside of them
        add_style()
        build_tabs(
            app,
            settings,
            sessions,
            Votes(settings.votes),
            documents=[Path(document) for document in documents],
            example=example_document(),
        )

        def leave(request: gr.Request) -> None:
            sessions.end(request.session_hash)

        root.unload(leave)
    # Every event waits in the queue: open routes would let scripts past its limits. Those that name
    # no limit of their own are quick, and one of them must not hold up those of other visitors.
    app.queue(max_size=_WAITING, api_open=False, default_concurrency_limit=_AT_ONCE)
    # Until this is set, Gradio takes any path on the server for an upload. Only `launch` sets it,
    # so a mounted app would hand out files.
    root.has_launched = True
    cutting.warm_up()
    return app
