"""LlamaIndex's retrievers, postprocessors, engines and agents over the nodes of every parser."""

import json

import pytest
from llama_index.core import MockEmbedding, Settings, StorageContext, VectorStoreIndex
from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import (
    LongContextReorder,
    MetadataReplacementPostProcessor,
    SimilarityPostprocessor,
)
from llama_index.core.query_engine import CitationQueryEngine, SubQuestionQueryEngine
from llama_index.core.question_gen import LLMQuestionGenerator
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import AutoMergingRetriever
from llama_index.core.tools import QueryEngineTool
from scripted_llm import ScriptedLLM
from stock_callers import EVERY_KIND, documents, lexical_index, small, text_nodes

from rag_nodes.core import metadata as keys
from rag_nodes.models import get_embedding
from rag_nodes.parsers import PRESETS, leaf_nodes

QUESTION = "How often are both filters rinsed?"


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "_llm", MockLLM())
    monkeypatch.setattr(Settings, "_embed_model", MockEmbedding(embed_dim=4))


@pytest.fixture(scope="module")
def indexes() -> dict[str, VectorStoreIndex]:
    """An index of the leaves for each preset, with all nodes in the docstore."""
    indexes_by_name = {}
    for name in PRESETS:
        nodes = small(name)(documents())
        context = StorageContext.from_defaults()
        context.docstore.add_documents(nodes)
        indexes_by_name[name] = VectorStoreIndex(
            leaf_nodes(nodes), storage_context=context, embed_model=get_embedding("lexical")
        )
    return indexes_by_name


@EVERY_KIND
def test_a_citation_engine_numbers_the_slices_it_answers_from(
    name: str, indexes: dict[str, VectorStoreIndex]
) -> None:
    splitter = small("fixed", chunk_size=30, chunk_overlap=0)
    engine = CitationQueryEngine.from_args(
        indexes[name], llm=MockLLM(), similarity_top_k=3, text_splitter=splitter
    )
    response = engine.query(QUESTION)
    texts = {document.id_: document.text for document in documents()}
    for number, source in enumerate(text_nodes([hit.node for hit in response.source_nodes]), 1):
        heading, _, quoted = source.text.partition("\n")
        assert heading == f"Source {number}:"
        assert quoted.strip() in texts[str(source.ref_doc_id)]
        place = slice(source.metadata[keys.START_CHAR], source.metadata[keys.END_CHAR])
        assert quoted.strip() in texts[str(source.ref_doc_id)][place]
        assert quoted.strip() in str(response)
    assert "Rinse" in str(response)


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")  # core's own agents
@EVERY_KIND
async def test_an_agent_asks_a_query_engine_and_its_sources_are_slices(
    name: str, indexes: dict[str, VectorStoreIndex]
) -> None:
    tool = QueryEngineTool.from_defaults(
        indexes[name].as_query_engine(llm=MockLLM(), similarity_top_k=3),
        name="manual",
        description="The manual of the pump",
    )
    call = f'Thought: look it up\nAction: manual\nAction Input: {{"input": "{QUESTION}"}}'
    llm = ScriptedLLM(lines=[call, "Thought: I can answer\nAnswer: Monthly."])
    result = await ReActAgent(tools=[tool], llm=llm, streaming=False).run(QUESTION)
    assert str(result) == "Monthly."
    assert "Rinse" in llm.prompts[-1]
    (used,) = result.tool_calls
    texts = {document.id_: document.text for document in documents()}
    for node in text_nodes([hit.node for hit in used.tool_output.raw_output.source_nodes]):
        assert texts[str(node.ref_doc_id)][node.start_char_idx : node.end_char_idx] == node.text


@EVERY_KIND
def test_sub_questions_are_answered_from_the_nodes(
    name: str, indexes: dict[str, VectorStoreIndex]
) -> None:
    tool = QueryEngineTool.from_defaults(
        indexes[name].as_query_engine(llm=MockLLM(), similarity_top_k=2),
        name="manual",
        description="The manual of the pump",
    )
    questions = (QUESTION, "Where is the key?")
    items = [{"sub_question": question, "tool_name": "manual"} for question in questions]
    llm = ScriptedLLM(lines=[json.dumps({"items": items}), "Monthly; under the mat."])
    engine = SubQuestionQueryEngine.from_defaults(
        [tool],
        question_gen=LLMQuestionGenerator.from_defaults(llm=llm),
        response_synthesizer=get_response_synthesizer(llm=llm),
        use_async=False,
        verbose=False,
    )
    response = engine.query("How often are filters rinsed, and where is the key?")
    assert str(response) == "Monthly; under the mat."
    assert "Rinse" in llm.prompts[-1]
    assert "The key is" in llm.prompts[-1]
    assert {"manual.md", "notes.txt"} <= {hit.node.ref_doc_id for hit in response.source_nodes}


@EVERY_KIND
def test_stock_postprocessors_leave_what_was_found_whole(
    name: str, indexes: dict[str, VectorStoreIndex]
) -> None:
    hits = indexes[name].as_retriever(similarity_top_k=4).retrieve(QUESTION)
    kept = hits
    for postprocessor in (
        LongContextReorder(),
        SimilarityPostprocessor(similarity_cutoff=0.0),
        MetadataReplacementPostProcessor(target_metadata_key="no such key"),
    ):
        kept = postprocessor.postprocess_nodes(kept, query_str=QUESTION)
    assert {hit.node_id: hit.text for hit in kept} == {hit.node_id: hit.text for hit in hits}


def test_metadata_replacement_puts_the_window_of_a_sentence_in_its_place() -> None:
    parser = small("sentence-window", chunk_size=1, unit="sentences", window=1)
    nodes = parser(documents())
    index = lexical_index(nodes)
    engine = index.as_query_engine(
        similarity_top_k=1,
        llm=MockLLM(),
        node_postprocessors=[MetadataReplacementPostProcessor(target_metadata_key="window")],
    )
    (hit,) = engine.query(QUESTION).source_nodes
    assert hit.node.metadata["original_text"] == "Rinse both filters monthly."
    assert hit.text.endswith("Rinse both filters monthly. A clogged filter halves the flow.")
    assert hit.text in documents()[0].text


def test_auto_merging_reads_the_parent_where_most_children_were_found(
    indexes: dict[str, VectorStoreIndex],
) -> None:
    index = indexes["parent-child"]
    retriever = AutoMergingRetriever(
        index.as_retriever(similarity_top_k=99), index.storage_context, verbose=False
    )
    merged = text_nodes([hit.node for hit in retriever.retrieve(QUESTION)])
    parents = [node for node in index.docstore.docs.values() if node.child_nodes]
    assert {node.node_id for node in merged} == {parent.node_id for parent in parents}
    for node in merged:
        text = next(doc.text for doc in documents() if doc.id_ == node.ref_doc_id)
        assert text[node.start_char_idx : node.end_char_idx] == node.text


@EVERY_KIND
def test_auto_merging_changes_nothing_where_there_are_no_parents(
    name: str, indexes: dict[str, VectorStoreIndex]
) -> None:
    base = indexes[name].as_retriever(similarity_top_k=1)
    merged = AutoMergingRetriever(base, indexes[name].storage_context).retrieve(QUESTION)
    expected = [hit.node_id for hit in base.retrieve(QUESTION)]
    assert name == "parent-child" or [hit.node_id for hit in merged] == expected
