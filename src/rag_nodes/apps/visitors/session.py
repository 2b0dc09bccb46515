"""One visitor's work: a workspace with questions and answers, freed when the visitor leaves."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from functools import partial
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
from rag_nodes.apps.visitors.jobs import Job
from rag_nodes.apps.visitors.loading import Loaded, outcomes, read_documents
from rag_nodes.apps.visitors.questions import Questions
from rag_nodes.apps.visitors.scores import scale_for
from rag_nodes.apps.visitors.turns import AT_FIRST, Asking, Growing, Turn, Turns, only_one
from rag_nodes.errors import CancelledError, ConfigurationError, RagNodesError
from rag_nodes.models import choose_models
from rag_nodes.models.public_servers import must_be_public, public_client
from rag_nodes.parsers import offered
from rag_nodes.readers import ReadResult
from rag_nodes.workspace.sessions import Sessions
from rag_nodes.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from llama_index.core.schema import Document

    from rag_nodes.apps.visitors.choice import Choice
    from rag_nodes.apps.visitors.scores import SimilarityScale
    from rag_nodes.compare import ComparisonStream
    from rag_nodes.models import Models
    from rag_nodes.parsers import Preset
    from rag_nodes.pipeline import FileOutcome, IngestReport, Progress
    from rag_nodes.settings import Settings


class PageSession(Workspace):
    """One visitor's documents in a store of their own, and what the visitor asked of them.

    Args:
        settings: the server's; what the visitor types in comes on top.
        local_models: the visitor may type in addresses behind the server's firewall.
        offer: parsers to choose from; None for presets and plug-ins.
        documents: that can be loaded without a file, by the path they go by.
        **options: of `Workspace`.

    Attributes:
        history: questions and answers, and what the visitor thought of them.
        questions: those with known answers in the documents, which go with them.
        decider: finds out in the background which parser and size to take.
        asking: the question that is being answered; None while there is none.
        report: what the last `load` did; None before it.
        paths: the loaded documents.
        choice: what they were loaded with, so what the next question is answered with.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        local_models: bool = False,
        offer: Mapping[str, Preset] | None = None,
        documents: Mapping[Path, Document] = MappingProxyType({}),
        **options: Any,
    ) -> None:
        super().__init__(settings, **options)
        self._local_models = local_models
        self._offer = offer
        self._given_documents = documents
        self._one_question = threading.Lock()
        self._cutting = threading.Lock()
        self._cuts: Cuts | None = None
        self._scale: SimilarityScale | None = None
        self._files: Mapping[str, FileOutcome] = {}
        self._loading: Job[Progress, Loaded] | None = None
        self._asked = 0
        self._running: ComparisonStream | None = None
        self.history = Turns()
        self.questions = Questions()
        self.decider = Decider(self)
        self.asking: Asking | None = None
        self.report: IngestReport | None = None
        self.paths: tuple[Path, ...] = ()
        self.choice: Choice | None = None

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
        return self._loading is not None

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
        progress: Callable[[Progress], None],
    ) -> IngestReport:
        """Read documents and cut them with every chosen parser.

        Other documents than before start over: new store, no history. The same documents
        are not read again, and only parsers whose options changed do any work. Until all is done
        the session answers from what it held before; loading that runs already is cancelled.

        Args:
            paths: what to load; empty to stay with the loaded documents.
            choice: parsers, options and models.
            progress: called after every step, from any thread.

        Raises:
            CancelledError: see `cancel`.
            RagNodesError: nothing was chosen or read, or the models do not answer.
        """
        wanted = tuple(dict.fromkeys(paths)) or self.paths
        if not wanted:
            raise ConfigurationError("no document yet: upload one first")
        if not choice.parsers:
            raise ConfigurationError("no parser chosen: tick at least one")
        self.cancel()
        loading = self._loading = Job(progress, "upload the documents again to load them")
        loaded = loading.run(partial(self._load, wanted, choice, loading), self._discard)
        with self._lock:
            if self._loading is not loading:
                self._discard(loaded)
                raise CancelledError("cancelled: the visitor has left, or loads something else")
            self._take_over(loaded)
            self.choice = choice
        self.decider.start()
        return loaded.report

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
        """Like `ask`, with a look at the columns first and whenever something has changed in one.

        Whoever stops reading stops the answers, and nothing is remembered.

        Args:
            question: as typed.

        Raises:
            ConfigurationError: another question is being answered; it does not wait for that.
        """
        with only_one(self._one_question), self._lock:
            report, error = None, None
            stopped: dict[str, str] = {}
            self._asked += 1
            self.history.shown = AT_FIRST
            try:
                if self._comparison is None:
                    raise ConfigurationError("no document yet: upload one first")
                columns = tuple(self._comparison.columns)
                growing = tuple(Growing(name) for name in columns)
                quoted = self._comparison.models.llm is None
                self.asking = Asking(self._asked, question, growing, quoted)
                yield growing
                with self._comparison.stream(question) as self._running:
                    for name, event in self._running:
                        self.asking = self.asking.after(name, event)
                        yield self.asking.growing
                    report = self._running.report()
                stopped = {one.name: one.text for one in self.asking.growing if one.stopped}
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
        self._files, self.report, self.paths, self.choice = {}, None, (), None

    def _load(
        self, wanted: tuple[Path, ...], choice: Choice, loading: Job[Progress, Loaded]
    ) -> Loaded:
        """Read, cut, embed and store; changes nothing but collections that nobody looks at."""
        started = time.perf_counter()
        models = self.models_of(choice)
        loading.watch(models.embedding)
        parsers = make_parsers(choice, models.sentence_model, self._offer)
        known = wanted == self.paths and bool(self._documents)
        documents, files = self._documents, self._files
        if not known:
            documents, files = read_documents(wanted, self.read, loading.step)
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
            report = self._ingest(comparison, documents, loading.step)
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
        self._loading = None
        self._drop_unused(loaded.comparison)

    def _discard(self, loaded: Loaded) -> None:
        """Free what nobody waits for any longer."""
        if loaded.comparison.store is not self._store:
            loaded.comparison.store.close()


class PageSessions(Sessions[PageSession]):
    """Every visitor's session of the page, by the id of their browser tab.

    A tab that closes ends its session; one that never said goodbye ends after a while.

    Gradio's own per-session state is not used for this: it cannot be reached when a tab closes.

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
        make = partial(PageSession, settings, offer=self.offer, **own)
        super().__init__(make, idle_seconds=idle_seconds, most=most, clock=clock)
