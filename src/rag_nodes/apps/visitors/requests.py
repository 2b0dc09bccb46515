"""From a request of the page to the session of whoever sent it, and to its cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gradio as gr

from rag_nodes.errors import BusyError, ConfigurationError

if TYPE_CHECKING:
    from rag_nodes.apps.visitors.cuts import Cuts
    from rag_nodes.apps.visitors.session import PageSession, PageSessions


def session_of(sessions: PageSessions, request: gr.Request) -> PageSession:
    """The visitor's session.

    Raises:
        gr.Error: the request names none, or there are too many visitors.
    """
    try:
        return sessions.of(request.session_hash)
    except (BusyError, ConfigurationError) as error:
        raise gr.Error(str(error), print_exception=False) from error


def cuts_of(sessions: PageSessions, request: gr.Request) -> Cuts | None:
    """What the visitor has loaded and cut; None while that is nothing.

    Raises:
        gr.Error: as `session_of`.
    """
    return session_of(sessions, request).cuts
