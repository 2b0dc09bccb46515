"""The four laws of `AtomicIngestionPipeline`, over every preset, stock splitters and stores."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from llama_index.core.ingestion import DocstoreStrategy, IngestionCache, IngestionPipeline
from llama_index.core.node_parser import (
    MarkdownNodeParser,
    NodeParser,
    SentenceSplitter,
    SentenceWindowNodeParser,
    TokenTextSplitter,
)
from llama_index.core.schema import BaseNode, Document, TextNode, TransformComponent
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore
from llama_index.vector_stores.qdrant import QdrantVectorStore
from memory_clients import memory_client
from pydantic import PrivateAttr
from qdrant_client import AsyncQdrantClient
from stock_callers import EMBEDDING, documents, small

from rag_nodes import AtomicIngestionPipeline
from rag_nodes.parsers import PRESETS
from rag_nodes.store.vector_store import RagNodesVectorStore

STOCK = {
    "SentenceSplitter": lambda: SentenceSplitter(chunk_size=40, chunk_overlap=0),
    "TokenTextSplitter": lambda: TokenTextSplitter(chunk_size=40, chunk_overlap=5),
    "MarkdownNodeParser": MarkdownNodeParser,
    "SentenceWindowNodeParser": SentenceWindowNodeParser,
}
EVERY_SPLITTER = pytest.mark.parametrize("name", [*PRESETS, *STOCK])
EACH_WAY = pytest.mark.parametrize("awaited", [False, True], ids=["run", "arun"])
EVERY_STRATEGY = pytest.mark.parametrize("strategy", DocstoreStrategy)
REPLACING = [DocstoreStrategy.UPSERTS, DocstoreStrategy.UPSERTS_AND_DELETE]
Stored = Counter[tuple[str | None, str]]


class FaultError(RuntimeError):
    """A fault that a test plays."""


class Guarded(TransformComponent):
    """Embeds, unless it is told to fail."""

    fails: bool = False

    def __call__(self, nodes: Sequence[BaseNode], **_: Any) -> Sequence[BaseNode]:
        if self.fails:
            raise FaultError("embedding")
        return EMBEDDING(nodes)


class HalfStored(QdrantVectorStore):
    """Stores half of the nodes and fails, as often as it is told to."""

    _faults: int = PrivateAttr(default=0)

    def fail_once(self) -> None:
        self._faults = 1

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:  # type: ignore[override]
        if not self._faults:
            return super().add(list(nodes), **kwargs)
        self._faults -= 1
        super().add(list(nodes)[: len(nodes) // 2 + 1], **kwargs)
        raise FaultError("vector store")

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:  # type: ignore[override]
        if not self._faults:
            return await super().async_add(list(nodes), **kwargs)
        self._faults -= 1
        await super().async_add(list(nodes)[: len(nodes) // 2 + 1], **kwargs)
        raise FaultError("vector store")


class Strict(SimpleVectorStore):
    """Lists no nodes, and refuses to delete those of a document that it does not have."""

    def delete(self, ref_doc_id: str, **kwargs: Any) -> None:
        if ref_doc_id not in self.data.text_id_to_ref_doc_id.values():
            raise FaultError(f"no nodes of {ref_doc_id}")
        super().delete(ref_doc_id, **kwargs)


class Bench:
    """One pipeline with its stores, run or awaited."""

    def __init__(
        self,
        name: str,
        *,
        awaited: bool,
        strategy: DocstoreStrategy = DocstoreStrategy.UPSERTS,
        kind: type[IngestionPipeline] = AtomicIngestionPipeline,
        store: BasePydanticVectorStore | None = None,
    ) -> None:
        clients: dict[str, Any] = (
            {"aclient": AsyncQdrantClient(":memory:")} if awaited else {"client": memory_client()}
        )
        self.awaited = awaited
        self.store: Any = store or HalfStored("chunks", index_doc_id=False, **clients)
        self.embedding = Guarded()
        splitter: NodeParser = STOCK[name]() if name in STOCK else small(name)
        self.pipeline = kind(
            transformations=[splitter, self.embedding],
            vector_store=self.store,
            docstore=SimpleDocumentStore(),
            docstore_strategy=strategy,
        )

    async def run(self, given: Sequence[BaseNode]) -> Sequence[BaseNode]:
        are_documents = all(isinstance(node, Document) for node in given)
        inputs: dict[str, Any] = {"documents" if are_documents else "nodes": given}
        if self.awaited:
            return await self.pipeline.arun(**inputs)
        return self.pipeline.run(**inputs)

    async def fails(self, given: Sequence[BaseNode]) -> None:
        with pytest.raises(FaultError):
            await self.run(given)

    async def stored(self) -> Stored:
        """The text of each stored node with its document."""
        nodes = await self.store.aget_nodes() if self.awaited else self.store.get_nodes()
        return Counter((node.ref_doc_id, node.get_content()) for node in nodes)

    def recorded(self) -> dict[str, Any]:
        docstore: Any = self.pipeline.docstore
        return docstore.to_dict()


def change_text(document: Document) -> Document:
    """The document with another text under the same id."""
    return document.model_copy(
        update={"text_resource": Document(text="It is new. " * 40).text_resource}
    )


def nodes_of_document(stored: Stored, document_id: str) -> Stored:
    return Counter({key: count for key, count in stored.items() if key[0] == document_id})


@EVERY_SPLITTER
@EACH_WAY
@EVERY_STRATEGY
async def test_a_failed_run_leaves_both_stores_as_they_were_and_the_next_makes_up_for_it(
    name: str, awaited: bool, strategy: DocstoreStrategy
) -> None:
    manual, notes = documents()
    whole = Bench(name, awaited=awaited, strategy=strategy)
    await whole.run([manual, notes])
    bench = Bench(name, awaited=awaited, strategy=strategy)
    await bench.run([notes])
    before, recorded = await bench.stored(), bench.recorded()

    bench.embedding.fails = True
    await bench.fails([manual, notes])
    assert (await bench.stored(), bench.recorded()) == (before, recorded)
    bench.embedding.fails = False
    bench.store.fail_once()
    await bench.fails([manual, notes])
    assert (await bench.stored(), bench.recorded()) == (before, recorded)

    await bench.run([manual, notes])
    assert await bench.stored() == await whole.stored()
    assert await bench.run([manual, notes]) == []


@EVERY_SPLITTER
@EACH_WAY
@pytest.mark.parametrize("strategy", REPLACING)
async def test_a_changed_document_keeps_its_nodes_until_the_new_ones_are_stored(
    name: str, awaited: bool, strategy: DocstoreStrategy
) -> None:
    manual, notes = documents()
    bench = Bench(name, awaited=awaited, strategy=strategy)
    await bench.run([manual, notes])
    before, recorded = await bench.stored(), bench.recorded()
    bench.embedding.fails = True
    await bench.fails([change_text(manual)])
    bench.embedding.fails = False
    bench.store.fail_once()
    await bench.fails([change_text(manual)])
    assert (await bench.stored(), bench.recorded()) == (before, recorded)

    await bench.run([change_text(manual)])
    fresh = Bench(name, awaited=awaited)
    is_removed = strategy == DocstoreStrategy.UPSERTS_AND_DELETE
    await fresh.run([change_text(manual), *([] if is_removed else [notes])])
    assert await bench.stored() == await fresh.stored()


@EVERY_SPLITTER
@EACH_WAY
async def test_nothing_is_doubled_if_the_process_is_killed_before_the_docstore_is_written(
    name: str, awaited: bool
) -> None:
    bench = Bench(name, awaited=awaited)
    await bench.run(documents())
    expected = await bench.stored()
    bench.pipeline.docstore, bench.pipeline.cache = SimpleDocumentStore(), IngestionCache()
    await bench.run(documents())
    assert await bench.stored() == expected


@EACH_WAY
@EVERY_STRATEGY
@pytest.mark.parametrize("name", ["heading", "SentenceSplitter"])
async def test_the_same_is_stored_and_recorded_as_by_the_stock_pipeline(
    name: str, awaited: bool, strategy: DocstoreStrategy
) -> None:
    manual, notes = documents()
    ours = Bench(name, awaited=awaited, strategy=strategy)
    stock = Bench(name, awaited=awaited, strategy=strategy, kind=IngestionPipeline)
    third = Document(text="A third one.", id_="third.txt")
    copy = Document(text=notes.text, id_="copy.txt", metadata=notes.metadata)
    for given in (
        [manual],
        [manual, notes, copy],
        [change_text(manual), third],
        [notes, third],
        [],
    ):
        counts = [len(await bench.run(given)) for bench in (ours, stock)]
        assert counts[0] == counts[1]
        assert await ours.stored() == await stock.stored()
        assert ours.recorded() == stock.recorded()


@EACH_WAY
async def test_a_run_without_documents_makes_no_nodes_though_a_blank_one_is_cached(
    awaited: bool,
) -> None:
    bench = Bench("SentenceSplitter", awaited=awaited)
    await bench.run([Document(text="", id_="blank.txt")])
    assert await bench.run([]) == []


@EACH_WAY
async def test_nodes_that_were_split_before_are_never_taken_for_whole_documents(
    awaited: bool,
) -> None:
    bench = Bench("SentenceSplitter", awaited=awaited)
    first, *others = SentenceSplitter(chunk_size=20, chunk_overlap=0)(documents()[:1])
    for nodes in ([first], others):
        if awaited:
            await bench.pipeline.arun(nodes=nodes)
        else:
            bench.pipeline.run(nodes=nodes)
    texts = {text for _, text in await bench.stored()}
    assert all(node.get_content() in texts for node in [first, *others])


@pytest.mark.parametrize("make", [RagNodesVectorStore, lambda: RagNodesVectorStore(collection="b")])
async def test_our_vector_store_is_written_alike(make: Callable[[], RagNodesVectorStore]) -> None:
    manual, notes = documents()
    bench = Bench("SentenceSplitter", awaited=True, store=make())
    await bench.run([manual, notes])
    await bench.run([change_text(manual), notes])
    fresh = Bench("SentenceSplitter", awaited=False)
    await fresh.run([change_text(manual), notes])
    assert await bench.stored() == await fresh.stored()


@EVERY_SPLITTER
@EACH_WAY
async def test_a_store_that_lists_no_nodes_is_changed_once_after_the_transformations(
    name: str, awaited: bool
) -> None:
    bench = Bench(name, awaited=awaited, store=Strict())
    first = await bench.run(documents())
    manual, _ = documents()
    parts = SentenceSplitter(chunk_size=80, chunk_overlap=0)([change_text(manual)])
    assert len(parts) > 1, "several nodes of one document"
    owners, recorded = dict(bench.store.data.text_id_to_ref_doc_id), bench.recorded()
    bench.embedding.fails = True
    await bench.fails(parts)
    assert (bench.store.data.text_id_to_ref_doc_id, bench.recorded()) == (owners, recorded)

    bench.embedding.fails = False
    new = await bench.run(parts)
    kept = {node.node_id for node in first if node.ref_doc_id == "notes.txt"}
    assert bench.store.data.text_id_to_ref_doc_id.keys() == kept | {node.node_id for node in new}


def test_a_fault_of_the_store_is_raised_though_it_cannot_be_cleaned_up() -> None:
    class Down(RagNodesVectorStore):
        def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
            raise FaultError(f"{len(nodes)} nodes")

        def delete_nodes(self, *_: Any, **__: Any) -> None:
            raise ConnectionError("down")

    pipeline = AtomicIngestionPipeline(
        transformations=[EMBEDDING], vector_store=Down(), docstore=SimpleDocumentStore()
    )
    with pytest.raises(FaultError, match="1 nodes"):
        pipeline.run(nodes=[TextNode(text="Green tea.")])


def test_without_a_vector_store_duplicates_are_left_out_and_the_user_is_told() -> None:
    docstore = SimpleDocumentStore()
    pipeline = AtomicIngestionPipeline(transformations=[EMBEDDING], docstore=docstore)
    with pytest.warns(UserWarning, match="requires a vector store") as warned:
        assert len(pipeline.run(documents=documents())) == 2
    assert warned[0].filename == __file__
    pipeline.docstore_strategy = DocstoreStrategy.DUPLICATES_ONLY
    assert pipeline.run(documents=documents()) == []


def test_texts_stay_out_of_the_docstore_and_steps_run_from_the_cache_if_asked() -> None:
    marks = []

    class Counted(TransformComponent):
        def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
            marks.append(kwargs["mark"])
            return nodes

    docstore = SimpleDocumentStore()
    pipeline = AtomicIngestionPipeline(
        transformations=[Counted()],
        docstore=docstore,
        docstore_strategy=DocstoreStrategy.DUPLICATES_ONLY,
    )
    pipeline.run(documents=documents(), store_doc_text=False, mark=1)
    assert docstore.docs == {}
    assert len(docstore.get_all_document_hashes()) == 2
    pipeline.docstore = None
    pipeline.run(documents=documents(), mark=2)
    assert marks == [1]
