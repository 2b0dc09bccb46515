"""One REST client's documents and questions: a workspace that answers one at a time."""

from __future__ import annotations

import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from rag_nodes.errors import ConfigurationError, DocumentMissingError, SessionEndedError
from rag_nodes.processes import current_interrupt, interruptible
from rag_nodes.server.evaluating import documents_of, evaluated, placed, read_questions
from rag_nodes.server.uploads import received_of, save, text_document
from rag_nodes.workspace import Session, Sessions
from rag_nodes.workspace.workspace import parsers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.compare import Comparison, ComparisonReport, ComparisonStream
    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.importers.labels import Labels
    from rag_nodes.evaluation.plan import Step
    from rag_nodes.evaluation.report import EvaluationReport
    from rag_nodes.query import QueryOptions
    from rag_nodes.query.types import Event
    from rag_nodes.server.evaluating import Evaluation
    from rag_nodes.server.uploads import Received
    from rag_nodes.workspace import Choice


class Client(Session):
    """One client's documents in a store of their own, cut and embedded when a question needs it.

    Nothing of an upload stays on the disk: its text is kept in memory, like that of the page.
    """

    _answering: HeldStream | None = None

    def add(self, files: Sequence[tuple[str | None, BinaryIO]], *, most: int) -> list[Received]:
        """Read files into the session; a bad one is a row with its reason.

        Args:
            files: name and content of each.
            most: documents the session may hold.

        Raises:
            SessionEndedError: there would be more.
        """
        received: list[Received] = []
        with tempfile.TemporaryDirectory(prefix="rag_nodes_") as folder:
            for position, (name, stream) in enumerate(files):
                path = save(stream, name, Path(folder, str(position)))
                received += received_of(path, self._read)
        self.take([one.document for one in received if one.document is not None], most=most)
        return received

    def add_text(self, text: str) -> None:
        """Take a text as a document."""
        self.take([text_document(text)], most=1)

    def document(self, document_id: str) -> Document:
        """The document of that id.

        Raises:
            SessionEndedError: the session has none.
        """
        found = next((one for one in self._documents if one.doc_id == document_id), None)
        if found is None:
            raise DocumentMissingError("this session has no such document; upload it first")
        return found

    def bring(self, name: str | None, stream: BinaryIO, *, most: int) -> Labels:
        """Keep the questions of a file; where the session has no documents, take those it brings.

        Args:
            name: as the client sent it; its suffix tells the format.
            stream: the content.
            most: documents the session may hold.

        Raises:
            SessionEndedError: it is too much, or the session has ended.
            DatasetError: it is of no known format, or damaged.
        """
        with tempfile.TemporaryDirectory(prefix="rag_nodes_") as folder:
            labels = read_questions(save(stream, name, Path(folder, "questions")))
        if labels.texts and not self._documents:
            self.take(documents_of(labels), most=most)
        self.kept["questions"] = labels
        return labels

    def dataset(self, labels: Labels | None) -> Dataset:
        """Questions with their places in the documents of the session.

        Args:
            labels: the questions; None for those of the file that was brought last.

        Raises:
            SessionEndedError: it is too much, or there are no questions.
            ConfigurationError: there are no documents.
            DatasetError: two questions have one id.
        """
        labels = labels or self.kept.get("questions")
        if labels is None:
            raise ConfigurationError(
                "no questions; send some, or POST a file of them to /api/questions first"
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
            SessionEndedError: it is too much, or the session has ended.
            CancelledError: the client has left; see `interruptible`.
            RagNodesError: there is nothing to measure, or the models do not answer.
        """
        with self.turn():
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
            SessionEndedError: the session has ended, also while this waited for its turn.
            CancelledError: the client has left; see `interruptible`.
        """
        self._lock.acquire()
        try:
            self._running = current_interrupt()
            self._check_open()
            with interruptible(self._running):
                stream = self._asked(choice, options).stream(question)
        except BaseException:
            self._lock.release()
            self._check_open()  # what was cancelled by its end should say so
            raise
        asking = self._answering = HeldStream(stream, self._lock)
        try:
            self._check_open()
        except SessionEndedError:
            asking.close()
            raise
        return asking

    def close(self) -> None:
        """Free everything; an answer that is being streamed ends, too."""
        self._over = True
        if self._answering is not None:
            self._answering.close()
        super().close()

    def _asked(self, choice: Choice, options: QueryOptions) -> Comparison:
        """The comparison with every document cut as chosen."""
        models = self.models(choice)
        return self.prepared(
            parsers_of(choice, models, self._offer),
            models,
            options,
            equal_size=choice.equal_size,
            vector=choice.vector,
        )


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
            SessionEndedError: the session ended before.
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
            SessionEndedError: it is missing, has ended, or never was.
            BusyError: there is no room for a new one.
        """
        if key is None or (not new and key not in self):
            raise ended()
        with self.holding(key) as session:
            yield session


def ended() -> SessionEndedError:
    """There is no such session."""
    return SessionEndedError(
        "no such session, or it has ended; POST documents to /api/upload first"
    )
