"""From a request of the page to the session of whoever sent it, and to its cuts."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import gradio as gr

from rag_nodes.errors import BusyError, ConfigurationError
from rag_nodes.workspace.cuts import Cuts

if TYPE_CHECKING:
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
    """The cuts of every session, gone with the session.

    Args:
        sessions: of the visitors.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._lock = threading.Lock()
        self._cuts: WeakKeyDictionary[Session, Cuts] = WeakKeyDictionary()

    def of_request(self, request: gr.Request) -> Cuts | None:
        """What the visitor behind a request has loaded; None while that is nothing."""
        return self.of(session_of(self._sessions, request))

    def of(self, session: Session) -> Cuts | None:
        """What the session holds now; None while nothing is loaded."""
        # Without the session's lock, which a slow answer may hold: both are replaced as a whole.
        # In this order: a comparison is set after its documents.
        comparison, documents = session.comparison, session.documents
        with self._lock:
            known = self._cuts.get(session)
            if comparison is None:
                self._cuts.pop(session, None)
                return None
            if known is None or known.comparison is not comparison:
                known = self._cuts[session] = Cuts(comparison, documents)
            return known
