"""A LlamaIndex postprocessor: what is read in place of what any retriever found."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import Document, NodeWithScore, QueryBundle, TextNode
from llama_index.core.storage.docstore.types import BaseDocumentStore

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.query.checks import check_whole
from rag_nodes.query.expansion import expanded, with_neighbours
from rag_nodes.query.locations import located
from rag_nodes.query.responses import innermost, replaced
from rag_nodes.query.sentences import Sentences
from rag_nodes.query.similarity import counted_in
from rag_nodes.store import Hit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.schema import BaseNode

logger = logging.getLogger(__name__)


@checks_keywords
class SentencePostprocessor(BaseNodePostprocessor):
    """Replaces retrieved nodes with the sentences that best answer the question, up to a budget.

    For the nodes of any LlamaIndex retriever and any splitter: retrieve many (40 chunks of about
    200 tokens), and what is read is ranked sentence by sentence (`rag_nodes.text.passages`), so
    that no size of chunks has to be right. Nodes that come out are passages of whole sentences and
    table rows, best first, within the budget. No sentence is in two of them. Only if the best
    sentence alone exceeds the budget, it is truncated. A passage is an exact slice of its document:
    it holds no characters that no node holds, so a sentence that another package's splitter split
    in two may be two passages. Windows of our parsers are text to choose from; so are parents, and
    the chunks before and after, if they can be read.

    Offsets are those of the nodes. They are left out if they contradict the text of the node, other
    nodes, our metadata, or the document if `store` is a document store that holds it. Otherwise
    they are as right as the splitter's: if LlamaIndex's `SentenceSplitter` runs behind another
    splitter, its offsets count from the node that it splits.

    The scores of the nodes count beside the words if the text is English: the more, the fewer words
    of the question stand together in it, and the smaller the nodes are.

    Args:
        budget: tokens of all passages together, with the line `Table: A | B` of each. Other
            metadata that the LLM sees comes on top, in each passage; `excluded_llm_metadata_keys`
            of the documents hides it.
        store: where neighbours and parents are read by id: a vector store with `get_nodes`, such as
            `QdrantVectorStore`, or a document store that holds the nodes, as that of an index over
            `SimpleVectorStore` does; None to choose from what was found.

    Raises:
        ConfigurationError: the budget is no number from 1 up, or `store` offers no nodes by id or
            stores no texts; when it is called: without a question, or `store` returns no nodes by
            id then, as a `QdrantVectorStore` with `aclient` alone does in a call that is not
            awaited.

    Examples:
        >>> from rag_nodes import SentencePostprocessor
        >>> from llama_index.core.schema import NodeWithScore, TextNode
        >>> text = "The pump is red. Rinse the filter weekly. It stands in the hall."
        >>> found = [NodeWithScore(node=TextNode(text=text), score=0.5)]
        >>> sentences = SentencePostprocessor(budget=7)
        >>> [best] = sentences.postprocess_nodes(found, query_str="Which filter?")
        >>> best.text
        'Rinse the filter weekly.'
    """

    budget: int = 1000
    store: Any = Field(default=None, exclude=True)
    _has_warned: bool = PrivateAttr(default=False)

    def __init__(self, budget: int = 1000, store: Any = None) -> None:
        check_whole("budget", budget)
        has_nodes = hasattr(store, "get_nodes") and getattr(store, "stores_text", True)
        if store is not None and not has_nodes:
            raise _no_nodes_by_id(store)
        super().__init__(budget=budget, store=store)  # type: ignore[call-arg] # fields

    @classmethod
    def class_name(cls) -> str:
        """Name under which LlamaIndex files this class."""
        return "SentencePostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._selected(nodes, query_bundle, None)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        loop = asyncio.get_running_loop()
        return await asyncio.to_thread(self._selected, nodes, query_bundle, loop)

    def _selected(
        self,
        nodes: list[NodeWithScore],
        query_bundle: QueryBundle | None,
        loop: asyncio.AbstractEventLoop | None,
    ) -> list[NodeWithScore]:
        """Return the passages that are read.

        Args:
            nodes: the nodes of the retriever.
            query_bundle: the question.
            loop: event loop of an asynchronous client, which another thread runs; None for no loop.
        """
        if query_bundle is None:
            raise ConfigurationError(
                "sentences are ranked for a question: call postprocess_nodes with query_str or "
                "query_bundle"
            )
        for node in nodes:
            if not hasattr(node, "node"):
                raise ConfigurationError(
                    "nodes with scores are expected, as retrievers return them, not "
                    f"{type(node).__name__}; give NodeWithScore(node=node) for each node"
                )
        others = [node for node in nodes if not _has_text(node.node)]
        texts = self._documents([node.node for node in nodes])
        hits = [
            Hit(node=_placed(node.node, texts), rank=rank, score=node.score or 0.0)
            for rank, node in enumerate(nodes, start=1)
            if isinstance(node.node, TextNode) and _has_text(node.node)
        ]
        read = expanded(hits, partial(self._read, texts, loop), "auto", limit=len(hits))
        both = with_neighbours(read, partial(self._read_beside, texts, loop))
        beside = [hit for hit in both if hit.origin == "neighbour"]
        counted = counted_in({hit.rank: nodes[hit.rank - 1].score for hit in read})
        sentences = Sentences(innermost(query_bundle).query_str, [*read, *beside], counted)
        return [*replaced(sentences.hits(self.budget, repeats_leads=True)), *others]

    def _documents(self, nodes: Sequence[BaseNode]) -> dict[str, str]:
        """Return the texts of the documents of nodes, by id, if a document store holds them."""
        if not isinstance(self.store, BaseDocumentStore):
            return {}
        ids = dict.fromkeys(node.ref_doc_id for node in nodes if node.ref_doc_id)
        documents = self.store.get_nodes(list(ids), raise_error=False)
        return {each.node_id: each.text for each in documents if isinstance(each, Document)}

    def _read(
        self,
        texts: Mapping[str, str],
        loop: asyncio.AbstractEventLoop | None,
        node_ids: Sequence[str],
    ) -> dict[str, TextNode]:
        if self.store is None or not node_ids:
            return {}
        nodes = self._nodes_by_id(list(node_ids), loop)
        return {node.node_id: _placed(node, texts) for node in nodes if isinstance(node, TextNode)}

    def _nodes_by_id(
        self, node_ids: list[str], loop: asyncio.AbstractEventLoop | None
    ) -> list[BaseNode]:
        if isinstance(self.store, BaseDocumentStore):  # raises for what it does not have
            return self.store.get_nodes(node_ids, raise_error=False)
        is_async_only = (
            getattr(self.store, "client", self) is None
            and getattr(self.store, "_aclient", None) is not None
        )
        if is_async_only and loop is None:
            raise ConfigurationError(
                f"{type(self.store).__name__} has only an async client, which only async calls "
                "can read: await apostprocess_nodes, or aquery of the engine; or give the vector "
                "store a client as well"
            )
        try:
            if is_async_only and loop is not None:
                nodes = self.store.aget_nodes(node_ids=node_ids)
                return list(asyncio.run_coroutine_threadsafe(nodes, loop).result())
            return list(self.store.get_nodes(node_ids=node_ids))
        except NotImplementedError as error:
            raise _no_nodes_by_id(self.store) from error

    def _read_beside(
        self,
        texts: Mapping[str, str],
        loop: asyncio.AbstractEventLoop | None,
        node_ids: Sequence[str],
    ) -> dict[str, TextNode]:
        """Read neighbours; the first time that the store has none of them, say so."""
        nodes = self._read(texts, loop, node_ids)
        if node_ids and not nodes and self.store is not None and not self._has_warned:
            self._has_warned = True
            has_documents = "documents, with which offsets are compared, but " if texts else ""
            logger.warning(
                "%s has %snone of the nodes beside those that were retrieved, so sentences are "
                "chosen from these alone: pass the vector store as store, if it keeps the nodes "
                "(Qdrant does, and leaves the docstore of the index empty)",
                type(self.store).__name__,
                has_documents,
            )
        return nodes


def _no_nodes_by_id(store: object) -> ConfigurationError:
    return ConfigurationError(
        f"{type(store).__name__} cannot return nodes by id; pass the vector store or document "
        "store that holds the nodes, such as the docstore of the index"
    )


def _placed(node: TextNode, texts: Mapping[str, str]) -> TextNode:
    return located(node, texts.get(node.ref_doc_id or ""))


def _has_text(node: BaseNode) -> bool:
    """Return whether there are sentences to choose from; an image without a caption has none."""
    return isinstance(node, TextNode) and (type(node) is TextNode or bool(node.text.strip()))
