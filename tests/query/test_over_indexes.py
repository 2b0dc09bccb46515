"""Our retriever and engine over indexes and vector stores of LlamaIndex."""

from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core import Document, SummaryIndex, VectorStoreIndex
from llama_index.core.callbacks import CallbackManager
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.postprocessor import MetadataReplacementPostProcessor, SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.storage import StorageContext
from llama_index.core.vector_stores import (
    MetadataFilter,
    MetadataFilters,
    SimpleVectorStore,
    VectorStoreQuery,
)
from llama_index.core.vector_stores.types import VectorStoreQueryMode
from llama_index.vector_stores.qdrant import QdrantVectorStore
from memory_clients import memory_client
from scripted_llm import ScriptedLLM

from rag_nodes import Filter, QueryOptions, RagNodesQueryEngine, RagNodesRetriever, get_parser
from rag_nodes import SentencePostprocessor as Sentences
from rag_nodes.core.errors import ConfigurationError, StoreError
from rag_nodes.models import get_embedding
from rag_nodes.query.options import DEFAULT_BUDGET
from rag_nodes.store import Store
from rag_nodes.store.bm25 import document_vectors, query_vectors
from rag_nodes.store.vector_store import RagNodesVectorStore
from rag_nodes.text.tokens import count_tokens

QUESTION = "What starts the generator?"
ANSWER = "A spare battery starts the generator when the grid is down."
DENSE = QueryOptions(mode="dense")
ONE_KIND = MetadataFilters(filters=[MetadataFilter(key="kind", value="tea")])


def index_of(store: Any = None, texts: Sequence[str] = ()) -> VectorStoreIndex:
    """A stock index of two documents, in a store of its own."""
    context = StorageContext.from_defaults(vector_store=store or SimpleVectorStore())
    plant = Document(
        text="The pump moves water. It is checked every forty days. " * 3 + ANSWER,
        id_="plant",
        metadata={"kind": "plant"},
    )
    tea = Document(text="Green tea has no generator.", id_="tea", metadata={"kind": "tea"})
    return VectorStoreIndex.from_documents(
        [plant, tea, *(Document(text=text) for text in texts)],
        storage_context=context,
        transformations=[SentenceSplitter(chunk_size=40, chunk_overlap=0)],
        embed_model=get_embedding("lexical"),
    )


def stock_qdrant(*, enable_hybrid: bool = False) -> QdrantVectorStore:
    functions: dict[str, Any] = (
        {"sparse_doc_fn": document_vectors, "sparse_query_fn": query_vectors}
        if enable_hybrid
        else {}
    )
    return QdrantVectorStore(
        "stock",
        client=memory_client(),
        index_doc_id=False,
        enable_hybrid=enable_hybrid,
        **functions,
    )


STORES = {
    "simple": SimpleVectorStore,
    "qdrant": stock_qdrant,
    "hybrid": lambda: stock_qdrant(enable_hybrid=True),
    "ours": RagNodesVectorStore,
}
EVERY_STORE = pytest.mark.parametrize("kind", STORES)


@EVERY_STORE
async def test_a_question_is_answered_from_an_index_over_any_vector_store(kind: str) -> None:
    index = index_of(STORES[kind]())
    engine = RagNodesQueryEngine.from_index(index)
    assert ANSWER in str(engine.query(QUESTION))
    assert ANSWER in str(await engine.aquery(QUESTION))
    [best, *_] = RagNodesRetriever.from_index(index, similarity_top_k=1).retrieve(QUESTION)
    assert best.node.ref_doc_id == "plant"


@pytest.mark.parametrize("kind", ["qdrant", "hybrid", "ours"])
def test_a_vector_store_that_was_filled_before_is_enough(kind: str) -> None:
    store = STORES[kind]()
    index_of(store)
    engine = RagNodesQueryEngine(vector_store=store, embed_model="lexical")
    assert ANSWER in str(engine.query(QUESTION))


def tokens_in(nodes: Sequence[NodeWithScore]) -> int:
    return sum(count_tokens(scored.node.get_content()) for scored in nodes)


def long_index(kind: str) -> tuple[VectorStoreIndex, str]:
    """An index over a document of 200 sentences, and its text."""
    text = " ".join(f"Generator {n} starts when battery {n} is full." for n in range(200))
    index = index_of(STORES[kind]())
    index.insert(Document(text=text, id_="long"))
    return index, text


