"""One REST client's documents and questions: a workspace that answers one at a time."""

from __future__ import annotations

import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from rag_nodes.errors import CancelledError, ConfigurationError
from rag_nodes.processes import current_interrupt, interruptible
from rag_nodes.server.evaluating import documents_of, evaluated, placed, read_questions
from rag_nodes.server.failures import ApiError, too_large
from rag_nodes.server.rest.uploads import received_of, save, text_document
from rag_nodes.workspace import Sessions, Workspace
from rag_nodes.workspace.workspace import parsers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.compare import Comparison, ComparisonReport, ComparisonStream
    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.importers.labels import Labels
    from rag_nodes.evaluation.plan import Step
    from rag_nodes.evaluation.report import EvaluationReport
    from rag_nodes.processes import Interrupt
    from rag_nodes.query import QueryOptions
    from rag_nodes.query.types import Event
    from rag_nodes.server.evaluating import Evaluation
    from rag_nodes.server.rest.uploads import Received
    from rag_nodes.workspace import Choice


class Client(Workspace):
    """One client's documents in a store of their own, cut and embedded when a question needs it.

    Nothing of an upload stays on the disk: its text is kept in memory, like that of the page.
    """

    _choice: Choice | None = None
    _labels: Labels | None = None
    _answering: HeldStream | None = None
    _preparing: Interrupt | None = None
    _over = False

    def add(self, files: Sequence[tuple[str | None, BinaryIO]], *, most: int) -> list[Received]:
        """Read files into the session; a bad one is a row with its reason.

        Args:
            files: name and content of each.
            most: documents the session may hold.

        Raises:
            ApiError: there would be more.
        """
        received: list[Received] = []
        with tempfile.TemporaryDirectory(prefix="rag_nodes_") as folder:
            for position, (name, stream) in enumerate(files):
                path = save(stream, name, Path(folder, str(position)))
                received += received_of(path, self._read)
        self._take([one.document for one in received if one.document is not None], most)
        return received

    def add_text(self, text: str) -> None:
        """Take a text as a document."""
        self._take([text_document(text)], most=1)

    def document(self, document_id: str) -> Document:
        """The document of that id.

        Raises:
            ApiError: the session has none.
        """
        found = next((one for one in self._documents if one.doc_id == document_id), None)
        if found is None:
            raise ApiError(404, "this session has no such document", "upload it first")
        return found

    def bring(self, name: str | None, stream: BinaryIO, *, most: int) -> Labels:
        """Keep the questions of a file; where the session has no documents, take those it brings.

        Args:
            name: as the client sent it; its suffix tells the format.
            stream: the content.
            most: documents the session may hold.

        Raises:
            ApiError: it is too much, or the session has ended.
            DatasetError: it is of no known format, or damaged.
        """
        with tempfile.TemporaryDirectory(prefix="rag_nodes_") as folder:
            labels = read_questions(save(stream, name, Path(folder, "questions")))
        if labels.texts and not self._documents:
            self._take(documents_of(labels), most)
        self._labels = labels
        return labels

    def dataset(self, labels: Labels | None) -> Dataset:
        """Questions with their places in the documents of the session.

        Args:
            labels: the questions; None for those of the file that was brought last.

        Raises:
            ApiError: it is too much, or there are no questions.
            ConfigurationError: there are no documents.
            DatasetError: two questions have one id.
        """
        labels = labels or self._labels
        if labels is None:
            raise ApiError(
                422, "no questions", "send some, or POST a file of them to /api/questions first"
            )
        if not self._documents:
            raise ConfigurationError("no document yet; upload one first")
        return placed(labels, self.documents)

    def evaluation(
        self, work: Evaluation, labels: Labels | None, progress: Callable[[Step], None]
    ) -> EvaluationReport:
        """Which parser finds the answers to the questions in the documents of the session.

        Args:
            work: what is compared and measured.
            labels: the questions; None for those of the file that was brought last.
            progress: hears of every step.

        Raises:
            ApiError: it is too much, or the session has ended.
            CancelledError: the client has left; see `interruptible`.
            RagNodesError: there is nothing to measure, or the models do not answer.
        """
        with self._turn():
            return evaluated(self, self.dataset(labels), work, self._offer, progress)

    def answers(self, question: str, choice: Choice, options: QueryOptions) -> ComparisonReport:
        """Answer with every chosen parser.

        Raises:
            CancelledError: the client has left; see `interruptible`.
            RagNodesError: there is no document, the models do not answer, or options are wrong.
        """
        interrupt = current_interrupt()
        asking = self.answering(question, choice, options)
        try:
            with interrupt.killing(asking.close):
                return asking.finish()
        finally:
            asking.close()

    def answering(self, question: str, choice: Choice, options: QueryOptions) -> HeldStream:
        """Like `answers`, event by event; the session is held until the result is closed.

        Raises:
            ApiError: the session has ended, also while this waited for its turn.
            CancelledError: the client has left; see `interruptible`.
        """
        self._lock.acquire()
        try:
            self._preparing = current_interrupt()
            self._check_open()
            with interruptible(self._preparing):
                stream = self._prepared(choice, options).stream(question)
        except BaseException:
            self._lock.release()
            self._check_open()  # what was cancelled by its end should say so
            raise
        asking = self._answering = HeldStream(stream, self._lock)
        try:
            self._check_open()
        except ApiError:
            asking.close()
            raise
        return asking

    def close(self) -> None:
        """Free everything; an answer that is being streamed ends, questions that wait do not begin.

        Either this sees an answer that begins, or its second check sees that the session is over.
        """
        self._over = True
        if self._preparing is not None:
            self._preparing.set()
        if self._answering is not None:
            self._answering.close()
        super().close()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Have the session to oneself; the end of the session ends what is done meanwhile."""
        with self._lock:
            self._preparing = current_interrupt()
            self._check_open()
            try:
                with interruptible(self._preparing):
                    yield
            except CancelledError:
                self._check_open()  # what was cancelled by its end should say so
                raise

    def _check_open(self) -> None:
        if self._over:
            raise ended()

    def _take(self, documents: list[Document], most: int) -> None:
        with self._lock:
            self._check_open()
            if len(self._documents) + len(documents) > most:
                raise too_large(f"a session holds at most {most} documents")
            self._documents += documents
            self._choice = None  # the next question cuts them

    def _prepared(self, choice: Choice, options: QueryOptions) -> Comparison:
        """The comparison with every document cut as chosen; what was cut before stays."""
        if not self._documents:
            raise ConfigurationError("no document yet; upload one first")
        before = self._comparison if choice == self._choice else None
        models = before.models if before else self.models(choice)
        parsers = before.parsers if before else parsers_of(choice, models, self._offer)
        made = self.compared(
            parsers,
            models,
            options,
            equal_size=choice.equal_size,
            transformations=self.further(choice.vector),
        )
        if before:
            made.sizing, made.statistics, made.vectors = (
                before.sizing,
                before.statistics,
                before.vectors,
            )
        else:
            check = current_interrupt().check
            self._ingest(made, self._documents, lambda _: check("loading the documents"))
            self._drop_unused(made)
        self._comparison, self._choice = made, choice
        return made


class HeldStream:
    """A question being answered, and the session that is held for it.

    Args:
        stream: the events.
        lock: released once nothing more is wanted.
    """

    def __init__(self, stream: ComparisonStream, lock: threading.Lock) -> None:
        self._stream = stream
        self._held: threading.Lock | None = lock
        self._closing = threading.Lock()

    def take(self) -> tuple[str, Event] | None:
        """The next parser and event, waiting for it; None after the last one."""
        return self._stream.take()

    def finish(self) -> ComparisonReport:
        """All answers, waiting for them; see `report`."""
        while self.take() is not None:
            pass
        return self.report()

    def report(self) -> ComparisonReport:
        """All answers, once the last event was taken.

        Raises:
            ApiError: the session ended before.
        """
        if self._held is None:
            raise ended()
        return self._stream.report()

    def close(self) -> None:
        """End what still runs, and let the session go; safe from any thread, and twice."""
        with self._closing:
            held, self._held = self._held, None
        # Only now: whoever waits for the last event finds that there is nothing to report.
        self._stream.close()
        if held is not None:
            held.release()


class Clients(Sessions[Client]):
    """Every client's workspace, by the id of the session it was given."""

    kind = Client

    @contextmanager
    def opened(self, key: str | None, *, new: bool = False) -> Iterator[Client]:
        """The session of a client, which ends for nobody else's sake meanwhile.

        Args:
            key: as it was given out; only ids that we gave out lead to a session.
            new: it is given out now.

        Raises:
            ApiError: it is missing, has ended, or never was.
            BusyError: there is no room for a new one.
        """
        if key is None or (not new and key not in self):
            raise ended()
        with self.holding(key) as session:
            yield session


def ended() -> ApiError:
    """There is no such session."""
    return ApiError(404, "no such session, or it has ended", "POST documents to /api/upload first")
