"""From a request of the page to the session of whoever sent it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gradio as gr

from rag_nodes.errors import BusyError, ConfigurationError

if TYPE_CHECKING:
    from rag_nodes.apps.session import Session
    from rag_nodes.apps.sessions import Sessions


def session_of(sessions: Sessions, request: gr.Request) -> Session:
    """The visitor's session.

    Raises:
        gr.Error: the request names none, or there are too many visitors.
    """
    try:
        return sessions.of(request.session_hash)
    except (BusyError, ConfigurationError) as error:
        raise gr.Error(str(error), print_exception=False) from error
