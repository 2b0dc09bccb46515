"""One visitor's documents in memory, and at most one thing that runs on them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import (
    CancelledError,
    ConfigurationError,
    DatasetTooLargeError,
    SessionEndedError,
)
from rag_nodes.processes import Interrupt, current_interrupt, interruptible
from rag_nodes.workspace.limits import check_file, check_labels
from rag_nodes.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from llama_index.core.schema import Document

    from rag_nodes.compare import Comparison
    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.importers.formats import Labels
    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.pipeline import Progress
    from rag_nodes.query import QueryOptions
    from rag_nodes.settings import Settings


class Session(Workspace):
    """What one visitor of REST or MCP has sent, cut and embedded when a question needs it.

    Whoever comes while something runs waits for it. The end of the session ends what runs, and
    what waits does not begin. Nothing is written to a disk.
    """

    def __init__(self, settings: Settings, **options: Any) -> None:
        super().__init__(settings, **options)
        self._brought: Labels | None = None
        self._running = Interrupt()
        self._over = False
        self._cut_for: object = None

    def take(self, documents: Sequence[Document], *, most: int) -> None:
        """Add documents; the next question cuts them.

        Args:
            documents: what was read.
            most: documents the session may hold.

        Raises:
            DatasetTooLargeError: there would be more.
            SessionEndedError: it is over.
        """
        with self.turn():
            if len(self._documents) + len(documents) > most:
                raise DatasetTooLargeError(
                    f"a session holds at most {most} documents; send fewer, or begin another"
                )
            self._documents += documents
            self._cut_for = None

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Have the session to oneself; its end ends what is done meanwhile.

        Raises:
            CancelledError: the visitor has left; see `interruptible`.
            SessionEndedError: it is over, or ended meanwhile.
        """
        with self._lock:
            self._running = current_interrupt()
            self._check_open()
            try:
                with interruptible(self._running):
                    yield
            except CancelledError:
                self._check_open()  # what was cancelled by its end should say so
                raise

    def prepared(
        self,
        parsers: Mapping[str, SpanNodeParser],
        models: Models,
        options: QueryOptions,
        *,
        equal_size: int | None = None,
        vector: str = "heading",
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> Comparison:
        """The parsers over the documents; what was cut for the question before stays.

        Args:
            parsers: by label.
            models: for all of them.
            options: how questions are answered.
            equal_size: tokens of a chunk on average in every column; None for own options.
            vector: by which embedding is searched.
            progress: hears of every step.

        Raises:
            CancelledError: see `turn`.
            ConfigurationError: there is no document, or no such embedding of what was sent.
            RagNodesError: the models do not answer.
        """
        if not self._documents:
            raise ConfigurationError("no document yet; upload one first")
        names = [(name, one.fingerprint) for name, one in parsers.items()]
        asked = (names, models.embedding_name, equal_size, vector)
        before = self._comparison if asked == self._cut_for else None
        made = self.compared(
            before.parsers if before else parsers,
            models,
            options,
            equal_size=equal_size,
            transformations=self.further(vector),
        )
        if before:
            made.sizing, made.statistics = before.sizing, before.statistics
            made.vectors = before.vectors
        else:
            check = current_interrupt().check

            def step(one: Progress) -> None:
                check("loading the documents")
                progress(one)

            self._ingest(made, self._documents, step)
            self._drop_unused(made)
        complete = not any(one.error for one in made.statistics.values())
        self._comparison, self._cut_for = made, asked if complete else None
        return made

    def bring(self, path: Path, *, most: int) -> Labels:
        """Keep the questions of a file; where there are no documents, take those it brings.

        Args:
            path: its suffix tells the format.
            most: documents the session may hold.

        Raises:
            DatasetError: it is of no known format, damaged, or too much.
            SessionEndedError: it is over.
        """
        from rag_nodes.evaluation.importers import documents_of, read_labels

        check_file(path)
        labels = read_labels(path)
        check_labels(labels, (), path.name)
        if labels.texts and not self._documents:
            self.take(documents_of(labels), most=most)
        self._brought = labels
        return labels

    def dataset(self, labels: Labels | None) -> Dataset:
        """Questions with their places in the documents.

        Args:
            labels: the questions; None for those of the file that was brought last.

        Raises:
            ConfigurationError: there are no documents or no questions.
            DatasetError: two questions have one id, or they are too much.
        """
        from rag_nodes.evaluation.importers import place

        labels = labels or self._brought
        if labels is None:
            raise ConfigurationError(
                "no questions; send some, or POST a file of them to /api/questions first"
            )
        if not self._documents:
            raise ConfigurationError("no document yet; upload one first, or send a text")
        check_labels(labels, self._documents, "questions")
        return place(labels, self._documents, "questions")

    def close(self) -> None:
        """Free everything; what runs is ended first, and what waits does not begin."""
        self._over = True
        self._running.set()
        super().close()

    def _check_open(self) -> None:
        if self._over:
            raise SessionEndedError(
                "no such session, or it has ended; POST documents to /api/upload first"
            )