@EVERY_STORE
@pytest.mark.parametrize("mode", [None, "dense"])
@pytest.mark.parametrize("granularity", [None, "chunks", "sentences"])
@pytest.mark.parametrize("top_k", [None, 40])
async def test_retrieved_nodes_fit_the_budget(
    kind: str, mode: Any, granularity: Any, top_k: int | None
) -> None:
    index, text = long_index(kind)
    options = QueryOptions(budget=300, mode=mode, granularity=granularity, top_k=top_k)
    retriever = RagNodesRetriever.from_index(index, options=options)
    nodes = retriever.retrieve(QUESTION)
    assert 290 <= tokens_in(nodes) <= 300
    assert [scored.node.get_content() for scored in await retriever.aretrieve(QUESTION)] == [
        scored.node.get_content() for scored in nodes
    ]
    for node in (scored.node for scored in nodes if scored.node.ref_doc_id == "long"):
        assert isinstance(node, TextNode)
        assert text[node.start_char_idx : node.end_char_idx] == node.text


@EVERY_STORE
def test_a_number_of_chunks_alone_gives_that_many_whole_chunks(kind: str) -> None:
    index, _ = long_index(kind)
    stock = {
        scored.node.node_id for scored in index.as_retriever(similarity_top_k=60).retrieve(QUESTION)
    }
    for given in ({"similarity_top_k": 60}, {"options": QueryOptions(top_k=60)}):
        nodes = RagNodesRetriever.from_index(index, **given).retrieve(QUESTION)
        assert len(nodes) == len(stock)
        assert tokens_in(nodes) > DEFAULT_BUDGET


def test_the_default_budget_holds_for_chunks_without_a_number() -> None:
    index, _ = long_index("simple")
    for granularity in ("chunks", None):
        options = QueryOptions(granularity=granularity)
        nodes = RagNodesRetriever.from_index(index, options=options).retrieve(QUESTION)
        assert tokens_in(nodes) <= DEFAULT_BUDGET


@pytest.mark.parametrize("kind", ["simple", "qdrant"])
def test_an_index_with_embeddings_alone_is_read_by_sentences(kind: str) -> None:
    index = index_of(STORES[kind]())
    options = QueryOptions(budget=13)
    [best, *_] = RagNodesRetriever.from_index(index, options=options).retrieve(QUESTION)
    assert best.node.get_content() == ANSWER


def test_both_vectors_of_a_stock_hybrid_collection_are_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[VectorStoreQuery] = []
    query = QdrantVectorStore.query

    def note_query(self: QdrantVectorStore, given: VectorStoreQuery, **kwargs: Any) -> Any:
        asked.append(given)
        return query(self, given, **kwargs)

    monkeypatch.setattr(QdrantVectorStore, "query", note_query)
    for enable_hybrid, mode in ((True, "hybrid"), (False, "dense")):
        index = index_of(stock_qdrant(enable_hybrid=enable_hybrid))
        options = QueryOptions(mode="hybrid")
        assert RagNodesRetriever.from_index(index, options=options).retrieve(QUESTION)
        expected = VectorStoreQueryMode.HYBRID if enable_hybrid else VectorStoreQueryMode.DEFAULT
        assert asked[-1].mode == expected
        assert asked[-1].query_embedding is not None
        assert RagNodesRetriever.from_index(index, options=options).mode == mode


