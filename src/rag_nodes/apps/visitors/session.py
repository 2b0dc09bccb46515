"""One visitor's work: a workspace with questions and answers, freed when the visitor leaves."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from threading import BoundedSemaphore
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rag_nodes.apps.visitors.choice import (
    effective_settings,
    make_parsers,
    names_models,
    query_options,
)
from rag_nodes.apps.visitors.cuts import Cuts
from rag_nodes.apps.visitors.deciding import Decider
from rag_nodes.apps.visitors.loading import Loaded, outcomes, read_documents
from rag_nodes.apps.visitors.questions import Questions
from rag_nodes.apps.visitors.scores import scale_for
from rag_nodes.apps.visitors.turns import AT_FIRST, Asking, Growing, Turn, Turns
from rag_nodes.errors import ConfigurationError, RagNodesError
from rag_nodes.models import choose_models
from rag_nodes.models.public_servers import must_be_public, public_client
from rag_nodes.parsers import offered
from rag_nodes.pipeline import Progress
from rag_nodes.readers import ReadResult
from rag_nodes.workspace.jobs import Job
from rag_nodes.workspace.sessions import Sessions
from rag_nodes.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from llama_index.core.schema import Document

    from rag_nodes.apps.visitors.choice import Choice
    from rag_nodes.apps.visitors.scores import SimilarityScale
    from rag_nodes.compare import ComparisonStream
    from rag_nodes.models import Models
    from rag_nodes.parsers import Preset
    from rag_nodes.pipeline import FileOutcome, IngestReport
    from rag_nodes.settings import Settings


Steps = Mapping[str, Progress]
"""The last step of each parser while documents are loaded, and of the reader under ""."""


class PageSession(Workspace):
    """One visitor's documents in a store of their own, and what the visitor asked of them.

    Loading and answering run in threads of the session: they go on when no page looks.

    Args:
        settings: the server's; what the visitor types in comes on top.
        local_models: the visitor may type in addresses behind the server's firewall.
        offer: parsers to choose from; None for presets and plug-ins.
        documents: that can be loaded without a file, by the path they go by.
        loads: held while documents are loaded, as not all visitors' can be at once.
        answers: held while a question is answered, likewise.
        **options: of `Workspace`.

    Attributes:
        history: questions and answers, and what the visitor thought of them.
        questions: those with known answers in the documents, which go with them.
        decider: finds out in the background which parser and size to take.
        asking: the question that is being answered; None while there is none.
        report: what the last `load` did; None before it.
        paths: the loaded documents.
        choice: what they were loaded with, so what the next question is answered with.
        shown: what each tab shows, as JSON, so that it can show it again.
        chosen: what the page shows as chosen, whether or not it was loaded with that.
        wanted: parsers of the last loading.
        uploads: what it was to load.
        key_is_hidden: the page was loaded again and shows no key; that of `chosen` holds.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        local_models: bool = False,
        offer: Mapping[str, Preset] | None = None,
        documents: Mapping[Path, Document] = MappingProxyType({}),
        loads: AbstractContextManager[Any] = nullcontext(),  # noqa: B008 - it holds nothing
        answers: AbstractContextManager[Any] = nullcontext(),  # noqa: B008
        **options: Any,
    ) -> None:
        super().__init__(settings, **options)
        self._local_models = local_models
        self._offer = offer
        self._given_documents = documents
        self._loads, self._answers = loads, answers
        self._beginning = threading.Lock()
        self._cutting = threading.Lock()
        self._cuts: Cuts | None = None
        self._scale: SimilarityScale | None = None
        self._files: Mapping[str, FileOutcome] = {}
        self._loading: Job[Steps, IngestReport] | None = None
        self._answering: Job[Asking, None] | None = None
        self._asked = 0
        self._running: ComparisonStream | None = None
        self.history = Turns()
        self.questions = Questions()
        self.decider = Decider(self)
        self.asking: Asking | None = None
        self.report: IngestReport | None = None
        self.paths: tuple[Path, ...] = ()
        self.choice: Choice | None = None
        self.shown: dict[str, Any] = {}
        self.chosen: Choice | None = None
        self.wanted: tuple[str, ...] = ()
        self.uploads: tuple[Path, ...] = ()
        self.key_is_hidden = False

    @property
    def cuts(self) -> Cuts | None:
        """What the parsers made of the documents; None while nothing is loaded, and without any."""
        # Without the other lock, which a slow answer may hold: all are replaced as a whole.
        # In this order: a comparison is set after its documents.
        comparison, documents = self._comparison, self._documents
        with self._cutting:
            if comparison is None or not comparison.parsers:
                self._cuts = None
            elif self._cuts is None or self._cuts.comparison is not comparison:
                self._cuts = Cuts(comparison, documents)
            return self._cuts

    @property
    def turns(self) -> list[Turn]:
        """Questions and answers, oldest first."""
        return list(self.history.all)

    @property
    def loading(self) -> bool:
        """True while documents are loaded."""
        return self._loading is not None and not self._loading.done

    @property
    def last_loading(self) -> Job[Steps, IngestReport] | None:
        """The loading that runs or ran last; None where there was none, or it was cancelled."""
        return self._loading

    @property
    def working(self) -> bool:
        """True while documents are loaded or a question is answered."""
        return self.loading or self.asking is not None

    @property
    def in_use(self) -> bool:
        """True with documents, or while they are loaded."""
        return super().in_use or self.loading

    def load(
        self,
        paths: Sequence[Path],
        choice: Choice,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> IngestReport:
        """Like `start_loading`, and wait for it.

        Raises:
            CancelledError: see `cancel`.
            RagNodesError: nothing was chosen or read, or the models do not answer.
        """
        return self.start_loading(paths, choice, progress).result()

    def start_loading(
        self,
        paths: Sequence[Path],
        choice: Choice,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> Job[Steps, IngestReport]:
        """Read documents and cut them with every chosen parser.

        Other documents than before start over: new store, no history. The same documents
        are not read again, and only parsers whose options changed do any work. Until all is done
        the session answers from what it held before; loading that runs already is cancelled.

        Args:
            paths: what to load; empty to stay with the loaded documents.
            choice: parsers, options and models.
            progress: called after every step, from any thread.

        Raises:
            ConfigurationError: no document, or no parser was chosen.
        """
        wanted = tuple(dict.fromkeys(paths)) or self.paths
        if not wanted:
            raise ConfigurationError("no document yet: upload one first")
        if not choice.parsers:
            raise ConfigurationError("no parser chosen: tick at least one")
        self.cancel()
        self.wanted, self.uploads = choice.parsers, wanted
        loading = self._loading = Job("upload the documents again to load them")
        steps: dict[str, Progress] = {}

        def step(one: Progress) -> None:
            loading.check()
            progress(one)
            steps["" if one.stage == "read" else one.name] = one
            loading.step(dict(steps))

        loading.start(partial(self._load, wanted, choice, loading, step), self._loads)
        return loading

    def read(self, path: Path) -> Iterator[ReadResult]:
        """The documents of one file, or the one that was given for it."""
        if given := self._given_documents.get(path):
            return iter([ReadResult(path, given, None, 0.0)])
        return super().read(path)

    def models_of(self, choice: Choice, *, check: bool = True) -> Models:
        """The models that the visitor chose, known to answer.

        Raises:
            ConfigurationError: an address that was typed in is not public, or is none.
            RagNodesError: see `models`.
        """
        given = self._settings.api_base
        settings = effective_settings(self._settings, choice, local_models=self._local_models)
        careful = must_be_public(settings.api_base, configured=given, local=self._local_models)
        models = choose_models(settings, http_client=public_client if careful else None)
        if not names_models(choice):
            models = self._with_given(models)
        return self._tried(models, settings) if check else models

    def cancel(self) -> None:
        """End the loading that runs, if any; everything stays as it was before it."""
        loading, self._loading = self._loading, None
        if loading is not None:
            loading.cancel()

    def ask(self, question: str) -> Turn:
        """Answer with every parser and remember the turn; failures are part of it."""
        for _ in self.stream(question):
            pass
        return self.turns[-1]

    def stream(self, question: str) -> Iterator[tuple[Growing, ...]]:
        """Like `ask`, with a look at the columns whenever something has changed in one.

        Whoever stops reading stops nothing; see `stop`.

        Args:
            question: as typed.

        Raises:
            ConfigurationError: another question is being answered; it does not wait for that.
        """
        with self._beginning:
            if self._answering is not None and not self._answering.done:
                raise ConfigurationError(
                    "a question is being answered: wait for the answers, or stop them"
                )
            answering = self._answering = Job()
        answering.start(partial(self._answer, question, answering), self._answers)
        yield from self.looks()

    def looks(self) -> Iterator[tuple[Growing, ...]]:
        """The columns of the question that is being answered, whenever one has changed."""
        answering = self._answering
        if answering is not None:
            for asking in answering.looks():
                if asking is not None:
                    yield asking.growing
            answering.result()

    def _answer(self, question: str, answering: Job[Asking, None]) -> None:
        with self._lock:
            report, error = None, None
            stopped: dict[str, str] = {}
            self._asked += 1
            self.history.shown = AT_FIRST

            def show(asking: Asking) -> None:
                self.asking = asking
                answering.step(asking)

            try:
                if self._comparison is None:
                    raise ConfigurationError("no document yet: upload one first")
                growing = tuple(Growing(name) for name in self._comparison.columns)
                quoted = self._comparison.models.llm is None
                asking = Asking(self._asked, question, growing, quoted)
                show(asking)
                with self._comparison.stream(question) as self._running:
                    for name, event in self._running:
                        asking = asking.after(name, event)
                        show(asking)
                    report = self._running.report()
                stopped = {one.name: one.text for one in asking.growing if one.stopped}
            except RagNodesError as failure:
                error = str(failure)
            finally:
                self._running, self.asking = None, None
                turn = Turn(self._asked, question, report, error, self._scale, stopped)
                cuts = self.cuts
                edges = cuts.edges(report) if cuts and report else {}
                self.history.add(replace(turn, edges=edges))

    def stop(self) -> None:
        """End the answers that are being written; what has ended stays."""
        asking = self.asking
        for column in range(len(asking.growing) if asking else 0):
            self.stop_one(asking.number if asking else 0, column + 1)

    def stop_one(self, turn: int, column: int) -> None:
        """End one answer that is being written; the others go on.

        Args:
            turn: number of the question; nothing happens where it is not being answered.
            column: its place on the page, counted from 1; anything else is ignored.
        """
        asking, running = self.asking, self._running
        if asking is None or running is None or asking.number != turn:
            return
        if 1 <= column <= len(asking.growing):
            running.cancel(asking.growing[column - 1].name)

    def clear(self) -> None:
        """Forget the questions, but not one that is being answered; documents stay."""
        self.history.clear()

    def close(self) -> None:
        """Free everything; what runs is ended first."""
        self.cancel()
        self.stop()
        self.decider.forget()
        super().close()

    def _forget(self) -> None:
        super()._forget()
        self._cuts = None
        self.history.clear()
        self.questions.clear()
        self.decider.forget()
        self.shown = {}
        self._files, self.report, self.paths, self.choice = {}, None, (), None

    def _load(
        self,
        wanted: tuple[Path, ...],
        choice: Choice,
        loading: Job[Steps, IngestReport],
        step: Callable[[Progress], None],
    ) -> IngestReport:
        """Load, and answer from it from then on, unless that was cancelled."""
        loaded = self._loaded(wanted, choice, loading, step)
        try:
            with self._lock:
                loading.settle()
                self._take_over(loaded)
                self.choice = choice
        finally:
            if loaded.comparison.store is not self._store:
                loaded.comparison.store.close()  # nobody waits for it any longer
        self.decider.start()
        return loaded.report

    def _loaded(
        self,
        wanted: tuple[Path, ...],
        choice: Choice,
        loading: Job[Steps, IngestReport],
        step: Callable[[Progress], None],
    ) -> Loaded:
        """Read, cut, embed and store; changes nothing but collections that nobody looks at."""
        started = time.perf_counter()
        models = self.models_of(choice)
        loading.watch(models.embedding)
        parsers = make_parsers(choice, models.sentence_model, self._offer)
        known = wanted == self.paths and bool(self._documents)
        documents, files = self._documents, self._files
        if not known:
            documents, files = read_documents(wanted, self.read, step)
            self._vectors.clear()
        store = self.store if known else self._opened()
        options = query_options(self._settings, choice)
        try:
            comparison = self.compared(
                parsers,
                models,
                options,
                store=store,
                equal_size=choice.equal_size,
                transformations=self.further(choice.vector),
            )
            report = self._ingest(comparison, documents, step)
        except BaseException:
            if not known:
                store.close()
            raise
        mode = options.search_mode(by_meaning=models.embeds_meaning)
        report = replace(
            report,
            files=outcomes(files, report),
            seconds=time.perf_counter() - started,
            models=f"{report.models} · {mode} search",
        )
        scale = scale_for(models.embedding_name, self._settings)
        return Loaded(wanted, documents, files, comparison, report, scale)

    def _take_over(self, loaded: Loaded) -> None:
        """Answer from what was loaded from now on."""
        if loaded.comparison.store is not self._store:
            self._forget()
        self._store = loaded.comparison.store
        self._documents, self._files = loaded.documents, loaded.files
        self.paths, self.report, self._scale = loaded.paths, loaded.report, loaded.scale
        self._comparison = loaded.comparison if loaded.documents else None
        self._drop_unused(loaded.comparison)


AT_ONCE = 8
"""Visitors whose documents are loaded at a time, and whose questions are answered."""
TOKEN = re.compile(r"[0-9a-f]{48}")
"""What a browser tab is known by: 24 random bytes it made itself and tells nobody else."""
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
        offer: parsers that visitors can choose; None for presets and plug-ins.
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

        Args:
            page: Gradio's id of it.

        Raises:
            ConfigurationError: the request has no id, so its answers could reach others.
            BusyError: every other session is working, so that none can make room.
        """
        if page and page.startswith(_TAB):
            raise ConfigurationError("this id is that of a tab: reload the page")
        return super().of(self._tabs.get(page or "", page))

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
        return self.of(page)

    def detach(self, page: str | None) -> None:
        """A page was left, or its network cut; a tab may come back, a script does not."""
        if page not in self._tabs:
            self.end(page)
