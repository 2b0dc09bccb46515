"""Documents of one visitor: read and split in a thread, with the columns that are ticked."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rag_nodes.apps.visitors.columns import ChosenColumns, ColumnsRequest, offer_of
from rag_nodes.apps.visitors.jobs import Job
from rag_nodes.apps.visitors.reading import outcomes, read_documents
from rag_nodes.apps.visitors.turns import scale_for
from rag_nodes.core.errors import CancelledError, ConfigurationError, RagNodesError
from rag_nodes.core.keys import trace_of
from rag_nodes.embedding import Progress
from rag_nodes.models import choose_models
from rag_nodes.operations.run import Run
from rag_nodes.operations.workspace.session import Session
from rag_nodes.readers import ReadResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from llama_index.core.schema import Document

    from rag_nodes.apps.visitors.turns import SimilarityScale
    from rag_nodes.core.settings import Settings
    from rag_nodes.embedding import DocumentsReport, FileOutcome
    from rag_nodes.evaluation.compare import Comparison
    from rag_nodes.models import Models
    from rag_nodes.parsers import Preset
    from rag_nodes.query import QueryOptions

logger = logging.getLogger(__name__)
Steps = Mapping[str, Progress]
"""Last step of each parser while documents are loaded, and of the reader under ""."""
_FAULT = (
    "stopped by a fault of the app ({}). You can go on; whoever runs the app finds the reason in "
    "its log"
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Result of loading `paths`, before anyone uses it.

    `files` says how each ended, by the name its document goes by; `comparison` has the store that
    holds the chunks, and `scale` says how similarities of the embedding model read.
    """

    paths: tuple[Path, ...]
    documents: list[Document]
    files: Mapping[str, FileOutcome]
    comparison: Comparison
    report: DocumentsReport
    scale: SimilarityScale


