"""Loading that can be cancelled: in a thread of its own, on state of its own, until it is done."""

from __future__ import annotations

import threading
from concurrent import futures
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from llama_index.core.callbacks import CallbackManager, CBEventType

from rag_nodes.errors import CancelledError
from rag_nodes.metadata import SOURCE
from rag_nodes.models.handlers import QuietHandler
from rag_nodes.pipeline import FileOutcome, Progress
from rag_nodes.processes import Interrupt, interruptible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import Document

    from rag_nodes.compare import Comparison
    from rag_nodes.pipeline import IngestReport
    from rag_nodes.pipeline.report import FileStatus
    from rag_nodes.readers import ReadResult
    from rag_nodes.workspace.scores import SimilarityScale


@dataclass(frozen=True, slots=True)
class Loaded:
    """What loading has made, before anyone uses it.

    Attributes:
        paths: what was to be loaded.
        documents: what could be read of it.
        files: how each file ended, by the name its document goes by.
        comparison: the parsers over it, with the store that holds the chunks.
        report: what every parser made.
        scale: how the similarities of the embedding model read.
    """

    paths: tuple[Path, ...]
    documents: list[Document]
    files: Mapping[str, FileOutcome]
    comparison: Comparison
    report: IngestReport
    scale: SimilarityScale


class Loading:
    """One run of loading.

    Cancelling returns to the caller at once. The process that reads a file is killed; a parser,
    or a request to a model, ends by itself, and nothing comes after it.

    Args:
        progress: called after every step, from any thread, until it is cancelled.
    """

    def __init__(self, progress: Callable[[Progress], None]) -> None:
        self._progress = progress
        self._interrupt = Interrupt()
        self._outcome: futures.Future[Loaded] = futures.Future()

    def run(self, work: Callable[[], Loaded], discard: Callable[[Loaded], None]) -> Loaded:
        """Do the work, and wait for it or for `cancel`.

        Args:
            work: calls `step` now and then.
            discard: frees what was made although it had been cancelled.

        Raises:
            CancelledError: it was cancelled.
            RagNodesError: what the work raised.
        """
        threading.Thread(
            target=self._run, args=(work, discard), name="loading", daemon=True
        ).start()
        try:
            return self._outcome.result()
        except futures.CancelledError:
            raise CancelledError("Cancelled; upload the documents again to load them") from None

    def cancel(self) -> None:
        """End it, unless it is done; safe from any thread, and twice."""
        if self._outcome.cancel():
            self._interrupt.set()

    def step(self, progress: Progress) -> None:
        """Pass a step on; ends the work where it was cancelled."""
        self.check()
        self._progress(progress)

    def check(self) -> None:
        """End the work where it was cancelled."""
        if self._outcome.cancelled():
            raise _AbandonedError

    def watch(self, embedding: BaseEmbedding) -> None:
        """Have every request to an embedding model end the work where it was cancelled.

        A parser that compares sentences may make hundreds of them within one step.
        """
        embedding.callback_manager = CallbackManager([_BeforeRequest(self.check)])

    def _run(self, work: Callable[[], Loaded], discard: Callable[[Loaded], None]) -> None:
        try:
            with interruptible(self._interrupt):
                loaded = work()
        except _AbandonedError:
            return
        except BaseException as error:  # noqa: BLE001 - it is raised again where `run` waits
            with suppress(futures.InvalidStateError):  # nobody waits for it
                self._outcome.set_exception(error)
            return
        try:
            self._outcome.set_result(loaded)
        except futures.InvalidStateError:
            discard(loaded)


class _AbandonedError(BaseException):
    """Nobody waits any longer.

    No `Exception`: those of parsers and models are noted as a column's failure, and the other
    documents follow.
    """


class _BeforeRequest(QuietHandler):
    """Calls a function before each request to an embedding model."""

    def __init__(self, check: Callable[[], None]) -> None:
        super().__init__()
        self._check = check

    def on_event_start(
        self,
        event_type: CBEventType,
        payload: dict[str, Any] | None = None,
        event_id: str = "",
        parent_id: str = "",
        **kwargs: Any,
    ) -> str:
        """Call it."""
        del payload, parent_id, kwargs
        if event_type is CBEventType.EMBEDDING:
            self._check()
        return event_id


def read_documents(
    paths: Sequence[Path],
    read: Callable[[Path], Iterable[ReadResult]],
    progress: Callable[[Progress], None],
) -> tuple[list[Document], dict[str, FileOutcome]]:
    """Read every file once; a bad one becomes a row and stops nothing.

    Args:
        paths: the files.
        read: gives the documents of one.
        progress: called before every file.

    Returns:
        The documents, and how each file ended, by the name its document goes by.
    """
    documents: list[Document] = []
    files: dict[str, FileOutcome] = {}
    for position, path in enumerate(paths):
        progress(Progress("read", path.name, position, len(paths)))
        for result in read(path):
            if result.document is not None:
                documents.append(result.document)
            source, outcome = _outcome(result)
            files[source] = outcome
    return documents, files


def _outcome(result: ReadResult) -> tuple[str, FileOutcome]:
    name, error = str(result.path), result.error
    source = str(result.document.metadata[SOURCE]) if result.document else name
    # Not the whole message: it holds the path on the server, and some reasons repeat it.
    why = f"{error.reason}; {error.remedy}".replace(name, result.path.name) if error else None
    status: FileStatus = "failed" if error else "read"
    return source, FileOutcome(name, status, None, 0, why, result.seconds)


def outcomes(files: Mapping[str, FileOutcome], report: IngestReport) -> tuple[FileOutcome, ...]:
    """How each file ended, in the words of the ingest where it got that far."""
    ingested = {outcome.path: outcome for outcome in report.files}
    return tuple(
        replace(ingested[path], seconds=row.seconds) if path in ingested else row
        for path, row in files.items()
    )
