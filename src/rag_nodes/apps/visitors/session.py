"""Sessions of the page, one for each browser tab, in memory only and never shared."""

from __future__ import annotations

import hashlib
import re
import threading
from contextlib import AbstractContextManager, nullcontext
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any

from rag_nodes.apps.visitors.asking import Conversation
from rag_nodes.apps.visitors.cuts import ChunkLocation, Cuts
from rag_nodes.apps.visitors.deciding import Decider
from rag_nodes.apps.visitors.loading import LoadingSession
from rag_nodes.apps.visitors.questions import Questions
from rag_nodes.apps.visitors.screen import Screen
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.metadata import display_name
from rag_nodes.operations.workspace.sessions import Sessions
from rag_nodes.readers.isolation import pool
from rag_nodes.readers.pdf.picture import KeptPages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.apps.visitors.loading import Loaded
    from rag_nodes.apps.visitors.turns import Turn
    from rag_nodes.core.settings import Settings

AT_ONCE = 8
"""Visitors whose documents are loaded at a time, and whose questions are answered."""
_TOKEN = re.compile(r"[0-9a-f]{48}")
"""24 random bytes that a browser tab made itself and tells nobody else."""


class PageSession(LoadingSession):
    """One browser tab's documents, and what its visitor asked of them.

    Loading and answering run in threads of the session: they go on when no page looks.

    Args:
        settings: of the server; what the visitor types comes on top.
        answers: held while a question is answered, because not all visitors' can be at once.
        changed: called with the name of what changed: "loading", "loaded",
            "documents" (others are loaded now), "turn N" or "decision".
        **options: as for `LoadingSession`.

    Attributes:
        screen: what the page shows.
        place: what of the documents is shown.
        kept: pictures of pages that were drawn.
        shown_decision: identity of the decision whose numbers are shown.
        is_lost: the tab had a session before that this server no longer has.
        using: name of the column whose script is shown; "" for the decision.
        reviewed: id of the question that is reviewed.
        undrafted: ids of the documents in which the last search for drafts found none.
        talk: questions and answers.
        questions: questions with known answers in the documents, which go with them.
        decider: finds out in the background which parser and size to take.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        answers: AbstractContextManager[Any] = nullcontext(),  # noqa: B008 - it holds nothing
        changed: Callable[[str], None] = lambda _: None,
        **options: Any,
    ) -> None:
        super().__init__(settings, changed=changed, **options)
        self._cutting = threading.Lock()
        self._cuts: Cuts | None = None
        self.screen = Screen()
        self.place = ChunkLocation()
        self.shown_decision = ""
        self.using = ""
        self.is_lost = False
        self.reviewed = ""
        self.undrafted: tuple[str, ...] = ()
        self.kept = KeptPages(pool.draw, settings.pdf_engine, settings.ocr)
        self.talk = Conversation(self, lambda number: changed(f"turn {number}"), answers)
        self.questions = Questions()
        self.decider = Decider(self, lambda: changed("decision"))

    @property
    def working(self) -> bool:
        """True while documents are loaded, until the page has them, or a question is answered."""
        return self.loading or self._unseen is not None or self.talk.is_busy

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Answered questions, oldest first."""
        return self.talk.turns.all

    @property
    def cuts(self) -> Cuts | None:
        """The documents and their chunks; None while nothing is loaded."""
        # Without the lock of the session, which a slow answer may hold: all are replaced as a
        # whole, and a comparison is set after its documents.
        comparison, documents, turns = self._comparison, self._documents, self.turns
        with self._cutting:
            if comparison is None:
                self._cuts = None
            elif self._cuts is None or self._cuts.comparison is not comparison:
                self._cuts = Cuts(comparison, documents, turns=turns)
            elif self._cuts.turns is not turns:
                self._cuts = self._cuts.with_turns(turns)
            return self._cuts

    @property
    def added(self) -> list[Document]:
        """Documents that the operator's engines do not search, because the visitor added them."""
        comparison = self._comparison
        given = self._given_documents
        if comparison is None or not comparison.found or not given:
            return []
        read = (result.document for path in given for result in self._read.get(path, ()))
        given_ids = {document.id_ for document in (*given.values(), *read) if document}
        return [document for document in self._documents if document.id_ not in given_ids]

    @property
    def removed(self) -> list[str]:
        """Names of what the operator's engines search and the visitor removed."""
        if self._comparison is None or not self._comparison.found:
            return []
        return [
            (document and display_name(document.metadata)) or path.name
            for path, document in self._given_documents.items()
            if path not in self.paths
        ]

    def preview(self, name: str) -> None:
        """Show how a column would split the documents now, before anything is embedded again.

        A parser that embeds sentences is left to the loading that follows.
        """
        cuts, preset = self.cuts, self.columns.offer[name]
        if cuts is None or cuts.parser_of(name) is None or preset.embeds:
            return
        parsers = self._run(self.context).parsers(
            [spec for spec in self.columns.specs if spec.name == name]
        )
        with self._cutting:
            self._cuts = cuts.with_preview(name, next(iter(parsers.values())))

    def close(self) -> None:
        """Free everything; what runs is ended first."""
        self.cancel()
        self.talk.stop()
        self.decider.forget()
        super().close()

    def _take_over(self, loaded: Loaded) -> None:
        earlier = self._comparison.turns if self._comparison else ()
        super()._take_over(loaded)
        if self.turns:  # else there is nothing that a question could follow
            loaded.comparison.turns = earlier

    def _keep(self, documents: Sequence[Document], *, are_all: bool) -> None:
        self.questions.keep(documents)
        if not are_all:
            self.place = ChunkLocation()
            self.talk.clear()
            self._changed("documents")

    def _forget(self) -> None:
        super()._forget()
        self._cuts = None
        self.place = ChunkLocation()
        self.talk.clear()
        self._changed("documents")
        self.questions.clear()
        self.decider.forget()

    def _after_loading(self) -> None:
        self.decider.start()


def sessions_of(
    settings: Settings, changed: Callable[[PageSession, str], None], **options: Any
) -> Sessions[PageSession]:
    """Return the sessions of a page, by `key_of`.

    Args:
        settings: of the server.
        changed: called with a session and what changed in it, see `PageSession`.
        **options: of `PageSession`.
    """
    loads, answers = BoundedSemaphore(AT_ONCE), BoundedSemaphore(AT_ONCE)

    def make() -> PageSession:
        session = PageSession(
            settings,
            loads=loads,
            answers=answers,
            changed=lambda what: changed(session, what),
            **options,
        )
        return session

    return Sessions(make)


def key_of(token: object, user: str) -> str:
    """Return the key of a browser tab's session; only a hash of the token is kept.

    Args:
        token: of the tab.
        user: who is logged in; a token is worth nothing to others.

    Raises:
        ConfigurationError: no page of ours makes such a token.
    """
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise ConfigurationError("the request names no session: reload the page")
    return hashlib.sha256(f"{user}\0{token}".encode()).hexdigest()
