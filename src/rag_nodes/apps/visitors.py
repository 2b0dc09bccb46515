"""From a request of the page to the session of whoever sent it, and to its cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gradio as gr

from rag_nodes.errors import BusyError, ConfigurationError

if TYPE_CHECKING:
    from rag_nodes.workspace.cuts import Cuts
    from rag_nodes.workspace.session import Session
    from rag_nodes.workspace.sessions import Sessions


def session_of(sessions: Sessions, request: gr.Request) -> Session:
    """The visitor's session.

    Raises:
        gr.Error: the request names none, or there are too many visitors.
    """
    try:
        return sessions.of(request.session_hash)
    except (BusyError, ConfigurationError) as error:
        raise gr.Error(str(error), print_exception=False) from error


class AllCuts:
    """The cuts of every session.

    Args:
        sessions: of the visitors.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def of_request(self, request: gr.Request) -> Cuts | None:
        """What the visitor behind a request has loaded; None while that is nothing."""
        return session_of(self._sessions, request).cuts
