"""What is kept on disk: opened again, named, deleted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.visitors.requests import session_of
from rag_nodes.errors import RagNodesError

if TYPE_CHECKING:
    from rag_nodes.apps.visitors.sessions import PageSessions

_LONGEST = 80
"""Characters of a name."""
_RELOAD = "() => location.reload()"


def build_reopening(sessions: PageSessions) -> None:
    """The list and its buttons, inside the blocks that are open; nothing where nothing is kept.

    Args:
        sessions: where each visitor's work is.
    """
    if not sessions.keeps:
        return
    with gr.Accordion("Kept on this computer", open=False, elem_id="rn-kept") as part:
        chosen = gr.Dropdown([], label="Earlier work", elem_id="rn-kept-list")
        with gr.Row():
            opens = gr.Button("Open", size="sm", min_width=60)
            deletes = gr.Button("Delete", size="sm", min_width=60, variant="stop")
        name = gr.Textbox(
            label="Name of what is open",
            max_length=_LONGEST,
            submit_btn="Rename",
            elem_id="rn-kept-name",
        )

    def show(request: gr.Request) -> tuple[Any, Any]:
        own = session_of(sessions, request)
        key = own.kept.folder.name if own.kept else ""
        choices = [
            (f"{one.name}, {time.strftime('%d %b %H:%M', time.localtime(one.saved))}", one.key)
            for one in sessions.kept()
            if one.key != key
        ]
        return gr.Dropdown(choices, value=None), gr.Textbox(value=own.name)

    def reopen(key: str | None, request: gr.Request) -> None:
        _do(lambda: sessions.reopen(request.session_hash, str(key or "")))

    def delete(key: str | None) -> None:
        _do(lambda: sessions.discard(str(key or "")))

    def rename(text: str, request: gr.Request) -> None:
        session_of(sessions, request).name = str(text or "").strip()[:_LONGEST]
        gr.Info("Renamed")

    common: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    part.expand(show, outputs=[chosen, name], **common)
    opens.click(reopen, chosen, **common).success(None, js=_RELOAD, **common)
    deletes.click(delete, chosen, **common).success(show, outputs=[chosen, name], **common)
    name.submit(rename, name, **common)


def _do(work: Any) -> None:
    """Do it, and say in words why not.

    Raises:
        gr.Error: it cannot be done.
    """
    try:
        work()
    except RagNodesError as error:
        raise gr.Error(str(error), print_exception=False) from error
