"""An index or vector store of LlamaIndex, searched by our retriever."""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from llama_index.core.indices.vector_store import VectorStoreIndex
from llama_index.core.schema import QueryBundle, TextNode
from llama_index.core.vector_stores.types import VectorStoreQueryMode

from rag_nodes.core.errors import ConfigurationError, RagNodesError, StoreError
from rag_nodes.core.keys import kind_of
from rag_nodes.query.locations import located
from rag_nodes.query.missing_keys import check_nodes
from rag_nodes.query.reranking import in_order, rescored
from rag_nodes.store import Hit
from rag_nodes.store.queries import mode_that_runs
from rag_nodes.store.vector_store import RagNodesVectorStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import NodeWithScore
    from llama_index.core.vector_stores.types import BasePydanticVectorStore, MetadataFilters

    from rag_nodes.store import Where
    from rag_nodes.store.queries import Query

logger = logging.getLogger(__name__)
_MODES = {
    "dense": VectorStoreQueryMode.DEFAULT,
    "sparse": VectorStoreQueryMode.SPARSE,
    "hybrid": VectorStoreQueryMode.HYBRID,
}
_SIZES = re.compile(r"(\d+) \(dim \d\) != (\d+) \(dim|expected dim: (\d+), got (\d+)")
"""Dimensions of two embeddings that do not fit, as NumPy and Qdrant name them."""
_MISSING = re.compile(r"collection\W+(\S+?)\W+(?:not found|doesn't exist)", re.IGNORECASE)
"""Name of a collection that is not there, as Qdrant writes it."""
_DEEPER = 4
"""Factor by which more nodes are asked for if a filter left too few."""


class Searchable(Protocol):
    """The part of a `Store` that a retriever needs."""

    def has_words(self, collection: str) -> bool:
        """Return True if the collection can be searched by words."""

    def count_unindexed(self, collection: str, where: Where | None) -> int:
        """Return the number of chunks that a search by words cannot find."""

    def search(self, collection: str, query: Query) -> list[Hit]:
        """Return the best chunks for a question."""

    def fetch(self, collection: str, node_ids: str | Sequence[str]) -> dict[str, TextNode]:
        """Return the stored nodes with these ids."""


