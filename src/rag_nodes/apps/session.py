"""One visitor's work: documents, chunks, questions and answers, freed when the visitor leaves."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_nodes.apps.options import effective_settings, make_parsers
from rag_nodes.apps.scores import Scale, scale_for
from rag_nodes.compare import Comparison
from rag_nodes.errors import ConfigurationError, RagNodesError, StoreError
from rag_nodes.metadata import SOURCE
from rag_nodes.models import check_models, choose_models
from rag_nodes.pipeline import FileOutcome, Progress
from rag_nodes.query import QueryOptions
from rag_nodes.query.events import Delta, Last, Retrieved
from rag_nodes.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from llama_index.core.schema import Document

    from rag_nodes.apps.options import Choice
    from rag_nodes.compare import ComparisonReport, ComparisonStream
    from rag_nodes.models import Models
    from rag_nodes.pipeline import IngestReport
    from rag_nodes.pipeline.report import FileStatus
    from rag_nodes.query.events import Event
    from rag_nodes.readers import ReadResult
    from rag_nodes.settings import Settings
    from rag_nodes.store import Store

MOST_TURNS = 20
"""Questions kept on the page; older ones are dropped, so that it stays quick."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and what came of it.

    Attributes:
        number: counted from 1, never reused within a session.
        question: as typed.
        report: the answers; None when no parser could answer.
        error: why not; None otherwise.
        scale: how the similarities of this turn's embedding model read.
    """

    number: int
    question: str
    report: ComparisonReport | None
    error: str | None
    scale: Scale | None


@dataclass(frozen=True, slots=True)
class Growing:
    """One column while its answer is being written.

    Attributes:
        name: the parser.
        found: chunks retrieved; None before that.
        text: what has arrived of the answer.
        ended: nothing more will come.
    """

    name: str
    found: int | None = None
    text: str = ""
    ended: bool = False

    def after(self, event: Event) -> Growing:
        """The column after one more event."""
        if isinstance(event, Retrieved):
            return replace(self, found=len(event.hits))
        if isinstance(event, Delta):
            return replace(self, text=self.text + event.text)
        return replace(self, ended=True) if isinstance(event, Last) else self


class Session:
    """One visitor's documents in a store of their own.

    Args:
        settings: the server's; what the visitor types in comes on top.
        local_models: the visitor may type in addresses behind the server's firewall.

    Attributes:
        turns: questions and answers, oldest first.
        report: what the last `load` did; None before it.
        paths: the loaded documents.
    """

    def __init__(self, settings: Settings, *, local_models: bool = False) -> None:
        self._settings = settings
        self._local_models = local_models
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._comparison: Comparison | None = None
        self._scale: Scale | None = None
        self._documents: list[Document] = []
        self._files: dict[str, FileOutcome] = {}
        self._checked: Settings | None = None
        self._asked = 0
        self._running: ComparisonStream | None = None
        self.turns: list[Turn] = []
        self.report: IngestReport | None = None
        self.paths: tuple[Path, ...] = ()

    @property
    def ready(self) -> bool:
        """True when there is something to ask."""
        return self._comparison is not None

    @property
    def documents(self) -> tuple[Document, ...]:
        """What was read, in the order it was loaded."""
        return tuple(self._documents)

    @property
    def comparison(self) -> Comparison | None:
        """The parsers over it; None while nothing is loaded."""
        return self._comparison

    @property
    def columns(self) -> tuple[str, ...]:
        """The parsers that would answer now."""
        return tuple(self._comparison.parsers) if self._comparison else ()

    def load(
        self,
        paths: Sequence[Path],
        choice: Choice,
        progress: Callable[[Progress], None],
    ) -> IngestReport:
        """Read documents and cut them with every chosen parser.

        Other documents than before start over: new store, no history (S0-41). The same documents
        are not read again, and only parsers whose options changed do any work.

        Args:
            paths: what to load; empty to stay with the loaded documents.
            choice: parsers, options and models.
            progress: called after every step, from any thread.

        Raises:
            RagNodesError: nothing was chosen or read, or the models do not answer.
        """
        with self._lock:
            wanted = tuple(dict.fromkeys(paths)) or self.paths
            if not wanted:
                raise ConfigurationError("no document yet: upload one first")
            if not choice.parsers:
                raise ConfigurationError("no parser chosen: tick at least one")
            models, self._scale = self._models(choice)
            parsers = make_parsers(choice, None if models.offline else models.embedding)
            if wanted != self.paths or not self._documents:
                self._start_over(wanted)
                self._read(progress)
            return self._ingest(
                Comparison(
                    store=self._opened(),
                    models=models,
                    parsers=parsers,
                    options=QueryOptions(
                        **{
                            **self._settings.answering(),
                            "budget": choice.budget,
                            "top_k": choice.top_k,
                            "retrieval_only": choice.retrieval_only,
                        }
                    ),
                ),
                progress,
            )

    def ask(self, question: str) -> Turn:
        """Answer with every parser and remember the turn; failures are part of it."""
        for _ in self.stream(question):
            pass
        return self.turns[-1]

    def stream(self, question: str) -> Iterator[tuple[Growing, ...]]:
        """Like `ask`, with a look at the columns whenever something has changed in one.

        Whoever stops reading stops the answers, and nothing is remembered.
        """
        with self._lock:
            report, error = None, None
            try:
                if self._comparison is None:
                    raise ConfigurationError("no document yet: upload one first")
                grown = {name: Growing(name) for name in self._comparison.parsers}
                with self._comparison.stream(question) as self._running:
                    for name, event in self._running:
                        grown[name] = grown[name].after(event)
                        yield tuple(grown.values())
                    report = self._running.report()
            except RagNodesError as failure:
                error = str(failure)
            finally:
                self._running = None
            self._asked += 1
            turn = Turn(self._asked, question, report, error, self._scale)
            self.turns = [*self.turns, turn][-MOST_TURNS:]

    def stop(self) -> None:
        """End the answers that are being written; what has ended stays."""
        running = self._running
        if running is not None:
            for name in self.columns:
                running.cancel(name)

    def clear(self) -> None:
        """Forget the questions; documents stay."""
        with self._lock:
            self.turns = []

    def close(self) -> None:
        """Free everything, once running work has ended."""
        with self._lock:
            self._start_over(())

    def _models(self, choice: Choice) -> tuple[Models, Scale]:
        """The models, known to answer; a choice that was checked is not checked again."""
        settings = effective_settings(self._settings, choice, local_models=self._local_models)
        models = choose_models(settings)
        if settings != self._checked:
            check_models(models)
            self._checked = settings
        return models, scale_for(models.embedding_name, settings)

    def _start_over(self, paths: tuple[Path, ...]) -> None:
        if self._store is not None:
            self._store.close()
        self._store, self._comparison, self.report = None, None, None
        self._documents, self._files, self.turns = [], {}, []
        self.paths = paths

    def _opened(self) -> Store:
        if self._store is None:
            self._store = open_store(":memory:")
        return self._store

    def _read(self, progress: Callable[[Progress], None]) -> None:
        """Read every file once; a bad one becomes a row and stops nothing."""
        from rag_nodes.readers import Limits, read_all

        limits = Limits(**self._settings.reading())
        for position, path in enumerate(self.paths):
            progress(Progress("read", path.name, position, len(self.paths)))
            for result in read_all([path], limits=limits):
                if result.document is not None:
                    self._documents.append(result.document)
                self._note(result)

    def _note(self, result: ReadResult) -> None:
        """Remember how a file ended, under the name its document goes by."""
        name, error = str(result.path), result.error
        source = str(result.document.metadata[SOURCE]) if result.document else name
        # Not the whole message: it holds the path on the server, and some reasons repeat it.
        why = f"{error.reason}; {error.remedy}".replace(name, result.path.name) if error else None
        status: FileStatus = "failed" if error else "read"
        self._files[source] = FileOutcome(name, status, None, 0, why, result.seconds)

    def _ingest(self, comparison: Comparison, progress: Callable[[Progress], None]) -> IngestReport:
        started = time.perf_counter()
        report = comparison.ingest_documents(self._documents, progress=progress)
        outcomes = {outcome.path: outcome for outcome in report.files}
        files = tuple(
            replace(outcomes[path], seconds=row.seconds) if path in outcomes else row
            for path, row in self._files.items()
        )
        self.report = replace(report, files=files, seconds=time.perf_counter() - started)
        self._comparison = comparison if self._documents else None
        self._drop_unused(comparison)
        return self.report

    def _drop_unused(self, comparison: Comparison) -> None:
        """Options that were left behind leave no chunks."""
        current = {comparison.collection(name) for name in comparison.parsers}
        try:
            for info in comparison.store.collections():
                if info.name not in current:
                    comparison.store.drop(info.name)
        except StoreError:
            # Only memory is at stake; the answers do not depend on it.
            logger.warning("unused collections could not be dropped", exc_info=True)
