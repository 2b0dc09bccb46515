"""One user's documents, store and comparison, and at most one thing that runs on them.

What reads and splits files is imported when there is one: a question to a store has none.
"""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from rag_nodes.core.errors import (
    CancelledError,
    DatasetTooLargeError,
    SessionEndedError,
    StoreError,
)
from rag_nodes.core.processes import Interrupt, current_interrupt, interruptible, unless_interrupted
from rag_nodes.models import Models, check_models, choose_models
from rag_nodes.models.names import EXTRACTIVE, set_in_llama_index
from rag_nodes.operations.workspace.limits import FILE_SECONDS, MAX_KEPT_BYTES, MEMORY
from rag_nodes.operations.workspace.opening import open_when_free
from rag_nodes.text.words import forget_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM
    from llama_index.core.schema import Document

    from rag_nodes.core.settings import Settings
    from rag_nodes.embedding import Progress
    from rag_nodes.evaluation.compare import Comparison
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.query import QueryOptions
    from rag_nodes.query.cache import VectorCache
    from rag_nodes.query.documents import DocumentIndex
    from rag_nodes.readers import ReadResult
    from rag_nodes.store import Store

logger = logging.getLogger(__name__)


class Session:
    """One user's documents in a store, and the comparison that answers from them.

    Whoever comes while something runs on it waits for that. The end of the session ends what runs,
    and what waits does not begin.

    Args:
        settings: models, limits and corpus; what the user chooses comes on top.
        store: folder or URL of the store, opened when it is first needed; memory leaves nothing.
        note: receives what to say while another process uses the folder; None not to wait for it.
        embed_model: model of LlamaIndex that embeds where the user names none; None for that of the
            settings, or, where these leave it open, of LlamaIndex's `Settings`.
        llm: model of LlamaIndex that answers, likewise.

    Attributes:
        location: folder or URL of its store.
        files: PDFs that were sent, by the hash of their bytes.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        store: str = MEMORY,
        note: Callable[[str], None] | None = None,
        embed_model: BaseEmbedding | None = None,
        llm: LLM | None = None,
    ) -> None:
        self._settings = settings
        self._given_models = {"embed_model": embed_model, "llm": llm}
        self.location, self._note = store, note
        self._lock = threading.Lock()
        self._running = Interrupt()
        self._over = False
        self._store: Store | None = None
        self._documents: list[Document] = []
        self.files: dict[str, bytes] = {}
        self._index: DocumentIndex | None = None
        self._vectors: VectorCache | None = None
        self._comparison: Comparison | None = None
        self._checked: Settings | None = None

    def __enter__(self) -> Self:
        """The session itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free everything."""
        self.close()

    @property
    def documents(self) -> tuple[Document, ...]:
        """Documents that were read, in the order they were loaded."""
        return tuple(self._documents)

    @property
    def comparison(self) -> Comparison | None:
        """The parsers over it; None while nothing is loaded."""
        return self._comparison

    @property
    def ready(self) -> bool:
        """True when there is something to ask."""
        return self._comparison is not None

    @property
    def in_use(self) -> bool:
        """True with documents, or while they are loaded."""
        return bool(self._documents)

    @property
    def working(self) -> bool:
        """True while something runs that must not be ended for the sake of other users."""
        return self._lock.locked()

    @property
    def store(self) -> Store:
        """The store, open.

        Raises:
            MissingExtraError: Qdrant is not installed.
            StoreError: it cannot be opened or does not answer.
        """
        if self._store is None:
            self._store = open_when_free(self._settings, self.location, self._note)
        return self._store

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Have the session to oneself; its end ends what is done meanwhile.

        Raises:
            CancelledError: the user has left; see `interruptible`.
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

    def close(self) -> None:
        """Free everything; what runs is ended first, and what waits does not begin."""
        self._over = True
        self._running.set()
        with self._lock:
            self._forget()
            if self._vectors is not None:
                self._vectors.close()
        forget_texts()

    def read(self, path: Path) -> Iterator[ReadResult]:
        """The documents of one file, giving way to those of other users; a crawl has many."""
        from rag_nodes.readers import Limits, read_all

        limits = Limits(**self._settings.reading())
        limits = replace(
            limits,
            seconds=min(limits.seconds, FILE_SECONDS),
            characters=min(limits.characters, self._settings.visitor_characters),
        )
        return read_all([path], limits=limits)

    def take(
        self,
        documents: Sequence[Document],
        *,
        most: int,
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        """Add documents; the next question splits them.

        Args:
            documents: what was read.
            most: documents the session may hold.
            files: their PDFs by the hash of their bytes, kept up to `MAX_KEPT_BYTES`.

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
            for name, content in (files or {}).items():
                if sum(map(len, self.files.values())) + len(content) <= MAX_KEPT_BYTES:
                    self.files[name] = content
            if self._index is not None:
                self._index.close()
            self._index = None

    def models(
        self, *, answers: bool = True, check: bool = True, settings: Settings | None = None
    ) -> Models:
        """The models that will run, known to answer; what was tried out is not tried again.

        Args:
            answers: whether the LLM will be asked anything.
            check: try them out with a tiny request; False where nothing is to be asked at all.
            settings: of one request, with the same models and keys; None for those there are.

        Raises:
            CredentialsError: a key is missing or was refused.
            MissingExtraError: the client of the model's server is not installed.
            ModelError: the server does not answer, or not as it should.
        """
        models = self._with_given(choose_models(settings or self._settings))
        return self._tried(models, self._settings, answers=answers) if check else models

    def prepared(
        self,
        parsers: Mapping[str, SpanNodeParser],
        models: Models,
        options: QueryOptions,
        *,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> Comparison:
        """The parsers over the documents; what was split for the question before stays.

        Args:
            parsers: by label.
            models: for all of them.
            options: how questions are answered.
            progress: hears of every step, and may end the work.

        Raises:
            RagNodesError: the models do not answer.
        """
        self._index = self._index or self._indexing(self._documents)
        comparison = self._compared(parsers, self._index, models, options, progress)
        if self._comparison:
            comparison.turns, comparison.vectors = self._comparison.turns, self._comparison.vectors
        self._drop_unused(comparison)
        self._comparison = comparison
        return comparison

    def _indexing(self, documents: Sequence[Document]) -> DocumentIndex:
        """Documents in memory; chunks of documents that are loaded already are used again."""
        from rag_nodes.query.cache import VectorCache
        from rag_nodes.query.documents import DocumentIndex

        self._vectors = self._vectors or VectorCache()
        return DocumentIndex(documents, self._vectors, self._index)

    @staticmethod
    def _compared(
        parsers: Mapping[str, object],
        index: DocumentIndex,
        models: Models,
        options: QueryOptions,
        progress: Callable[[Progress], None],
    ) -> Comparison:
        """Split documents in time by parsers that have not done so."""
        from rag_nodes.evaluation.compare import Comparison

        return Comparison(
            parsers,
            documents=index,
            models=models,
            options=options,
            progress=progress,
        )

    def _tried(self, models: Models, settings: Settings, *, answers: bool = True) -> Models:
        """The models, of which a tiny request was answered."""
        if settings != self._checked:
            unless_interrupted(lambda: check_models(models, answers=answers), "the models' check")
            self._checked = settings
        return models

    def _with_given(self, models: Models) -> Models:
        """The models of the settings, but those that were given as objects."""
        open_in = {"embed_model": self._settings.embedding, "llm": self._settings.llm}
        given: dict[str, Any] = {
            name: model or (set_in_llama_index(name) if open_in[name] == "auto" else None)
            for name, model in self._given_models.items()
        }
        if not any(given.values()):
            return models
        own_models = Models.of(
            embed_model=given["embed_model"] or models.embedding,
            llm=given["llm"] or models.llm or EXTRACTIVE,
        )
        return replace(own_models, prompt=models.prompt, system_prompt=models.system_prompt)

    def _forget(self) -> None:
        """Close the store and be as new, but for vectors that were paid for; under the lock."""
        for opened in (self._store, self._index):
            if opened is not None:
                opened.close()
        self._store, self._index = None, None
        self._comparison, self._documents, self.files = None, [], {}

    def _drop_unused(self, comparison: Comparison) -> None:
        """Options that were left behind leave no chunks."""
        try:
            if comparison.index:
                comparison.index.keep(
                    {outcome.collection for outcome in comparison.statistics.values()}
                )
        except StoreError:
            # Only memory is at stake; the answers do not depend on it.
            logger.warning("unused collections could not be dropped", exc_info=True)

    def _check_open(self) -> None:
        if self._over:
            raise SessionEndedError("this session has ended; bring your documents again")
