"""What is no document or node is refused with what was expected, wherever these are given."""

from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.schema import Document, NodeWithScore, TextNode

from rag_nodes import (
    AtomicIngestionPipeline,
    Comparison,
    Dataset,
    EmbeddingGuard,
    FlatMetadata,
    SectionSummary,
    SentencePostprocessor,
    get_parser,
    ingest_documents,
    join_pages,
    leaf_nodes,
    open_store,
    to_chunks,
)
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.evaluation.drafts import draft_questions
from rag_nodes.readers import group_pages

PARSER = get_parser("retrieval")
ENTRIES: dict[str, Callable[[Any], object]] = {
    "parser": PARSER,
    "parser, awaited": PARSER.acall,
    "join_pages": join_pages,
    "group_pages": group_pages,
    "ingest_documents": lambda given: ingest_documents(
        given, {"retrieval": PARSER}, open_store(":memory:")
    ),
    "Comparison": lambda given: Comparison({"retrieval": PARSER}, documents=given),
    "Dataset": lambda given: Dataset("a", given, ()),
    "draft_questions": draft_questions,
    "pipeline": lambda given: AtomicIngestionPipeline(transformations=[PARSER]).run(
        documents=given
    ),
    "Store.add": lambda given: open_store(":memory:").add("a", given),
    "leaf_nodes": leaf_nodes,
    "to_chunks": to_chunks,
    "FlatMetadata": FlatMetadata(),
    "EmbeddingGuard": EmbeddingGuard(),
    "SectionSummary": SectionSummary(),
}


@pytest.mark.parametrize("name", ENTRIES)
async def test_what_is_no_document_is_refused_with_what_to_give(name: str) -> None:
    for given in (["text"], [Document(text="a"), "text"]):
        with pytest.raises(ConfigurationError, match=r"expected, not str; .*Document\(text="):
            await ENTRIES[name](given)  # type: ignore[misc] # most raise before
    scored = NodeWithScore(node=TextNode(text="a"))
    with pytest.raises(ConfigurationError, match="not NodeWithScore; give its node"):
        await ENTRIES[name]([scored])  # type: ignore[misc] # most raise before


def test_a_dataset_keeps_a_single_document_or_those_of_a_generator() -> None:
    document = Document(text="The pump is red.", id_="a")
    assert Dataset("a", document, ()).documents == (document,)  # type: ignore[arg-type]
    assert Dataset("a", (each for each in [document]), ()).texts == {"a": document.text}  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["parser", "join_pages", "group_pages", "ingest_documents"])
@pytest.mark.parametrize("given", ["text", None, 1])
def test_what_is_no_list_either_is_refused_alike(name: str, given: object) -> None:
    with pytest.raises(ConfigurationError, match=f"expected, not {type(given).__name__}; "):
        ENTRIES[name](given)


@pytest.mark.parametrize("given", ["text", TextNode(text="a")])
def test_the_postprocessor_expects_nodes_with_scores(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"nodes with scores .*NodeWithScore\(node=node"):
        SentencePostprocessor().postprocess_nodes([given], query_str="Why?")
