"""`build_pipeline` gives an `IngestionPipeline` that does all that one of LlamaIndex does."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import MockEmbedding
from llama_index.core.extractors import BaseExtractor
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.schema import BaseNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.vector_stores.qdrant import QdrantVectorStore
from memory_clients import memory_client
from stock_callers import EMBEDDING, EVERY_KIND, EveryPreset, documents, lexical_index, plain, small

from rag_nodes import build_pipeline, leaf_nodes
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.parsers import PRESETS
from rag_nodes.parsers.parent_child import is_leaf


class Length(BaseExtractor):
    """An async extractor that needs no model."""

    async def aextract(self, nodes: Sequence[BaseNode]) -> list[dict[str, Any]]:
        return [{"length": len(node.get_content())} for node in nodes]


def build_small(name: str, **options: Any) -> IngestionPipeline:
    return build_pipeline(small(name), embed_model=EMBEDDING, transformations=[Length()], **options)


@EVERY_KIND
async def test_run_and_awaited_it_gives_the_parsers_nodes_with_vectors(name: str) -> None:
    expected = small(name)(documents())
    for nodes in (
        build_small(name).run(documents=documents()),
        await build_small(name).arun(documents=documents()),
    ):
        assert [node.node_id for node in nodes] == [node.node_id for node in expected]
        assert all((node.embedding is not None) is is_leaf(node) for node in nodes)
        for node, before in zip(nodes, expected, strict=True):
            assert node.metadata == {**before.metadata, "length": len(before.get_content())}


def test_a_preset_is_named_and_a_model_too() -> None:
    pipeline = build_pipeline("token-overlap", embed_model="lexical")
    assert [step.class_name() for step in pipeline.transformations] == [
        "HiddenMetadata",
        "TokenOverlapNodeParser",
        "EmbeddingGuard",
        "LeafEmbedding",
    ]
    with pytest.raises(ConfigurationError, match="no-such"):
        build_pipeline("no-such")
    with pytest.raises(ConfigurationError, match="put it into a list"):
        build_pipeline("fixed", transformations=Length())  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # how core starts them
async def test_two_worker_processes_give_the_same() -> None:
    expected = plain(build_small("parent-child").run(documents=documents()))
    nodes = await build_small("parent-child").arun(documents=documents(), num_workers=2)
    assert sorted(map(str, plain(nodes))) == sorted(map(str, expected))


def test_worker_processes_give_what_each_parser_gives_here() -> None:
    every = EveryPreset(parsers=[small(name) for name in PRESETS])
    pipeline = IngestionPipeline(transformations=[every])
    given = documents()
    expected = plain([node for document in given for node in every([document])])
    assert plain(pipeline.run(documents=given, num_workers=2)) == expected


@EVERY_KIND
def test_a_saved_cache_and_docstore_are_loaded_and_do_their_work(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build_small(name, docstore=SimpleDocumentStore(), docstore_strategy="duplicates_only")
    expected = plain(first.run(documents=documents()))
    first.persist(str(tmp_path))

    def cut(_: object, nodes: Sequence[BaseNode], **__: Any) -> list[BaseNode]:
        assert not nodes
        return []

    monkeypatch.setattr(type(small(name)), "_parse_nodes", cut)
    again = build_small(name)
    again.load(str(tmp_path))
    again.docstore_strategy = DocstoreStrategy.DUPLICATES_ONLY
    assert again.run(documents=documents()) == []
    again.docstore = None
    assert plain(again.run(documents=documents())) == expected


@EVERY_KIND
def test_a_stock_qdrant_store_holds_what_the_documents_are_now(name: str) -> None:
    store = QdrantVectorStore(name, client=memory_client(), index_doc_id=False)
    pipeline = build_small(
        name,
        vector_store=store,
        docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
    )
    manual, notes = documents()
    pipeline.run(documents=[manual, notes])
    assert pipeline.run(documents=[manual, notes]) == []
    changed = manual.model_copy()
    changed.set_content(manual.text.replace("monthly", "every week"))
    pipeline.run(documents=[changed])
    expected = leaf_nodes(small(name)([changed]))
    held = store.get_nodes(limit=1000)
    assert {node.node_id: node.get_content() for node in held} == {
        node.node_id: node.get_content() for node in expected
    }
    assert all(node.metadata["length"] for node in held)


@EVERY_KIND
def test_an_index_takes_its_nodes_and_embeds_none_again(name: str) -> None:
    nodes = build_pipeline(small(name), embed_model="lexical").run(documents=documents())
    index = lexical_index(leaf_nodes(nodes))
    [hit] = index.as_retriever(similarity_top_k=1).retrieve("Where is the key?")
    assert hit.node.ref_doc_id == "notes.txt"


def test_a_key_is_in_nothing_that_is_written_and_in_no_cache_key() -> None:
    class Keyed(MockEmbedding):
        api_key: str = "sk-canary"

    step = build_pipeline("fixed", embed_model=Keyed(embed_dim=4)).transformations[-1]
    assert "canary" not in f"{step.to_dict()} {step!r} {step.model_dump()}"
    other = build_pipeline("fixed", embed_model=Keyed(embed_dim=4, api_key="sk-2"))
    assert other.transformations[-1].to_dict() == step.to_dict()
    wider = build_pipeline("fixed", embed_model=Keyed(embed_dim=5)).transformations[-1]
    assert wider.to_dict() != step.to_dict()


def test_one_cache_under_all_pipelines_mixes_none_of_them_up() -> None:
    cache = IngestionPipeline(transformations=[]).cache
    for name in PRESETS:
        nodes = build_small(name, cache=cache).run(documents=documents()[1:])
        assert plain(nodes) == plain(
            build_small(name, disable_cache=True).run(documents=documents()[1:])
        )
