"""One visitor's work: documents that were loaded as they chose, freed when the visitor leaves."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rag_nodes.apps.visitors.answering import AnsweringSession
from rag_nodes.apps.visitors.choice import (
    effective_settings,
    make_parsers,
    names_models,
    query_options,
)
from rag_nodes.apps.visitors.deciding import Decider
from rag_nodes.apps.visitors.jobs import Job
from rag_nodes.apps.visitors.loading import Loaded, outcomes, read_documents
from rag_nodes.apps.visitors.questions import Questions
from rag_nodes.apps.visitors.turns import scale_for
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.embedding import Progress
from rag_nodes.models import choose_models
from rag_nodes.query import QueryOptions
from rag_nodes.readers import ReadResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from llama_index.core.schema import Document

    from rag_nodes.apps.visitors.choice import Choice
    from rag_nodes.core.settings import Settings
    from rag_nodes.embedding import DocumentsReport, FileOutcome
    from rag_nodes.models import Models
    from rag_nodes.parsers import Preset


Steps = Mapping[str, Progress]
"""The last step of each parser while documents are loaded, and of the reader under ""."""


class PageSession(AnsweringSession):
    """One visitor's documents in a store of their own, and what the visitor asked of them.

    Loading and answering run in threads of the session: they go on when no page looks.

    Args:
        settings: the server's; what the visitor types in comes on top.
        offer: parsers to choose from; None for the presets.
        documents: that can be loaded without a file, by the path they go by.
        answering: how questions are answered where nothing is chosen; None for the settings' way.
        loads: held while documents are loaded, as not all visitors' can be at once.
        answers: held while a question is answered, likewise.
        **options: of `AnsweringSession`, as are further attributes.

    Attributes:
        questions: those with known answers in the documents, which go with them.
        decider: finds out in the background which parser and size to take.
        report: what the last `load` did; None before it.
        paths: the loaded documents.
        choice: what they were loaded with, so what the next question is answered with.
        shown: what each tab shows, as JSON, so that it can show it again.
        chosen: what the page shows as chosen, whether or not it was loaded with that.
        wanted: parsers of the last loading.
        is_lost: the tab had a session before that this server no longer has.
        key_is_hidden: the page was loaded again and shows no key; that of `chosen` holds.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        offer: Mapping[str, Preset] | None = None,
        documents: Mapping[Path, Document] = MappingProxyType({}),
        answering: QueryOptions | None = None,
        loads: AbstractContextManager[Any] = nullcontext(),  # noqa: B008 - it holds nothing
        answers: AbstractContextManager[Any] = nullcontext(),  # noqa: B008
        **options: Any,
    ) -> None:
        super().__init__(settings, answers=answers, **options)
        self._offer = offer
        self._given_documents = documents
        self._usual = answering or QueryOptions(**settings.answering())
        self._loads = loads
        self._files: Mapping[str, FileOutcome] = {}
        self._loading: Job[Steps, DocumentsReport] | None = None
        self.questions = Questions()
        self.decider = Decider(self)
        self.report: DocumentsReport | None = None
        self.paths: tuple[Path, ...] = ()
        self.choice: Choice | None = None
        self.shown: dict[str, Any] = {}
        self.chosen: Choice | None = None
        self.wanted: tuple[str, ...] = ()
        self._wanted_paths: tuple[Path, ...] = ()
        self.is_lost = False
        self.key_is_hidden = False

    @property
    def loading(self) -> bool:
        """True while documents are loaded."""
        return self._loading is not None and not self._loading.done

    @property
    def last_loading(self) -> Job[Steps, DocumentsReport] | None:
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
    ) -> DocumentsReport:
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
    ) -> Job[Steps, DocumentsReport]:
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
        self.wanted, self._wanted_paths = choice.parsers, wanted
        loading: Job[Steps, DocumentsReport] = Job("upload the documents again to load them")
        # In one step: whoever looks sees that another run took over, not that nothing is loaded.
        before, self._loading = self._loading, loading
        if before is not None:
            before.cancel()
        steps: dict[str, Progress] = {}

        def step(one: Progress) -> None:
            loading.check()
            progress(one)
            steps["" if one.stage == "read" else one.name] = one
            loading.step(dict(steps))

        loading.start(partial(self._load, wanted, choice, loading, step), self._loads)
        return loading

    @property
    def uploads(self) -> tuple[Path, ...]:
        """The files that are loaded, or being loaded."""
        return self._wanted_paths if self.loading else self.paths

    def read(self, path: Path) -> Iterator[ReadResult]:
        """The documents of one file, or the one that was given for it."""
        if given := self._given_documents.get(path):
            return iter([ReadResult(path, given, None, 0.0)])
        return super().read(path)

    def models_of(self, choice: Choice, *, check: bool = True) -> Models:
        """The models that the visitor chose, known to answer.

        Raises:
            RagNodesError: see `models`.
        """
        settings = effective_settings(self._settings, choice)
        models = choose_models(settings)
        if not names_models(choice):
            models = self._with_given(models)
        return self._tried(models, settings) if check else models

    def cancel(self) -> None:
        """End the loading that runs, if any; everything stays as it was before it."""
        loading, self._loading = self._loading, None
        if loading is not None:
            loading.cancel()

    def close(self) -> None:
        """Free everything; what runs is ended first."""
        self.cancel()
        self.stop()
        self.decider.forget()
        super().close()

    def _forget(self) -> None:
        super()._forget()
        self.questions.clear()
        self.decider.forget()
        self.shown = {}
        self._files, self.report, self.paths, self.choice = {}, None, (), None

    def _load(
        self,
        wanted: tuple[Path, ...],
        choice: Choice,
        loading: Job[Steps, DocumentsReport],
        step: Callable[[Progress], None],
    ) -> DocumentsReport:
        """Load, and answer from it from then on, unless that was cancelled."""
        loaded = self._loaded(wanted, choice, loading, step)
        try:
            with self.turn():
                loading.settle()
                self._take_over(loaded)
                self.choice = choice
        finally:
            if (index := loaded.comparison.index) and index is not self._index:
                index.close()  # nobody waits for it any longer
        self.decider.start()
        return loaded.report

    def _loaded(
        self,
        wanted: tuple[Path, ...],
        choice: Choice,
        loading: Job[Steps, DocumentsReport],
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
            loading.began_anew()
        index = self._index if known and self._index else self._indexing(documents)
        options = query_options(self._usual, choice)
        try:
            comparison = self._compared(parsers, index, models, options, step)
        except BaseException:
            if index is not self._index:
                index.close()
            raise
        report = comparison.loaded
        mode = options.search_mode(by_meaning=models.embeds_meaning)
        ran = f"{report.models} · {mode} search"
        seconds = time.perf_counter() - started
        report = replace(report, files=outcomes(files, report), seconds=seconds, models=ran)
        scale = scale_for(models.embedding_name, self._settings)
        return Loaded(wanted, documents, files, comparison, report, scale)

    def _take_over(self, loaded: Loaded) -> None:
        """Answer from what was loaded from now on."""
        if loaded.comparison.index is not self._index:
            self._forget()
        self._index = loaded.comparison.index
        self._documents, self._files = loaded.documents, loaded.files
        self.paths, self.report, self._scale = loaded.paths, loaded.report, loaded.scale
        self._comparison = loaded.comparison if loaded.documents else None
        self._drop_unused(loaded.comparison)
