"""Whose session a page gets: that of its browser tab, and nobody else's."""

from __future__ import annotations

import hashlib
import re
import time
from functools import partial
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.core.errors import BusyError, ConfigurationError
from rag_nodes.operations.workspace.sessions import Sessions
from rag_nodes.parsers import offered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rag_nodes.core.settings import Settings
    from rag_nodes.parsers import Preset

AT_ONCE = 8
"""Visitors whose documents are loaded at a time, and whose questions are answered."""
TOKEN = re.compile(r"[0-9a-f]{48}")
"""What a browser tab is known by: 24 random bytes it made itself and tells nobody else."""
KNOWN_BY = """(_, ...chosen) => {
  let token = '', before = '';
  try { token = sessionStorage.getItem('rag_nodes') || ''; } catch { /* it may be forbidden */ }
  if (/^[0-9a-f]{48}$/.test(token)) before = 'known ';
  else {
    const bytes = crypto.getRandomValues(new Uint8Array(24));
    token = Array.from(bytes, (one) => one.toString(16).padStart(2, '0')).join('');
    try { sessionStorage.setItem('rag_nodes', token); } catch { /* a reload begins anew then */ }
  }
  return [before + token, ...chosen];
}"""
"""Finds the token of the tab, behind `KNOWN`, or makes one. It outlives a reload, and no other tab
has it."""
KNOWN = "known "
"""Prefix of the token of a tab that has had the page before."""
_TAB = "tab "
"""Begins the keys of sessions that a token leads to; no id of a page may be one."""
_MOST_PAGES = 10_000
"""Open pages that are known; a page that never said goodbye is forgotten for newer ones."""


class PageSessions(Sessions[PageSession]):
    """Every visitor's session of the page, by a token of their browser tab.

    Gradio gives a page another id whenever it is loaded, also after a cut of the network. The token
    stays with the tab, so a page that is loaded again finds its session, and no other tab does.
    Scripts have no token: their session is that of Gradio's id, and ends when they leave. Only
    hashes of tokens are kept.

    Args:
        settings: of each session.
        offer: parsers that visitors can choose; None for the presets.
        idle_seconds: see `Sessions`.
        most: see `Sessions`.
        clock: see `Sessions`.
        **own: models and documents of whoever serves, see `PageSession`.

    Attributes:
        offer: parsers that visitors can choose.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        offer: Mapping[str, Preset] | None = None,
        idle_seconds: float = 2 * 3600,
        most: int = 100,
        clock: Callable[[], float] = time.monotonic,
        **own: Any,
    ) -> None:
        self.offer = offered() if offer is None else offer
        loads, answers = BoundedSemaphore(AT_ONCE), BoundedSemaphore(AT_ONCE)
        make = partial(
            PageSession,
            settings,
            offer=self.offer,
            loads=loads,
            answers=answers,
            **own,
        )
        super().__init__(make, idle_seconds=idle_seconds, most=most, clock=clock)
        self._tabs: dict[str, str] = {}

    def of(self, page: str | None) -> PageSession:
        """The session of a page: that of its tab, once `attach` has said which that is.

        Raises:
            ConfigurationError: the request has no id, so its answers could reach others.
            BusyError: every other session is working, so that none can make room.
        """
        if page and page.startswith(_TAB):
            raise ConfigurationError("this id is that of a tab: reload the page")
        with self._lock:
            key = self._tabs.get(page or "", page)
            return self._used(key)

    def attach(self, page: str | None, token: str, user: str = "") -> PageSession:
        """The session of a tab, which the page belongs to from now on.

        Args:
            page: Gradio's id of it.
            token: of the tab; one that no page of ours made is not taken.
            user: who has logged in, if anyone; a token is worth nothing to others.

        Raises:
            ConfigurationError: see `of`.
            BusyError: see `of`.
        """
        if page and TOKEN.fullmatch(token):
            tab = _TAB + hashlib.sha256(f"{user}\0{token}".encode()).hexdigest()
            with self._lock:
                early = self._sessions.pop(page, None)  # of events that came before
                if early and tab not in self._sessions:
                    self._sessions[tab], early = early, None
                self._tabs[page] = tab
                for old in list(self._tabs)[:-_MOST_PAGES]:
                    del self._tabs[old]
            if early:
                early[1].close()
        session = self.of(page)
        # Kept now, since the page tells as well of the tab that it has open at first.
        session.shown["left"] = session.shown.get("tab")
        return session

    def detach(self, page: str | None) -> None:
        """A page was left, or its network cut; a tab may come back, a script does not."""
        if page not in self._tabs:
            self.end(page)


def session_of(
    sessions: PageSessions, request: gr.Request, token: str | None = None
) -> PageSession:
    """The visitor's session.

    Raises:
        gr.Error: the request names none, or there are too many visitors.
    """
    try:
        if token is not None:
            return sessions.attach(request.session_hash, token, request.username or "")
        return sessions.of(request.session_hash)
    except (BusyError, ConfigurationError) as error:
        raise gr.Error(str(error), print_exception=False) from error
