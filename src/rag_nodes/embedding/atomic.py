"""`AtomicIngestionPipeline`: a pipeline of LlamaIndex that survives failing runs."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter, MetadataFilters

from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.several import several_nodes
from rag_nodes.readers import warn_of_random_ids

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode, Document

_LISTED_DOCUMENTS = 50
"""Documents whose stored nodes are listed by one request."""

_Result = TypeVar("_Result")
_Call = Callable[..., Awaitable[Any]]
"""Calls a method of a store by its name: at once, or its awaitable variant."""


@dataclass(frozen=True)
class _Plan:
    """The work of one run.

    Attributes:
        due: inputs to transform and store.
        documents: ids of their documents.
        changed: ids of documents that the docstore knows with another hash.
        unknown: ids of documents that the docstore does not know.
        removed: ids of documents that are gone.
    """

    due: list[BaseNode] = field(default_factory=list)
    documents: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)

    def warn(self, strategy: DocstoreStrategy) -> None:
        """Log a warning if the docstore cannot know documents again by their ids."""
        if strategy != DocstoreStrategy.DUPLICATES_ONLY:
            warn_of_random_ids(node for node in self.due if node.id_ in self.unknown)


@checks_keywords
class AtomicIngestionPipeline(IngestionPipeline):
    """An `IngestionPipeline` that writes after all transformations have succeeded.

    It is used and saved like LlamaIndex's, and with a docstore and a vector store it stores and
    deletes the same. The order is another one: transform, store the new nodes, delete the old
    nodes of their documents, record the hashes. A run that fails leaves docstore and vector store
    as they were. The next run makes up for it, also after the process was killed: nodes that an
    interrupted run left of a document are replaced. So give each pipeline a collection of its own.

    A vector store that cannot list nodes (`get_nodes`), such as `SimpleVectorStore`, loses the old
    nodes of a changed document shortly before the new ones are stored.

    Examples:
        >>> from llama_index.core import Document, MockEmbedding
        >>> from llama_index.core.node_parser import SentenceSplitter
        >>> from llama_index.core.storage.docstore import SimpleDocumentStore
        >>> from rag_nodes import AtomicIngestionPipeline
        >>> from rag_nodes import RagNodesVectorStore
        >>> pipeline = AtomicIngestionPipeline(
        ...     transformations=[SentenceSplitter(), MockEmbedding(embed_dim=4)],
        ...     docstore=SimpleDocumentStore(),
        ...     vector_store=RagNodesVectorStore(),
        ... )
        >>> documents = [Document(text="Green tea.", id_="tea.md")]
        >>> len(pipeline.run(documents=documents)), len(pipeline.run(documents=documents))
        (1, 0)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

    def _prepare_inputs(
        self, documents: Sequence[Document] | None, nodes: Sequence[BaseNode] | None
    ) -> Sequence[BaseNode]:
        return list(several_nodes(super()._prepare_inputs(documents, nodes)))

    def run(
        self,
        show_progress: bool = False,  # noqa: FBT001, FBT002 - as in LlamaIndex
        documents: list[Document] | None = None,
        nodes: Sequence[BaseNode] | None = None,
        cache_collection: str | None = None,
        in_place: bool = True,  # noqa: FBT001, FBT002 - as in LlamaIndex
        store_doc_text: bool = True,  # noqa: FBT001, FBT002 - as in LlamaIndex
        num_workers: int | None = None,
        **kwargs: Any,
    ) -> Sequence[BaseNode]:
        """Transform and store what is due; arguments as for `IngestionPipeline.run`.

        Args:
            show_progress: show a progress bar.
            documents: documents to ingest.
            nodes: nodes to ingest.
            cache_collection: collection of the cache.
            in_place: let transformations modify the list of nodes.
            store_doc_text: keep the texts of the documents in the docstore.
            num_workers: processes that transform; None for this one.
            kwargs: passed to the transformations.

        Returns:
            The new nodes.
        """
        options = (cache_collection, in_place, store_doc_text, num_workers)
        if self.docstore is None:
            return super().run(show_progress, documents, nodes, *options, **kwargs)
        inputs = self._prepare_inputs(documents, nodes)
        plan = _at_once(self._planned(inputs, self._strategy(), _call))
        new_nodes: Sequence[BaseNode] = []
        if plan.due:  # the cache would take no input for a blank document
            new_nodes = self._transforming().run(show_progress, None, plan.due, *options, **kwargs)
        _at_once(self._commit(plan, new_nodes, _call, store_text=store_doc_text))
        return new_nodes

    async def arun(
        self,
        show_progress: bool = False,  # noqa: FBT001, FBT002 - as in LlamaIndex
        documents: list[Document] | None = None,
        nodes: Sequence[BaseNode] | None = None,
        cache_collection: str | None = None,
        in_place: bool = True,  # noqa: FBT001, FBT002 - as in LlamaIndex
        store_doc_text: bool = True,  # noqa: FBT001, FBT002 - as in LlamaIndex
        num_workers: int | None = None,
        **kwargs: Any,
    ) -> Sequence[BaseNode]:
        """Like `run`, without blocking the event loop."""
        options = (cache_collection, in_place, store_doc_text, num_workers)
        if self.docstore is None:
            return await super().arun(show_progress, documents, nodes, *options, **kwargs)
        inputs = self._prepare_inputs(documents, nodes)
        plan = await self._planned(inputs, self._strategy(), _acall)
        new_nodes: Sequence[BaseNode] = []
        if plan.due:  # as in `run`
            steps = self._transforming()
            new_nodes = await steps.arun(show_progress, None, plan.due, *options, **kwargs)
        await self._commit(plan, new_nodes, _acall, store_text=store_doc_text)
        return new_nodes

    def _transforming(self) -> IngestionPipeline:
        """Return a stock pipeline that transforms with this one's cache and stores nothing."""
        return IngestionPipeline(
            transformations=self.transformations,
            cache=self.cache,
            disable_cache=self.disable_cache,
        )

    def _strategy(self) -> DocstoreStrategy:
        """Return the strategy of this run, which replaces nothing without a vector store."""
        if self.vector_store is None and self.docstore_strategy != DocstoreStrategy.DUPLICATES_ONLY:
            warnings.warn(
                f"docstore_strategy='{self.docstore_strategy.value}' requires a vector store; this "
                "run only leaves out duplicates",
                stacklevel=3,
            )
            return DocstoreStrategy.DUPLICATES_ONLY
        return self.docstore_strategy

    async def _planned(
        self, inputs: Sequence[BaseNode], strategy: DocstoreStrategy, call: _Call
    ) -> _Plan:
        """Return what a strategy of LlamaIndex makes of the inputs; nothing is written."""
        plan, given, hashes = _Plan(), set(), {}
        if strategy != DocstoreStrategy.UPSERTS:
            hashes = await call(self.docstore, "get_all_document_hashes")
        is_by_hash = strategy == DocstoreStrategy.DUPLICATES_ONLY
        seen = set(hashes) if is_by_hash else set()
        for node in inputs:
            document_id = node.ref_doc_id or node.id_
            given.add(document_id)
            stored_hash = await call(self.docstore, "get_document_hash", document_id)
            if node.hash in seen or (stored_hash == node.hash and not is_by_hash):
                continue
            plan.due.append(node)
            plan.documents.add(document_id)
            if is_by_hash:
                seen.add(node.hash)
            elif stored_hash:
                plan.changed.add(document_id)
            if not stored_hash and not node.ref_doc_id:
                plan.unknown.add(document_id)
        if strategy == DocstoreStrategy.UPSERTS_AND_DELETE:
            plan.removed.update(set(hashes.values()) - given)
        plan.warn(strategy)
        return plan

    async def _commit(
        self, plan: _Plan, nodes: Sequence[BaseNode], call: _Call, *, store_text: bool
    ) -> None:
        """Store the new nodes, delete the old ones, then record the documents."""
        if self.vector_store is not None:
            await self._store(plan, [node for node in nodes if node.embedding is not None], call)
            for document_id in plan.removed:
                await call(self.vector_store, "delete", document_id)
        for document_id in plan.changed:
            await call(self.docstore, "delete_ref_doc", document_id, raise_error=False)
        for document_id in plan.removed:
            await call(self.docstore, "delete_document", document_id, raise_error=False)
        hashes = {node.id_: node.hash for node in plan.due}
        await call(self.docstore, "set_document_hashes", hashes)
        await call(self.docstore, "add_documents", plan.due, store_text=store_text)

    async def _store(self, plan: _Plan, nodes: Sequence[BaseNode], call: _Call) -> None:
        """Store nodes, then delete the other nodes of the documents they replace."""
        new = {node.node_id for node in nodes}
        try:
            before = await self._listed(plan.documents, call)
        except NotImplementedError:
            for document_id in plan.changed:
                await call(self.vector_store, "delete", document_id)
            await self._add(nodes, call)
            return
        except Exception:  # noqa: BLE001 - a collection that `add` makes; `add` tells other faults
            before = None
        try:
            await self._add(nodes, call)
        except Exception:
            with suppress(Exception):  # the next run replaces what is left
                await self._delete(new - (before or {}).keys(), call)
            raise
        if before is None and nodes:
            before = await self._listed(plan.documents, call)
        replaced = plan.changed | plan.unknown
        old = {key for key, owner in (before or {}).items() if owner in replaced}
        await self._delete(old - new, call)

    async def _add(self, nodes: Sequence[BaseNode], call: _Call) -> None:
        if nodes:
            await call(self.vector_store, "add", nodes)

    async def _delete(self, node_ids: set[str], call: _Call) -> None:
        if node_ids:  # none at all are taken for every node of the collection
            await call(self.vector_store, "delete_nodes", sorted(node_ids))

    async def _listed(self, document_ids: set[str], call: _Call) -> dict[str, str | None]:
        """Return the stored nodes of some documents, each with the id of its document.

        Raises:
            NotImplementedError: the vector store cannot list nodes.
        """
        listed: dict[str, str | None] = {}
        ids = sorted(document_ids)
        for start in range(0, len(ids), _LISTED_DOCUMENTS):
            batch = ids[start : start + _LISTED_DOCUMENTS]
            owned = MetadataFilter(key="doc_id", value=batch, operator=FilterOperator.IN)
            filters = MetadataFilters(filters=[owned])
            nodes = await call(self.vector_store, "get_nodes", filters=filters)
            listed.update({node.node_id: node.ref_doc_id for node in nodes})
        return listed


async def _call(store: Any, method: str, *args: Any, **kwargs: Any) -> Any:
    """Call a method of a store at once."""
    return getattr(store, method)(*args, **kwargs)


async def _acall(store: Any, method: str, *args: Any, **kwargs: Any) -> Any:
    """Await the awaitable variant of a method, by LlamaIndex's two ways to name it."""
    prefix = "async_" if method.startswith("add") else "a"
    return await getattr(store, prefix + method)(*args, **kwargs)


def _at_once(steps: Coroutine[Any, Any, _Result]) -> _Result:
    """Return the result of steps that never wait, as those of `_call` do not."""
    try:
        steps.send(None)
    except StopIteration as end:
        result: _Result = end.value
        return result
    raise RuntimeError("a step of a pipeline without an event loop waited")