@pytest.mark.parametrize(("kind", "mode"), [("simple", "dense"), ("hybrid", "hybrid")])
def test_a_hybrid_search_without_sparse_vectors_is_dense_and_says_so(
    kind: str, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    index = index_of(STORES[kind]())
    RagNodesQueryEngine.from_index(index).answer(QUESTION)  # has chosen no mode
    assert not caplog.messages
    options = QueryOptions(mode="hybrid")
    answers = RagNodesQueryEngine.from_index(index, options=options)
    assert [answers.answer(QUESTION).mode for _ in range(2)] == [mode] * 2
    warnings = ["SimpleVectorStore has no sparse vectors"] if mode == "dense" else []
    assert [message[:39] for message in caplog.messages] == warnings


@EVERY_STORE
def test_filters_of_llama_index_and_ours_narrow_the_search(kind: str) -> None:
    index = index_of(STORES[kind]())
    for options in ({"filters": ONE_KIND}, {"document_ids": "tea"}):
        nodes = RagNodesRetriever.from_index(index, **options).retrieve(QUESTION)
        assert {node.node.ref_doc_id for node in nodes} == {"tea"}
    ours = QueryOptions(filter=Filter(document_ids=["tea"]), top_k=1)
    [node] = RagNodesRetriever.from_index(index, options=ours).retrieve(QUESTION)
    assert node.node.ref_doc_id == "tea"


def test_filters_hold_in_a_store_of_ours_too(store: Store, collection: str) -> None:
    engine = RagNodesQueryEngine(
        store=store, collection=collection, embed_model="lexical", filters=ONE_KIND
    )
    assert engine.retrieve(QueryBundle(QUESTION)) == []


PAGED = Document(
    text="Tea is green. " * 20 + "Tea is black. " * 20,
    id_="paged",
    metadata={"page_starts": [0, 280], "dept": "tea"},
)


def over_pages(kind: str, parser: Any, document: Document = PAGED) -> VectorStoreIndex:
    context = StorageContext.from_defaults(vector_store=STORES[kind]())
    return VectorStoreIndex.from_documents(
        [document],
        storage_context=context,
        transformations=[parser],
        embed_model=get_embedding("lexical"),
    )


def cited_pages(index: VectorStoreIndex, filter_: Filter) -> set[int | None]:
    options = QueryOptions(filter=filter_)
    answer = RagNodesQueryEngine.from_index(index, options=options).answer("Which tea is black?")
    return {citation.page for citation in answer.citations}


@pytest.mark.parametrize("kind", ["simple", "qdrant", "hybrid"])
@pytest.mark.parametrize(
    "parser", [SentenceSplitter(chunk_size=40, chunk_overlap=0), get_parser("sentence")]
)
def test_a_filter_by_page_finds_the_pages_that_citations_name(kind: str, parser: Any) -> None:
    index = over_pages(kind, parser)
    assert cited_pages(index, Filter(pages=(2, 2))) == {2}
    assert cited_pages(index, Filter(pages=(3, 9))) == set()


def test_a_filter_by_what_no_node_of_an_index_has_is_refused() -> None:
    own = {"dept": "tea", "file_type": "text/plain", "file_name": "tea.txt"}
    plain = PAGED.model_copy(update={"metadata": own})
    index = over_pages("qdrant", SentenceSplitter(), plain)
    for filter_, words in (
        (Filter(pages=(1, 2)), "no chunk has a page number; leave pages out"),
        (Filter(heading="Tea"), r"no chunk has headings; .*\(get_parser\)"),
        (Filter(where={"dep": "tea"}), "no chunk has the key 'dep'; did you mean 'dept'"),
        (Filter(where={"file_nam": "x"}), "the key 'file_nam'; did you mean 'file_name'"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            cited_pages(index, filter_)
    assert cited_pages(index, Filter(where={"dept": "hr"})) == set()


def test_scores_are_from_zero_to_one_in_the_order_of_the_ranks() -> None:
    nodes = RagNodesRetriever.from_index(index_of(), options=DENSE).retrieve(QUESTION)
    scores = [node.score or 0.0 for node in nodes]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_neighbours_are_read_from_the_index() -> None:
    for store in (SimpleVectorStore(), stock_qdrant()):
        options = QueryOptions(mode="dense", expand="neighbours", budget=None, top_k=1)
        retriever = RagNodesRetriever.from_index(index_of(store), options=options)
        hits = retriever.hits(QUESTION, retriever.question_vector(QUESTION).vector)
        assert [hit.origin for hit in hits][:2] == ["search", "neighbour"]


def test_postprocessors_choose_and_order_the_chunks() -> None:
    class Reversed(BaseNodePostprocessor):
        def _postprocess_nodes(
            self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
        ) -> list[NodeWithScore]:
            assert query_bundle
            return nodes[::-1]

    def first(*steps: BaseNodePostprocessor) -> str:
        engine = RagNodesQueryEngine.from_index(
            index_of(), options=DENSE, node_postprocessors=list(steps)
        )
        return engine.retrieve(QueryBundle(QUESTION))[0].get_content()

    plain = first()
    assert first(Reversed()) != plain
    assert first(Reversed(), Reversed()) == plain
    assert first(SimilarityPostprocessor(similarity_cutoff=0.0), Reversed()) != plain


def test_an_engine_is_made_of_a_retriever_and_asks_with_the_users_template() -> None:
    retriever = RagNodesRetriever.from_index(index_of(), filters=ONE_KIND)
    llm = ScriptedLLM(lines=["It has none [1]."])
    manager = CallbackManager()
    engine = RagNodesQueryEngine.from_args(
        retriever,
        llm=llm,
        text_qa_template=PromptTemplate("Sources: {context_str} Asked: {query_str}"),
        callback_manager=manager,
        response_mode="compact",
        streaming=True,
    )
    assert "It has none" in str(engine.query(QUESTION))
    assert "Green tea" in llm.prompts[-1]
    assert f"Asked: {QUESTION}" in llm.prompts[-1]
    assert "battery" not in llm.prompts[-1]
    assert engine.callback_manager is manager


def test_without_text_nothing_is_written() -> None:
    engine = RagNodesQueryEngine.from_index(
        index_of(), response_mode="no_text", llm=ScriptedLLM(lines=["x"])
    )
    response = engine.query(QUESTION)
    assert response.source_nodes
    assert str(response) != "x"


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"retriever": 1}, r"from_args\(retriever\)"),
        ({"top_k": 3}, "use similarity_top_k"),
        ({"response_synthesizer": 1}, "RetrieverQueryEngine.from_args"),
        ({"surprise": 1}, "unknown option 'surprise'; RagNodesQueryEngine takes: store, "),
        ({"response_mode": "refine"}, "response_mode='refine'"),
        ({"node_postprocessors": [Sentences()]}, "selected already"),
        (
            {"node_postprocessors": [MetadataReplacementPostProcessor("window")]},
            "windows are read already",
        ),
        ({"similarity_top_k": 3, "options": QueryOptions(top_k=2)}, "leave one of them out"),
        ({"embed_model": "lexical", "vector_store": SimpleVectorStore()}, "alone"),
        (
            {"filters": Filter(where={"dept": "hr"})},
            r"not Filter; use options=QueryOptions\(filter",
        ),
        ({"filters": {"dept": "hr"}}, "MetadataFilters of LlamaIndex, not dict"),
    ],
)
def test_unsupported_keywords_are_refused_with_a_remedy(
    options: dict[str, Any], remedy: str
) -> None:
    with pytest.raises(ConfigurationError, match=remedy):
        RagNodesQueryEngine.from_index(index_of(), **options)


