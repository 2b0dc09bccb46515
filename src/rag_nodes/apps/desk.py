"""The desk: takes actions of all visitors, and answers each with the parts that changed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from rag_nodes.apps.actions import ACTIONS, Payload, load
from rag_nodes.apps.markup import COLUMN_COLOURS
from rag_nodes.apps.panes import show_all
from rag_nodes.apps.visitors.session import key_of
from rag_nodes.core.errors import RagNodesError
from rag_nodes.core.keys import trace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rag_nodes.apps.actions import Reply
    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.operations.workspace.sessions import Sessions

logger = logging.getLogger(__name__)
MAX_WAITING = 20
"""Actions of one visitor at a time; a page has a few at most, a script as many as it likes."""
_AT_ONCE = 8
"""Actions of all visitors that run at the same time."""
_WAIT_SECONDS, _LOOK_SECONDS = 10.0, 0.1
"""Time after which a page that waits for a change gets none, and between two looks for one."""
_QUICK_MS, _SLOW_MS = 150, 1500
"""Pause before a page asks again, while the visitor waits for something, and while a test runs."""
_TOO_MANY = "Too many requests in progress. Wait for one to finish."
_NO_SUCH = "Something went wrong with this page. Reload it and try again."
_FAULT = (
    "This failed because of a fault of the app ({}). You can go on; whoever runs the app finds the "
    "reason in its log."
)


class Desk:
    """Takes the actions of all visitors of one page.

    Args:
        sessions: of the visitors.
        example: path of the example document; None for no example.
        documents: loaded as soon as a visitor opens the page.
    """

    def __init__(
        self, sessions: Sessions[PageSession], example: Path | None, documents: Sequence[Path]
    ) -> None:
        self._sessions = sessions
        self._example = example
        self._documents = documents
        self._waiting: Counter[str] = Counter()
        self._limiter: anyio.CapacityLimiter | None = None

    async def act(self, sent: object, user: str) -> Reply:
        """Do what a page asks for, and return what changed since it last asked.

        Args:
            sent: token of the browser tab, action, payload, epoch and number of the last change
                that the page has seen.
            user: who is logged in; "" for nobody.
        """
        payload = Payload(sent)
        try:
            key = key_of(payload.text("token"), user)
            if payload.text("action") == "look":
                return await self._look(key, payload)
            if self._waiting[key] >= MAX_WAITING:
                return _notice(_TOO_MANY)
            self._waiting[key] += 1
            try:
                return await self._in_thread(self._done, key, payload)
            finally:
                self._waiting -= Counter([key])
        except RagNodesError as error:
            return _notice(str(error))

    async def _in_thread(self, work: Callable[..., Reply], *arguments: Any) -> Reply:
        self._limiter = self._limiter or anyio.CapacityLimiter(_AT_ONCE)
        return await anyio.to_thread.run_sync(partial(work, *arguments), limiter=self._limiter)

    async def _look(self, key: str, payload: Payload) -> Reply:
        """Wait until something has changed, as long as something is going to."""
        session, until = self._session(key, payload), time.monotonic() + _WAIT_SECONDS
        while (  # noqa: ASYNC110 - what changes does so in threads
            session.screen.epoch == payload.text("epoch")
            and session.screen.count <= (payload.number("since") or 0)
            and _pause(session)
            and time.monotonic() < until
        ):
            await asyncio.sleep(_LOOK_SECONDS)
        return await self._in_thread(self._changed, session, payload)

    def _session(self, key: str, payload: Payload) -> PageSession:
        """Return the session of a tab; a new one shows every part of the page."""
        session = self._sessions.of(key)
        if not session.screen.count:
            is_known = Payload(payload.plain().get("payload")).flag("known")
            session.is_lost = is_known or bool(payload.text("epoch"))
            show_all(session)
            if self._documents:
                session.start_loading(self._documents)
        return session

    def _done(self, key: str, payload: Payload) -> Reply:
        """Do what was asked for."""
        session, inner = self._session(key, payload), Payload(payload.plain().get("payload"))
        reply: Reply = {}
        try:
            reply = self._reply(session, payload.text("action"), inner)
        except RagNodesError as error:
            reply = _notice(str(error))
        except Exception as error:  # noqa: BLE001 - it is logged
            # Whatever it was, the visitor can go on.
            logger.error("an action failed\n%s", trace_of(error))  # noqa: TRY400 - its text may hold a key
            reply = _notice(_FAULT.format(type(error).__name__))
        return self._changed(session, payload) | reply

    def _reply(self, session: PageSession, action: str, payload: Payload) -> Reply:
        if action == "example" and self._example:
            load(session, [self._example])
        elif action in ACTIONS:
            return ACTIONS[action](session, payload) or {}
        elif action != "arrive":
            return _notice(_NO_SUCH)
        return {}

    @staticmethod
    def _changed(session: PageSession, payload: Payload) -> Reply:
        """Return what changed since the page last asked; everything for another page."""
        epoch = session.screen.epoch
        since = payload.number("since") or 0 if epoch == payload.text("epoch") else 0
        COLUMN_COLOURS.set(session.columns.colours)  # of this reply: each has a context of its own
        # Before drawing: what ends meanwhile is asked for, and drawn, again.
        pause = _pause(session)
        patches = session.screen.patches(since)
        return {
            "epoch": epoch,
            "at": max((patch["at"] for patch in patches), default=since),
            "patches": patches,
            "busy": bool(pause),
            "pause": pause,
        }


def _pause(session: PageSession) -> int:
    """Return the milliseconds after which the page should ask again; 0 if nothing is going on."""
    if session.working:
        return _QUICK_MS
    return _SLOW_MS if session.decider.running else 0


def _notice(text: str) -> Reply:
    return {"notice": text}
