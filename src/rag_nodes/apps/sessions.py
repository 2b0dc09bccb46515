"""Who is here: one session per browser tab, none of which outlives its visitor for long."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from rag_nodes.apps.session import Session
from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rag_nodes.settings import Settings


class Sessions:
    """Every visitor's session, by the id of their browser tab.

    A tab that closes ends its session; one that never said goodbye ends after a while.

    Gradio's own per-session state is not used for this: it cannot be reached when a tab closes.

    Args:
        settings: handed to each session.
        local_models: handed to each session.
        idle_seconds: seconds without a request after which a session ends.
        most: sessions at a time; beyond that the one idle longest ends.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        local_models: bool = False,
        idle_seconds: float = 2 * 3600,
        most: int = 100,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._local_models = local_models
        self._idle_seconds = idle_seconds
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._sessions: dict[str, tuple[float, Session]] = {}

    def __contains__(self, key: str) -> bool:
        """Whether there is a session of that key."""
        return key in self._sessions

    def __len__(self) -> int:
        """How many there are."""
        return len(self._sessions)

    def of(self, key: str | None) -> Session:
        """The session of a tab, made on first use.

        Args:
            key: Gradio's session id.

        Raises:
            ConfigurationError: the request has no id, so its answers could reach others.
        """
        if not key:
            raise ConfigurationError("the request names no session: reload the page")
        now = self._clock()
        with self._lock:
            session = self._sessions.pop(key, (now, None))[1] or self._new()
            self._sessions[key] = (now, session)
            ended = self._expired(now)
        _close_all(ended)
        return session

    def end(self, key: str | None) -> None:
        """Free the session of a tab, if there is one."""
        with self._lock:
            entry = self._sessions.pop(key or "", None)
        _close_all([entry[1]] if entry else [])

    def close(self) -> None:
        """Free all of them."""
        with self._lock:
            entries = list(self._sessions.values())
            self._sessions.clear()
        _close_all([session for _, session in entries])

    def _new(self) -> Session:
        return Session(self._settings, local_models=self._local_models)

    def _expired(self, now: float) -> list[Session]:
        """Take out what is idle for too long or too many; the oldest come first."""
        surplus = len(self._sessions) - self._most
        keys = [
            key
            for position, (key, (used, _)) in enumerate(self._sessions.items())
            if position < surplus or now - used > self._idle_seconds
        ]
        return [self._sessions.pop(key)[1] for key in keys]


def _close_all(sessions: Sequence[Session]) -> None:
    for session in sessions:
        session.close()
