"""One user's documents, store and comparison: what page, REST, MCP and command line share.

What reads and cuts files is imported when there is one: a question to a store has none.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rag_nodes.errors import CollectionMissingError, ConfigurationError, StoreError
from rag_nodes.models import Models, check_models, choose_models
from rag_nodes.models.names import EXTRACTIVE, set_in_llama_index
from rag_nodes.parsers import DEFAULT_PARSER, PRESETS, get_parser
from rag_nodes.processes import unless_interrupted
from rag_nodes.store import ServerOptions, described, is_embedded_by, open_store, parser_collection
from rag_nodes.text.words import forget_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM
    from llama_index.core.schema import Document, TransformComponent

    from rag_nodes.compare import Comparison
    from rag_nodes.pipeline import IngestReport, Progress
    from rag_nodes.query import QueryOptions
    from rag_nodes.readers import Limits, ReadResult
    from rag_nodes.settings import Settings
    from rag_nodes.store import Store

MEMORY = ":memory:"
"""The store of whoever leaves nothing behind."""
CUT_SECONDS = 60.0
"""Seconds that one parser may take for a document of up to a million characters; see `cutting`."""
FILE_SECONDS = 30.0
"""Seconds that reading a file of one of many users may take at most; large ones get more."""

logger = logging.getLogger(__name__)


class Workspace:
    """One user's documents in a store, and the comparison that answers from them.

    Args:
        settings: models, limits and corpus; what the user chooses comes on top.
        store: folder or URL of the store, opened when it is first needed.
        embed_model: model of LlamaIndex that embeds where the user names none; None for that of the
            settings, or, where these leave it open, of LlamaIndex's `Settings`.
        llm: model of LlamaIndex that answers, likewise.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        store: str = MEMORY,
        embed_model: BaseEmbedding | None = None,
        llm: LLM | None = None,
    ) -> None:
        self._settings = settings
        self._given_models = {"embed_model": embed_model, "llm": llm}
        self._location = store
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._documents: list[Document] = []
        self._comparison: Comparison | None = None
        self._checked: Settings | None = None
        self._vectors: set[str] = set()

    def __enter__(self) -> Self:
        """The workspace itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free everything."""
        self.close()

    @property
    def location(self) -> str:
        """Folder or URL of its store."""
        return self._location

    @property
    def documents(self) -> tuple[Document, ...]:
        """What was read, in the order it was loaded."""
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
        return False

    @property
    def store(self) -> Store:
        """The store, open.

        Raises:
            MissingExtraError: Qdrant is not installed.
            StoreError: it cannot be opened or does not answer.
        """
        if self._store is None:
            self._store = self._opened()
        return self._store

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
            name: one or (set_in_llama_index(name) if open_in[name] == "auto" else None)
            for name, one in self._given_models.items()
        }
        if not any(given.values()):
            return models
        made = Models.of(
            embed_model=given["embed_model"] or models.embedding,
            llm=given["llm"] or models.llm or EXTRACTIVE,
        )
        return replace(made, prompt=models.prompt, system_prompt=models.system_prompt)

    def limits(self) -> Limits:
        """What reading one file may cost."""
        from rag_nodes.readers import Limits

        return Limits(**self._settings.reading())

    def compared(
        self,
        columns: Mapping[str, object],
        models: Models,
        options: QueryOptions,
        *,
        store: Store | None = None,
        equal_size: int | None = None,
        transformations: Sequence[TransformComponent] = (),
        vectors: Sequence[str] = (),
    ) -> Comparison:
        """Parsers, and what finds as it stands, over the corpus of the settings.

        Args:
            columns: by label.
            models: for all of them.
            options: how questions are answered.
            store: None for that of the workspace, which is opened.
            equal_size: tokens of a chunk on average in every column; None for own options.
            transformations: between parser and embedding.
            vectors: by which embeddings each parser is asked; () for that of the options.
        """
        from rag_nodes.compare import Comparison

        return Comparison(
            columns,
            store=store or self.store,
            models=models,
            corpus=self._settings.corpus,
            options=options,
            equal_size=equal_size,
            transformations=transformations,
            vectors=vectors,
        )

    def further(self, vector: str) -> list[TransformComponent]:
        """What makes the embeddings that were asked for so far, and no LLM is paid for.

        Args:
            vector: that is asked for now.

        Raises:
            ConfigurationError: only an LLM could write what it is made of.
        """
        if vector == "context":
            raise ConfigurationError(
                "vectors 'context' are of what an LLM writes when documents are stored, so these "
                "have none; ask by heading, plain or summary"
            )
        from rag_nodes.transforms import vector_steps

        self._vectors.add(vector)
        return vector_steps(self._vectors)

    def close(self) -> None:
        """Free everything; what is being answered is waited for."""
        with self._lock:
            self._forget()
        forget_texts()

    def read(self, path: Path) -> Iterator[ReadResult]:
        """The documents of one file, giving way to those of other users; a crawl has many."""
        from rag_nodes.readers import read_all

        limits = self.limits()
        limits = replace(limits, seconds=min(limits.seconds, FILE_SECONDS))
        return read_all([path], limits=limits)

    @staticmethod
    def _ingest(
        comparison: Comparison,
        documents: Sequence[Document],
        progress: Callable[[Progress], None],
    ) -> IngestReport:
        """Cut documents in time and store the chunks; what is stored already stays."""
        from rag_nodes.parsers.isolation import cutting

        return comparison.ingest_documents(
            documents, progress=progress, parse=cutting.within(CUT_SECONDS)
        )

    def _opened(self) -> Store:
        key = self._settings.store_api_key if self._location != MEMORY else None
        options = ServerOptions.of(self._settings.store_options)
        return open_store(self._location, key.get_secret_value() if key else None, options)

    def _forget(self) -> None:
        """Close the store and be as new; under the lock."""
        if self._store is not None:
            self._store.close()
        self._store, self._comparison, self._documents = None, None, []

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


def aliased_parser(store: Store, alias: str, embedding_name: str) -> str:
    """The parser that made what an alias means, as the collection's name tells it.

    Raises:
        CollectionMissingError: there is no such alias.
        ConfigurationError: another model embedded it, so that questions by this one find nothing.
        StoreError: the store does not answer.
    """
    known = store.aliases()
    if alias not in known:
        there = f"there are: {', '.join(sorted(known))}" if known else "it has none yet"
        raise CollectionMissingError(
            f"{store.location}: there is no alias {alias!r}; {there}; make one with "
            f"`rag-nodes store alias {alias}`"
        )
    info = described(known[alias], 0)
    if info and not is_embedded_by(info, embedding_name):
        raise ConfigurationError(
            f"{store.location}: alias {alias!r} means {info.name}, which {info.embedding} embedded "
            f"and not {embedding_name}; choose that one with --embedding"
        )
    return info.parser if info else alias


def asked_preset(store: Store, corpus: str, embedding_name: str) -> str:
    """The preset that answers from a corpus where none is named.

    The default one, unless the corpus was cut by exactly one other and not by it: with several,
    only the user knows which is meant.

    Raises:
        StoreError: the store does not answer.
    """
    present = {info.name for info in store.collections() if info.points or info.trouble}

    def is_present(name: str) -> bool:
        return parser_collection(corpus, get_parser(name), embedding_name) in present

    if is_present(DEFAULT_PARSER):
        return DEFAULT_PARSER
    stored = [name for name in PRESETS if is_present(name)]
    return stored[0] if len(stored) == 1 else DEFAULT_PARSER