def test_unsearchable_questions_are_refused() -> None:
    by_words = RagNodesRetriever.from_index(index_of(), options=QueryOptions(mode="sparse"))
    with pytest.raises(ConfigurationError, match="no sparse vectors"):
        by_words.retrieve(QUESTION)
    with pytest.raises(ConfigurationError, match="SummaryIndex has no vectors"):
        RagNodesRetriever.from_index(SummaryIndex([]))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="stores no texts"):
        RagNodesRetriever(vector_store=SimpleVectorStore(), embed_model="lexical")
    with pytest.raises(ConfigurationError, match="pass a store"):
        RagNodesQueryEngine(embed_model="lexical")
    stock: Any = index_of().as_retriever()
    with pytest.raises(ConfigurationError, match="RetrieverQueryEngine"):
        RagNodesQueryEngine.from_args(stock)


def test_a_failing_vector_store_is_named_without_its_words() -> None:
    class Broken(SimpleVectorStore):
        def query(self, query: VectorStoreQuery, **_: Any) -> Any:
            raise RuntimeError(f"sk-secret {query.query_str}")

    with pytest.raises(StoreError, match="Broken failed: RuntimeError") as failed:
        RagNodesRetriever.from_index(index_of(Broken())).retrieve(QUESTION)
    assert "sk-secret" not in str(failed.value)


@pytest.mark.parametrize("words", ["Collection nope not found", "Collection `nope` doesn't exist!"])
def test_a_collection_that_is_not_there_is_named(words: str) -> None:
    class Absent(SimpleVectorStore):
        collection_name: str = "nope"

        def query(self, *_: Any, **__: Any) -> Any:
            raise ValueError(words)

    with pytest.raises(StoreError, match="it has no collection 'nope': check its collection_name"):
        RagNodesRetriever.from_index(index_of(Absent())).retrieve(QUESTION)


def test_a_missing_collection_of_qdrant_is_named() -> None:
    stock = QdrantVectorStore("nope", client=memory_client())
    engine = RagNodesQueryEngine(vector_store=stock, embed_model="lexical")
    with pytest.raises(StoreError, match="it has no collection 'nope'"):
        engine.answer(QUESTION)


def test_an_embedding_of_another_size_is_named_with_both_sizes() -> None:
    engine = RagNodesQueryEngine.from_index(index_of(), embed_model=MockEmbedding(8))
    with pytest.raises(
        StoreError, match=r"have \d{2,} dimensions and that of the question 8: give"
    ):
        engine.answer(QUESTION)


def test_a_stock_engine_takes_our_retriever_with_the_refused_keywords() -> None:
    llm = ScriptedLLM(lines=["A battery."])
    retriever = RagNodesRetriever.from_index(index_of())
    engine = RetrieverQueryEngine.from_args(retriever, llm=llm, response_mode="refine")
    assert str(engine.query(QUESTION)) == "A battery."
