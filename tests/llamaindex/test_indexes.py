"""The parsers behind LlamaIndex's indexes: made, changed, stored, loaded, and by its Settings."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core import Settings, StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.postprocessor import PrevNextNodePostprocessor
from llama_index.core.schema import NodeWithScore
from llama_index.vector_stores.qdrant import QdrantVectorStore
from memory_clients import memory_client
from stock_callers import EMBEDDING, EVERY_KIND, documents, plain, small

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.parsers import SemanticNodeParser, get_parser, leaf_nodes


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("_node_parser", "_transformations", "_llm"):
        monkeypatch.setattr(Settings, name, None)
    monkeypatch.setattr(Settings, "_embed_model", EMBEDDING)
    return


def held(index: VectorStoreIndex) -> list[dict[str, object]]:
    """The nodes of an index, as plain data in the order of their ids."""
    return plain([node for _, node in sorted(index.docstore.docs.items())])


def cut(name: str) -> list[dict[str, object]]:
    return plain(sorted(small(name)(documents()), key=lambda node: node.node_id))


@EVERY_KIND
def test_an_index_made_of_documents_holds_the_nodes_of_the_parser(name: str) -> None:
    index = VectorStoreIndex.from_documents(documents(), transformations=[small(name)])
    assert held(index) == cut(name)


@EVERY_KIND
def test_an_index_on_qdrant_finds_nodes_as_they_were_split(name: str) -> None:
    store = QdrantVectorStore(name, client=memory_client(), index_doc_id=False)
    context = StorageContext.from_defaults(vector_store=store)
    VectorStoreIndex.from_documents(
        documents(), storage_context=context, transformations=[small(name)]
    )
    retriever = VectorStoreIndex.from_vector_store(store).as_retriever(similarity_top_k=99)
    hits = [hit.node for hit in retriever.retrieve("pump")]
    assert plain(sorted(hits, key=lambda node: node.node_id)) == cut(name)


@EVERY_KIND
def test_documents_are_inserted_refreshed_and_deleted_by_their_id(name: str) -> None:
    manual, notes = documents()
    index = VectorStoreIndex.from_documents([manual], transformations=[small(name)])
    index.insert(notes)
    assert held(index) == cut(name)
    changed = manual.model_copy()
    changed.set_content(manual.text.replace("monthly", "every week"))
    assert index.refresh_ref_docs([changed, notes]) == [True, False]
    index.delete_ref_doc("notes.txt", delete_from_docstore=True)
    expected = sorted(small(name)([changed]), key=lambda node: node.node_id)
    assert held(index) == plain(expected)


@EVERY_KIND
def test_an_index_that_was_stored_is_loaded_with_the_same_nodes(name: str, tmp_path: Path) -> None:
    index = VectorStoreIndex.from_documents(documents(), transformations=[small(name)])
    index.storage_context.persist(str(tmp_path))
    loaded = load_index_from_storage(StorageContext.from_defaults(persist_dir=str(tmp_path)))
    assert isinstance(loaded, VectorStoreIndex)
    assert held(loaded) == cut(name)
    question = "When does the pump start?"
    hits, before = (i.as_retriever(similarity_top_k=3).retrieve(question) for i in (loaded, index))
    assert [hit.node_id for hit in hits] == [hit.node_id for hit in before]


@EVERY_KIND
def test_the_stock_postprocessor_reads_on_before_and_behind_what_was_found(name: str) -> None:
    nodes = small(name)(documents())
    context = StorageContext.from_defaults()
    context.docstore.add_documents(nodes)
    leaves = [leaf for leaf in leaf_nodes(nodes) if leaf.ref_doc_id == "manual.md"]
    middle = len(leaves) // 2
    postprocessor = PrevNextNodePostprocessor(docstore=context.docstore, num_nodes=1, mode="both")
    hits = postprocessor.postprocess_nodes([NodeWithScore(node=leaves[middle], score=1.0)])
    expected = leaves[middle - 1 : middle + 2]
    assert [hit.node_id for hit in hits] == [leaf.node_id for leaf in expected]


@EVERY_KIND
def test_settings_take_a_parser_as_node_parser_or_among_transformations(name: str) -> None:
    Settings.node_parser = small(name)
    assert held(VectorStoreIndex.from_documents(documents())) == cut(name)
    Settings.transformations = [small("fixed")]
    assert held(VectorStoreIndex.from_documents(documents())) == cut("fixed")


@pytest.mark.parametrize(
    ("name", "option", "size", "unit"),
    [
        ("token-overlap", "chunk_size", 600, "tokens"),
        ("token-overlap", "chunk_overlap", 60, "tokens"),
        ("fixed", "chunk_size", 600, "characters"),
        ("sentence", "chunk_size", 6, "sentences"),
    ],
)
def test_a_size_in_the_settings_that_a_parser_cannot_take_over_says_what_to_write(
    name: str, option: str, size: int, unit: str
) -> None:
    Settings.node_parser = parser = get_parser(name)
    before = parser.to_dict()
    with pytest.raises(ConfigurationError) as refused:
        setattr(Settings, option, size)
    remedy = f"parser.model_copy(update={{'{option}': {size}}})"
    for words in (f"{option} (in {unit}) stays {before[option]}", remedy, "Settings.node_parser"):
        assert words in str(refused.value)
    assert parser.to_dict() == before
    Settings.node_parser = parser.model_copy(update={option: size})
    assert getattr(Settings, option) == size


def test_a_model_that_a_parser_cannot_take_over_is_not_printed_with_its_key() -> None:
    class Keyed(MockEmbedding):
        api_key: str = "sk-canary"

    parser = SemanticNodeParser(embed_model=Keyed(embed_dim=4))
    with pytest.raises(ConfigurationError, match="stays <Keyed>") as refused:
        parser.embed_model = Keyed(embed_dim=5)
    assert "canary" not in str(refused.value)


def test_a_size_in_the_settings_that_no_option_of_the_parser_is_gets_llama_index_s_answer() -> None:
    Settings.node_parser = small("parent-child")
    with pytest.raises(ValueError, match="does not have chunk size"):
        Settings.chunk_size = 40


def test_sizes_of_the_settings_read_those_of_the_parser() -> None:
    Settings.node_parser = get_parser("token-overlap", chunk_size=300, chunk_overlap=30)
    assert (Settings.chunk_size, Settings.chunk_overlap) == (300, 30)