class LoadingSession(Session):
    """One visitor's documents and columns.

    Loading runs in a thread of the session: it goes on when no page looks.

    Args:
        settings: of the server; what the visitor types comes on top.
        offer: columns to choose from; None for the presets.
        own: names of the operator's columns, which are ticked at first.
        documents: documents of the operator by the path they go by, which engines search; None if
            the path is a file.
        answering: how questions are answered; None for the settings.
        loads: held while documents are loaded, because not all visitors' can be at once.
        changed: called with the name of what changed: "loading" or "loaded".
        **options: as for `Session`.

    Attributes:
        columns: what is compared, and with what.
        context: budget or number of chunks, what is read of them, models and key, as the visitor
            chose them.
        report: what the last loading made; None before it.
        paths: the loaded documents.
        wanted: the documents that are being loaded, else those that are loaded.
        error: why the last loading failed; "" if it did not.
        scale: how similarities of the embedding model read.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        offer: Mapping[str, Preset] | None = None,
        own: Sequence[str] = (),
        documents: Mapping[Path, Document | None] = MappingProxyType({}),
        answering: QueryOptions | None = None,
        loads: AbstractContextManager[Any] = nullcontext(),  # noqa: B008 - it holds nothing
        changed: Callable[[str], None] = lambda _: None,
        **options: Any,
    ) -> None:
        super().__init__(settings, **options)
        self._given_documents = documents
        self._answering = answering
        self._loads = loads
        self._changed = changed
        self._files: Mapping[str, FileOutcome] = {}
        self._read: dict[Path, list[ReadResult]] = {}
        self._job: Job[Steps, DocumentsReport] | None = None
        self._unseen: Job[Steps, DocumentsReport] | None = None
        self.columns = ChosenColumns.first(offer_of() if offer is None else offer, own)
        reading = answering.granularity if answering else settings.answering().get("granularity")
        self.context = ColumnsRequest(
            budget=settings.budget,
            top_k=settings.top_k,
            granularity="chunks" if settings.top_k or reading is None else reading,
        )
        self.report: DocumentsReport | None = None
        self.paths: tuple[Path, ...] = ()
        self.wanted: tuple[Path, ...] = ()
        self.error = ""
        self.scale: SimilarityScale | None = None

    @property
    def loading(self) -> bool:
        """True while documents are loaded."""
        return self._job is not None and not self._job.done

    @property
    def last_loading(self) -> Job[Steps, DocumentsReport] | None:
        """The loading that runs or ran last; None if there was none, or it was cancelled."""
        return self._job

    @property
    def in_use(self) -> bool:
        """True with documents, or while they are loaded."""
        return super().in_use or self.loading

    def load(
        self, paths: Sequence[Path] = (), progress: Callable[[Progress], None] = lambda _: None
    ) -> DocumentsReport:
        """Load documents, and wait for it; see `start_loading`.

        Raises:
            CancelledError: see `cancel`.
            RagNodesError: nothing was chosen or read, or the models do not answer.
        """
        return self.start_loading(paths, progress).result()

    def start_loading(
        self, paths: Sequence[Path] = (), progress: Callable[[Progress], None] = lambda _: None
    ) -> Job[Steps, DocumentsReport]:
        """Read documents and split them with every ticked parser, as the context says.

        Documents that are loaded already are not read again, and only parsers whose options changed
        split and embed them again. The conversation stays if documents are only added, and labelled
        questions stay as long as their documents do. Until all is done the session answers from
        what it held before; a loading that runs already is cancelled.

        Args:
            paths: what to load; empty to stay with the loaded documents.
            progress: called after every step, from any thread.

        Raises:
            ConfigurationError: no document, or no column was chosen.
        """
        wanted = tuple(dict.fromkeys(paths)) or self.wanted or self.paths
        if not wanted:
            raise ConfigurationError("no document yet: add one first")
        if not self.columns.ticked:
            raise ConfigurationError("no column is chosen: tick at least one")
        request = self.context.model_copy(update={"parsers": self.columns.specs})
        self.wanted, self.error = wanted, ""
        job: Job[Steps, DocumentsReport] = Job("add the documents again to load them")
        # In one step: whoever looks sees that another run took over, not that nothing is loaded.
        before, self._job = self._job, job
        if before is not None:
            before.cancel()
        steps: dict[str, Progress] = {}

        def step(at: Progress) -> None:
            job.check()
            progress(at)
            steps["" if at.stage == "read" else at.name] = at
            job.step(dict(steps))
            self._changed("loading")

        self._unseen = job
        job.then(partial(self._show_loaded, job))
        job.start(partial(self._load, wanted, request, job, step), self._loads)
        return job

    def read(self, path: Path) -> Iterator[ReadResult]:
        """Read the documents of one file, once, or give the one that stands for it."""
        if given := self._given_documents.get(path):
            return iter([ReadResult(path, given, None, 0.0)])
        if path not in self._read:
            self._read[path] = list(super().read(path))
        return iter(self._read[path])

    def models_of(self, request: ColumnsRequest) -> Models:
        """Return the models that the visitor chose, known to answer.

        Raises:
            RagNodesError: see `models`.
        """
        settings = request.settings(self._settings)
        models = choose_models(settings)
        if not request.names_models:
            models = self._with_given(models)
        return self._tried(models, settings)

    def cancel(self) -> None:
        """End the loading that runs, if any; everything stays as it was before it."""
        job, self._job = self._job, None
        self.wanted = self.paths
        if job is not None:
            job.cancel()
        self._changed("loading")

    def _show_loaded(self, job: Job[Steps, DocumentsReport]) -> None:
        """Tell the page; until then it keeps asking."""
        self._changed("loaded")
        if self._unseen is job:
            self._unseen = None

    def _run(self, request: ColumnsRequest) -> Run:
        """Return the operation that a visitor's request is part of."""
        run = Run(self._settings, session=self, offer=self.columns.offer)
        run.tell(request)
        return run

    def _options(self, request: ColumnsRequest) -> QueryOptions:
        """Return how to answer questions: as the operator set it up, in the visitor's context."""
        if self._answering is None:
            return self._run(request).options(request)
        return replace(
            self._answering,
            budget=request.budget,
            top_k=request.top_k,
            granularity=request.granularity,
            retrieval_only=request.retrieval_only,
        )

    def _load(
        self,
        wanted: tuple[Path, ...],
        request: ColumnsRequest,
        job: Job[Steps, DocumentsReport],
        step: Callable[[Progress], None],
    ) -> DocumentsReport:
        """Load, and answer from it from then on, unless that was cancelled."""
        try:
            loaded = self._loaded(wanted, request, job, step)
            try:
                with self.turn():
                    job.settle()
                    self._take_over(loaded)
            finally:
                if (index := loaded.comparison.index) and index is not self._index:
                    index.close()  # nobody waits for it any longer
        except CancelledError:
            raise
        except Exception as error:
            if job is self._job:
                self.wanted = self.paths
                is_known = isinstance(error, RagNodesError)
                self.error = str(error) if is_known else _FAULT.format(type(error).__name__)
                if not is_known:
                    logger.error("documents could not be loaded\n%s", trace_of(error))  # noqa: TRY400 - its text may hold a key
            raise
        self._after_loading()
        return loaded.report

    def _loaded(
        self,
        wanted: tuple[Path, ...],
        request: ColumnsRequest,
        job: Job[Steps, DocumentsReport],
        step: Callable[[Progress], None],
    ) -> Loaded:
        """Read, split, embed and store; changes nothing but collections that nobody looks at."""
        started = time.perf_counter()
        models = self.models_of(request)
        job.watch(models.embedding)
        parsers = self._run(request).parsers(request.parsers, models)
        columns = {spec.name: parsers[spec.label] for spec in request.parsers}
        is_known = wanted == self.paths and bool(self._documents)
        documents, files = self._documents, self._files
        if not is_known:
            documents, files = read_documents(wanted, self.read, step)
            job.restart_clock()
        index = self._index if is_known and self._index else self._indexing(documents)
        options = self._options(request)
        try:
            comparison = self._compared(columns, index, models, options, step)
        except BaseException:
            if index is not self._index:
                index.close()
            raise
        report = comparison.loaded
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
        if loaded.comparison.index is not self._index:
            self._start_over(loaded.documents)
        self._index = loaded.comparison.index
        self._documents, self._files = loaded.documents, loaded.files
        self.paths, self.report, self.scale = loaded.paths, loaded.report, loaded.scale
        self._comparison = loaded.comparison if loaded.documents else None
        self._read = {path: read for path, read in self._read.items() if path in loaded.paths}
        self._drop_unused(loaded.comparison)

    def _start_over(self, documents: Sequence[Document]) -> None:
        """Forget all that does not belong to documents that are loaded from now on."""
        remaining = [document for document in self._documents
                     if any(document is other for other in documents)]  # fmt: skip
        if not remaining:
            self._forget()
            return
        if self._index is not None:
            self._index.close()
        self._keep(documents, are_all=len(remaining) == len(self._documents))

    def _forget(self) -> None:
        super()._forget()
        self._files, self.report, self.paths = {}, None, ()

    def _keep(self, documents: Sequence[Document], *, are_all: bool) -> None:
        """Forget what belongs to other documents than these; `are_all` if none went."""

    def _after_loading(self) -> None:
        """Go on after documents were loaded, in the thread that loaded them."""