class IndexChunks:
    """The nodes of a `VectorStoreIndex`, whatever vector store it has.

    Args:
        index: the index.
        filters: search only nodes that pass them; None for all.
    """

    def __init__(self, index: VectorStoreIndex, filters: MetadataFilters | None = None) -> None:
        self.index = index
        self.filters = filters

    def has_words(self, collection: str) -> bool:  # noqa: ARG002 - an index is one collection
        """Return True if the vector store has a second, sparse vector of each node."""
        return bool(getattr(self.index.vector_store, "enable_hybrid", False))

    def warn_of_dense(self) -> None:
        """Log that a hybrid search, if it is asked for, is dense without sparse vectors."""
        if not self.has_words(""):
            logger.warning(
                "%s has no sparse vectors here, so mode hybrid searches as dense does; to search "
                "by words as well, use a QdrantVectorStore with enable_hybrid=True",
                self._name,
            )

    @property
    def _name(self) -> str:
        return type(self.index.vector_store).__name__

    def count_unindexed(self, collection: str, where: Where | None) -> int:  # noqa: ARG002
        """Return the number of nodes of a Qdrant collection that have no sparse vector."""
        store: Any = self.index.vector_store
        client = getattr(store, "client", None)
        if not self.has_words("") or client is None:  # an asynchronous client cannot be asked
            return 0
        from rag_nodes.store.server.models import TERMS

        vectors = store.dense_vector_name, store.sparse_vector_name
        lacking = TERMS.lacking(*vectors, TERMS.condition(where))
        with self._failures_named():
            return int(client.count(store.collection_name, count_filter=lacking).count)

    def search(self, collection: str, query: Query) -> list[Hit]:
        """Return the best nodes for a question that pass the filter of the query.

        Raises:
            ConfigurationError: only words are to be searched, and it has none; or no node has a key
                of the filter.
            StoreError: the vector store failed.
        """
        has_words = self.has_words(collection)
        if query.mode == "sparse" and not has_words:
            raise ConfigurationError(
                f"{self._name} has no sparse vectors here: choose mode dense, or use a "
                "QdrantVectorStore with enable_hybrid=True"
            )
        query = replace(query, mode=mode_that_runs(query.mode, has_words=has_words))
        limit = query.limit
        while True:
            nodes = self._retrieved(query, limit)
            passing = [each for each in nodes if query.filter.passes(each.node)]
            if len(nodes) < limit and not passing and query.mode != "sparse":  # all were compared
                check_nodes([each.node for each in nodes], query.filter)
            if len(passing) >= query.limit or len(nodes) < limit:
                return _hits(passing[: query.limit], is_cosine=query.mode == "dense")
            limit *= _DEEPER

    def fetch(self, collection: str, node_ids: str | Sequence[str]) -> dict[str, TextNode]:  # noqa: ARG002
        """Return the nodes with these ids; none if the vector store cannot give nodes by id."""
        ids = [node_ids] if isinstance(node_ids, str) else list(node_ids)
        nodes = self.index.docstore.get_nodes(ids, raise_error=False)
        if missing := [*{*ids} - {node.node_id for node in nodes}]:
            with suppress(NotImplementedError):
                nodes += self.index.vector_store.get_nodes(missing)
        return {node.node_id: located(node) for node in nodes if isinstance(node, TextNode)}

    def _retrieved(self, query: Query, limit: int) -> list[NodeWithScore]:
        retriever = self.index.as_retriever(
            similarity_top_k=limit,
            sparse_top_k=limit,
            hybrid_top_k=limit,
            alpha=query.alpha,
            filters=self.filters,
            vector_store_query_mode=_MODES[query.mode],
        )
        vector = None if query.vector is None else list(query.vector)
        with self._failures_named(None if vector is None else len(vector)):
            nodes = retriever.retrieve(QueryBundle(str(query.text), embedding=vector))
        return [each for each in nodes if isinstance(each.node, TextNode)]

    @contextmanager
    def _failures_named(self, size: int | None = None) -> Iterator[None]:
        """Run calls of the vector store so that its errors come out as a `StoreError`.

        Args:
            size: dimensions of the question's embedding; None for no question.
        """
        try:
            yield
        except RagNodesError:
            raise
        except Exception as error:  # any vector store, each with its own errors
            remedy = "query the index itself to see where it fails"
            sizes = _SIZES.search(str(error))
            if sizes and str(size) in sizes.groups():
                (stored,) = {*sizes.groups()} - {str(size), None}
                remedy = (
                    f"its embeddings have {stored} dimensions and that of the question {size}: "
                    "give the embedding model that made them"
                )
            missing = _MISSING.search(str(error))
            if missing and missing[1] == getattr(self.index.vector_store, "collection_name", None):
                remedy = f"it has no collection '{missing[1]}': check its collection_name"
            raise StoreError(f"{self._name} failed: {kind_of(error)}; {remedy}") from error


def chunks_of(
    index: VectorStoreIndex, filters: MetadataFilters | None = None
) -> tuple[Searchable, str]:
    """Return where the nodes of an index are, and the name of their collection.

    Raises:
        ConfigurationError: it is no `VectorStoreIndex`.
    """
    if not isinstance(index, VectorStoreIndex):
        raise ConfigurationError(
            f"{type(index).__name__} has no vectors to search: give a VectorStoreIndex; or give "
            "the retriever of your index and SentencePostprocessor to RetrieverQueryEngine"
        )
    store = index.vector_store
    if isinstance(store, RagNodesVectorStore):
        return store.store, store.collection
    name = getattr(store, "collection_name", None)
    return IndexChunks(index, filters), str(name or type(store).__name__)


def index_over(store: BasePydanticVectorStore, embed_model: BaseEmbedding) -> VectorStoreIndex:
    """Return an index over a vector store that was filled before.

    Raises:
        ConfigurationError: the vector store keeps no texts.
    """
    if not getattr(store, "stores_text", False):
        raise ConfigurationError(
            f"{type(store).__name__} stores no texts: pass the index that was made with it to "
            f"from_index"
        )
    return VectorStoreIndex.from_vector_store(store, embed_model=embed_model)


def embedding_of(index: Any) -> Any:
    """Return the embedding model that an index was made with; None if it has none."""
    return getattr(index, "_embed_model", None)


def _hits(nodes: Sequence[NodeWithScore], *, is_cosine: bool) -> list[Hit]:
    """Return retrieved nodes as hits; scores of any scale become 0 to 1."""
    hits = [
        Hit(
            located(each.node),  # type: ignore[arg-type] # only text is searched
            rank,
            1 - (rank - 1) / len(nodes),
            similarity=each.score if is_cosine else None,
            rerank_score=each.score,
        )
        for rank, each in enumerate(nodes, start=1)
    ]
    if any(each.score is not None for each in nodes):  # else the order is all that is known
        hits = rescored(hits)
    return [replace(hit, rerank_score=None) for hit in in_order(hits)]
