"""The parsers in LlamaIndex's `IngestionPipeline`: workers, cache, docstore, Qdrant."""

from pathlib import Path

import pytest
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.vector_stores.qdrant import QdrantVectorStore
from memory_clients import memory_client
from stock_callers import EMBEDDING, EVERY_KIND, EveryPreset, documents, plain, small, text_nodes

from rag_nodes.parsers import PRESETS


def test_worker_processes_give_what_the_parsers_give_here() -> None:
    every = EveryPreset(parsers=[small(name) for name in PRESETS])
    pipeline = IngestionPipeline(transformations=[every])
    given = documents()
    expected = plain([node for document in given for node in every([document])])
    assert plain(pipeline.run(documents=given, num_workers=2)) == expected


@EVERY_KIND
def test_a_cache_that_was_saved_gives_the_same_nodes_without_cutting_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = IngestionPipeline(transformations=[small(name)])
    expected = plain(first.run(documents=documents()))
    first.persist(str(tmp_path))
    again = IngestionPipeline(transformations=[small(name)])
    again.load(str(tmp_path))
    monkeypatch.setattr(type(small(name)), "_parse_nodes", lambda *_, **__: pytest.fail("cut"))
    assert plain(again.run(documents=documents())) == expected


@EVERY_KIND
def test_one_cache_under_all_parsers_mixes_none_of_them_up(name: str) -> None:
    pipeline = IngestionPipeline(transformations=[])
    for other in PRESETS:
        pipeline.transformations = [small(other)]
        pipeline.run(documents=documents()[1:])
    pipeline.transformations = [small(name)]
    assert plain(pipeline.run(documents=documents()[1:])) == plain(small(name)(documents()[1:]))


@EVERY_KIND
def test_a_docstore_lets_each_document_through_once(name: str) -> None:
    pipeline = IngestionPipeline(
        transformations=[small(name)],
        docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.DUPLICATES_ONLY,
    )
    assert pipeline.run(documents=documents())
    assert pipeline.run(documents=documents()) == []


@EVERY_KIND
def test_qdrant_holds_the_nodes_of_the_documents_as_they_are_now(name: str) -> None:
    store = qdrant(name)
    pipeline = IngestionPipeline(
        transformations=[small(name), EMBEDDING],
        docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
        vector_store=store,
    )
    manual, notes = documents()
    pipeline.run(documents=[manual, notes])
    assert plain(pipeline.run(documents=[manual, notes])) == []
    changed = manual.model_copy()
    changed.set_content(manual.text.replace("monthly", "every week"))
    pipeline.run(documents=[changed])
    assert stored(store) == {n.node_id: n.text for n in text_nodes(small(name)([changed]))}


@EVERY_KIND
def test_ingesting_twice_without_a_docstore_adds_nothing(name: str) -> None:
    store = qdrant(name)
    for _ in range(2):
        pipeline = IngestionPipeline(
            transformations=[small(name), EMBEDDING], vector_store=store, disable_cache=True
        )
        nodes = pipeline.run(documents=documents())
    assert stored(store) == {node.node_id: node.text for node in text_nodes(nodes)}


def qdrant(name: str) -> QdrantVectorStore:
    return QdrantVectorStore(name, client=memory_client(), index_doc_id=False)


def stored(store: QdrantVectorStore) -> dict[str, str]:
    return {node.node_id: node.text for node in text_nodes(store.get_nodes(limit=1000))}
