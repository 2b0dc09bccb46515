"""Retrievers and engines of any origin, as stores that can only be searched."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.indices.base import BaseIndex
from llama_index.core.indices.vector_store import VectorStoreIndex
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQuery

from rag_nodes.core.errors import ConfigurationError, RagNodesError
from rag_nodes.core.keys import kind_of
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.several import several
from rag_nodes.evaluation.engines.placing import Placing, is_placed
from rag_nodes.parsers import leaf_nodes
from rag_nodes.query.reranking import in_order, rescored
from rag_nodes.store import Engine, Filter, Hit, Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llama_index.core.schema import TextNode

    from rag_nodes.store import Layout, Where
    from rag_nodes.store.queries import Query

_DEEPER = 4
"""Factor by which more chunks are requested if a filter left too few."""


@checks_keywords
@dataclass(frozen=True, slots=True)
class StoredCollection:
    """A collection in a store, as it stands.

    Attributes:
        store: where it is.
        name: of the collection.
    """

    store: Store
    name: str

    def nodes_of(self, document_ids: str | Iterable[str]) -> list[TextNode]:
        """The nodes of some documents; none while the collection does not exist."""
        ids = [
            *chain.from_iterable(
                self.store.stored(self.name, document_id) for document_id in several(document_ids)
            )
        ]
        return list(self.store.fetch(self.name, ids).values())


class _Nothing(Engine):
    """An engine without a collection: what is found is kept elsewhere."""

    def __init__(self, location: str) -> None:
        self.location = location

    def names(self) -> list[str]:
        """None."""
        return []

    def collection(self, name: str, *, remembered: bool = False) -> None:  # noqa: ARG002
        """None."""
        return

    def create(self, name: str, layout: Layout) -> NoReturn:  # noqa: ARG002
        """Refused."""
        raise ConfigurationError(
            f"{self.location} is only searched here; write to it outside of the comparison"
        )

    def drop(self, name: str) -> NoReturn:  # noqa: ARG002
        """Refused."""
        raise ConfigurationError(
            f"{self.location} is only searched here; write to it outside of the comparison"
        )


class FoundStore(Store, ABC):
    """Chunks that something else finds, located in the documents; nothing can be written.

    Args:
        what: it is, for people.
        placing: where chunks are located.

    Attributes:
        embeds: whether it is asked by the embedding of a question, which has to be made for it.
        deepens: whether it can be asked for more chunks than it gave.
        lists_all: whether `nodes` are all of its chunks, not only those that were found.
        outdated: how many of the documents had another text when they were ingested for it.
        seconds: how long it took to answer each question.
    """

    embeds = False
    deepens = True
    lists_all = False
    outdated = 0

    def __init__(self, what: str, placing: Placing) -> None:
        super().__init__(_Nothing(what))
        self._what, self._placing = what, placing
        self._answers: dict[tuple[str, int], list[Hit]] = {}
        self.seconds: list[float] = []

    def search(self, collection: str, query: Query) -> list[Hit]:  # noqa: ARG002 -- there is only one
        """The best chunks for a question; of those that were found, those that pass the filter."""
        scope, limit = query.filter or Filter(), query.limit
        while True:
            hits = self._remembered(replace(query, limit=limit, filter=Filter()))
            passing = [hit for hit in hits if scope.passes(hit.node)]
            if len(passing) >= query.limit or len(hits) < limit or scope == Filter():
                return in_order(passing)[: query.limit]
            limit *= _DEEPER

    def has_words(self, collection: str) -> bool:  # noqa: ARG002
        """Return True if a question can be asked without its embedding."""
        return not self.embeds

    def nodes(self) -> list[TextNode]:
        """Its chunks, as far as they are known: those that were found so far."""
        nodes = (hit.node for hits in self._answers.values() for hit in hits)
        return list({node.node_id: node for node in nodes}.values())

    def _remembered(self, query: Query) -> list[Hit]:
        """Return the hits of a question, asked once: an engine may pay for every question."""
        key = str(query.text), query.limit if self.deepens else 0
        if key not in self._answers:
            started = time.perf_counter()
            self._answers[key] = self._asked(query)
            self.seconds.append(time.perf_counter() - started)
        return self._answers[key]

    @abstractmethod
    def _asked(self, query: Query) -> list[Hit]:
        """Ask the engine, and locate the nodes it finds."""

    def fetch(self, collection: str, node_ids: str | Sequence[str]) -> dict[str, TextNode]:  # noqa: ARG002
        """Nothing: it finds chunks by questions alone."""
        return {}


class _OfLlamaIndex(FoundStore):
    """A retriever, index or vector store of LlamaIndex."""

    def __init__(self, given: Any, placing: Placing) -> None:
        super().__init__(type(given).__name__, placing)
        self._given = given
        self.embeds = isinstance(given, BasePydanticVectorStore)
        self.deepens = self.embeds or isinstance(given, VectorStoreIndex)
        if isinstance(given, BaseIndex):
            placing.learn(given.docstore.docs.values())
        if self.embeds and not given.stores_text:
            raise ConfigurationError(
                f"{self._what} stores no texts: pass the VectorStoreIndex that holds them"
            )

    def _asked(self, query: Query) -> list[Hit]:
        try:
            nodes = self._found(query)
        except RagNodesError:
            raise
        except Exception as error:
            raise RagNodesError(
                f"{self._what} failed: {kind_of(error)}; run it alone to see where it fails"
            ) from error
        return hits_of(nodes, self._placing)

    def _found(self, query: Query) -> list[NodeWithScore]:
        given, text = self._given, str(query.text)
        if isinstance(given, BasePydanticVectorStore):
            if query.vector is None:
                raise ConfigurationError(
                    f"{self._what} can only be searched by embeddings: choose mode hybrid or dense"
                )
            asked = VectorStoreQuery(
                list(query.vector), similarity_top_k=query.limit, query_str=text
            )
            result = given.query(asked)
            scores: Sequence[float | None] = result.similarities or [None] * query.limit
            pairs = zip(result.nodes or (), scores, strict=False)
            return [NodeWithScore(node=node, score=score) for node, score in pairs]
        if isinstance(given, BaseIndex):
            of_vectors = isinstance(given, VectorStoreIndex)
            depth = {"similarity_top_k": query.limit} if of_vectors else {}
            given = given.as_retriever(**depth)
        return list(given.retrieve(QueryBundle(text)))


class _Engine(_OfLlamaIndex):
    """Retriever of the nodes that a query engine reads for its answer."""

    def _found(self, query: Query) -> list[NodeWithScore]:
        asked = QueryBundle(str(query.text))
        try:
            return list(self._given.retrieve(asked))
        except NotImplementedError:  # what LlamaIndex's base class says of one that only answers
            return list(self._given.query(asked).source_nodes)


class _Collection(FoundStore):
    """A collection of a store, whose documents may have other ids and other places."""

    embeds = True
    lists_all = True

    def __init__(self, given: StoredCollection, placing: Placing) -> None:
        super().__init__(f"{given.name} in {given.store.location}", placing)
        self._given = given
        nodes = given.nodes_of(placing.documents)
        placing.learn(nodes)
        self.outdated = len({node.ref_doc_id for node in nodes if placing.is_elsewhere(node)})

    def _asked(self, query: Query) -> list[Hit]:
        hits = self._given.store.search(self._given.name, query)
        return [replace(hit, node=self._placing.placed(hit.node)) for hit in hits]

    def has_words(self, collection: str) -> bool:  # noqa: ARG002
        """Return True if the keyword index matches the words as they are indexed now."""
        return self._given.store.has_words(self._given.name)

    def count_unindexed(self, collection: str, where: Where | None = None) -> int:  # noqa: ARG002
        """Count the chunks of the collection that a keyword search cannot find."""
        return self._given.store.count_unindexed(self._given.name, where)

    def fetch(self, collection: str, node_ids: str | Sequence[str]) -> dict[str, TextNode]:  # noqa: ARG002
        """The stored nodes with these ids, located."""
        nodes = self._given.store.fetch(self._given.name, node_ids)
        return {name: self._placing.placed(node) for name, node in nodes.items()}

    def nodes(self) -> list[TextNode]:
        """All chunks of the documents, located; of a collection that knows none of them, all.

        Documents it does not know may be there under other ids: then their chunks are those of
        other documents that have a place.
        """
        given, placed, wanted = self._given, self._placing.placed, self._placing.documents.keys()
        nodes = given.nodes_of(wanted)
        chunks = [placed(node) for node in nodes]
        if {node.ref_doc_id for node in nodes} >= wanted:
            return chunks
        others = given.nodes_of(given.store.documents(given.name).keys() - wanted)
        rest = [placed(node) for node in others]
        return [*chunks, *(filter(is_placed, rest) if chunks else rest)] or super().nodes()

    def count(self, collection: str) -> int:  # noqa: ARG002
        """Nodes in the collection that a search can find."""
        return self._given.store.count(self._given.name)


def finds(given: object) -> bool:
    """Return True if an object finds chunks alone, so that no documents are ingested for it."""
    kinds = (BaseRetriever, BaseIndex, BasePydanticVectorStore, BaseQueryEngine, StoredCollection)
    return isinstance(given, kinds)


def found_store(given: object, placing: Placing) -> FoundStore:
    """Wrap a retriever, an engine or a collection as a store.

    Args:
        given: a retriever, index, vector store or query engine of LlamaIndex, or a collection.
        placing: where its chunks are located.

    Raises:
        ConfigurationError: it is none of these, or a vector store without texts.
    """
    if isinstance(given, StoredCollection):
        return _Collection(given, placing)
    if not finds(given):
        raise ConfigurationError(
            f"{type(given).__name__} cannot be searched: pass a retriever, query engine, index or "
            "vector store of LlamaIndex, or a collection"
        )
    kind = _Engine if isinstance(given, BaseQueryEngine) else _OfLlamaIndex
    return kind(given, placing)


def listed_chunks(given: object, placing: Placing) -> list[TextNode]:
    """The chunks that an index or a collection holds, located; of families the children.

    What only finds lists none.
    """
    if isinstance(given, StoredCollection):
        return leaf_nodes(_Collection(given, placing).nodes())
    if not isinstance(given, BaseIndex):
        return []
    nodes = [*given.docstore.docs.values()]
    placing.learn(nodes)
    return [placing.placed(node) for node in leaf_nodes(nodes)]


def hits_of(nodes: Sequence[NodeWithScore], placing: Placing) -> list[Hit]:
    """Retrieved nodes as hits, located, in their order, with the scores they were given.

    The scores of `Hit.score` are these, brought to 0 to 1.
    """
    raw = [
        Hit(placing.placed(node.node), rank, 1 - (rank - 1) / len(nodes), rerank_score=node.score)
        for rank, node in enumerate(nodes, start=1)
    ]
    if any(node.score is not None for node in nodes):  # else the order is all that is known
        raw = rescored(raw)
    return in_order(raw)
