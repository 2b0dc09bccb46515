"""From a request of the page to the session of whoever sent it, and to its cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gradio as gr

from rag_nodes.errors import BusyError, ConfigurationError

if TYPE_CHECKING:
    from rag_nodes.apps.visitors.cuts import Cuts
    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.apps.visitors.sessions import PageSessions


def session_of(
    sessions: PageSessions, request: gr.Request, token: str | None = None
) -> PageSession:
    """The visitor's session.

    Args:
        sessions: where each visitor's work is.
        request: whose session it is.
        token: of the browser tab; only the event that a page begins with has it.

    Raises:
        gr.Error: the request names none, or there are too many visitors.
    """
    try:
        if token is not None:
            return sessions.attach(request.session_hash, token, request.username or "")
        return sessions.of(request.session_hash)
    except (BusyError, ConfigurationError) as error:
        raise gr.Error(str(error), print_exception=False) from error


def cuts_of(sessions: PageSessions, request: gr.Request) -> Cuts | None:
    """What the visitor has loaded and cut; None while that is nothing.

    Raises:
        gr.Error: as `session_of`.
    """
    return session_of(sessions, request).cuts
