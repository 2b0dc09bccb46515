"""Sessions on disk: written soon after something has changed, and made again from that."""

from __future__ import annotations

import json
import logging
import re
import secrets
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.kept import Kept, KeptWork, listed, made, plain
from rag_nodes.apps.visitors.turns import SimilarityScale, Turn
from rag_nodes.compare import Column, ComparisonReport
from rag_nodes.embedding import FileColumn, FileOutcome, ParserOutcome
from rag_nodes.errors import ConfigurationError, RagNodesError, StoreError
from rag_nodes.evaluation.dataset import Question
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.processes import BackgroundThread
from rag_nodes.query import Answer, Citation, Hit, Source
from rag_nodes.query.types import Excerpt, Mark
from rag_nodes.text.edges import Edges
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.apps.visitors.sessions import PageSessions

_CLASSES = {
    one.__name__: one
    for one in (
        *(Answer, Choice, Citation, Column, ComparisonReport, Edges, Excerpt, FileColumn),
        *(FileOutcome, Hit, Mark, ParserOutcome, Passage, Question, SimilarityScale, Source, Span),
        Turn,
    )
}
"""What a file may have made; nothing else is."""
_TABS = "tabs"
"""Folder that says which tab has what."""
_KEY = re.compile(r"[0-9a-f]{32}")
_EVERY = 1.0
"""Seconds between two looks for what has changed."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Restored:
    """What comes back once the documents are loaded again."""

    paths: tuple[Path, ...]
    turns: tuple[Turn, ...]
    asked: int
    questions: tuple[Question, ...]
    shown: dict[str, Any]


class Keeper:
    """Keeps the sessions of tabs in a folder, each in one of its own; keys never."""

    def __init__(self, data: Path, sessions: PageSessions) -> None:
        self._data = data
        self._sessions = sessions
        self._lock = threading.Lock()
        self._written: WeakKeyDictionary[PageSession, list[Any]] = WeakKeyDictionary()
        self._closing = threading.Event()
        self._watching = BackgroundThread(self._watch, "keep", end=self._closing.set)

    def listed(self) -> list[KeptWork]:
        """What can be opened."""
        return listed(self._data)

    def open(self, tab: str, session: PageSession) -> None:
        """Let a new session go on with what was written of it, if anything was.

        What cannot be read stays on disk, and the session says why.
        """
        with self._lock:
            if session.kept is not None:
                return
            if self._watching.ident is None:  # there is nothing to watch before the first session
                self._watching.start()
            session.kept = kept = Kept(self._data / self._of(tab))
            if not kept.is_there:
                return
            try:
                found = kept.read()
                nodes = found["nodes"]
                session.name, session.chosen = found["name"], made(found["chosen"], nodes, _CLASSES)
                restored = Restored(
                    tuple(map(Path, found["paths"])),
                    made(found["turns"], nodes, _CLASSES),
                    found["asked"],
                    made(found["questions"], nodes, _CLASSES),
                    found["shown"],
                )
                choice = made(found["choice"], nodes, _CLASSES)
            except StoreError as error:
                session.trouble = str(error)
            except (KeyError, TypeError, ValueError) as error:
                logger.exception("a session could not be opened again")
                session.trouble = f"What was kept cannot be opened ({error!r}); it was left alone."
            else:
                session.chosen = session.chosen or choice
                session.restore(restored, choice)
                return
            self._point(tab, _new())
            session.kept = Kept(self._data / self._of(tab))

    def save(self, session: PageSession) -> None:
        """Write a session, if it has documents and was not written as it is."""
        if not session.paths or session.kept is None:
            return
        state = [
            session.history.all,
            session.questions.revision,
            session.paths,
            session.choice,
            session.chosen,
            session.name,
            json.dumps(session.shown),
        ]
        if state == self._written.get(session):
            return
        nodes: dict[str, Any] = {}
        dataset = session.questions.dataset
        names = ", ".join(dict.fromkeys(one.name for one in session.paths))
        content = {
            "name": session.name or names,
            "paths": [str(one) for one in session.paths],
            "choice": plain(_without_key(session.choice), nodes),
            "chosen": plain(_without_key(session.chosen), nodes),
            "turns": plain(session.history.all, nodes),
            "asked": session.asked,
            "questions": plain(dataset.questions if dataset else (), nodes),
            "shown": session.shown,
            "nodes": nodes,
        }
        session.kept.write(content)
        session.kept.drop_files(session.paths)
        self._written[session] = state

    def tab_of(self, key: str) -> str | None:
        """The tab that has what is kept under a key; None where none has."""
        pointers = (self._data / _TABS).glob("*")
        return next((one.name for one in pointers if one.read_text() == key), None)

    def take(self, tab: str, key: str) -> None:
        """Let a tab have what is kept under a key, and no other tab.

        Raises:
            ConfigurationError: there is nothing.
        """
        self._check(key)
        with self._lock:
            other = self.tab_of(key)
            if other is not None:
                (self._data / _TABS / other).unlink()
            self._point(tab, key)

    def delete(self, key: str) -> None:
        """Delete what is kept.

        Raises:
            ConfigurationError: there is nothing.
        """
        self._check(key)
        with self._lock:
            Kept(self._data / key).delete()

    def close(self) -> None:
        """Write what has changed, and end."""
        self._closing.set()
        self._look()

    def _check(self, key: str) -> None:
        if key not in {one.key for one in self.listed()}:
            raise ConfigurationError("it is not there any more; choose another")

    def _of(self, tab: str) -> str:
        """The name of the folder that a tab has; a new one where it has none."""
        with suppress(OSError):
            found = (self._data / _TABS / tab).read_text()
            if _KEY.fullmatch(found):
                return found
        self._point(tab, key := _new())
        return key

    def _point(self, tab: str, key: str) -> None:
        """Note which folder a tab has; of the token that leads to it only the hash is known."""
        pointer = self._data / _TABS / tab
        pointer.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        pointer.write_text(key)

    def _watch(self) -> None:
        while not self._closing.wait(_EVERY):
            self._look()

    def _look(self) -> None:
        for session in self._sessions.every():
            with suppress(RagNodesError):
                try:
                    with self._lock:
                        self.save(session)
                except (OSError, TypeError):
                    logger.exception("a session could not be written")


def _without_key(choice: Choice | None) -> Choice | None:
    return replace(choice, api_key=None) if choice else None


def _new() -> str:
    return secrets.token_hex(16)
