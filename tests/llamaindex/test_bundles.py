"""A question that LlamaIndex's components hand on as a text, a bundle, or a bundle in a bundle."""

from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core.schema import Document, NodeWithScore, QueryBundle, TextNode

from rag_nodes import (
    RagNodesQueryEngine,
    RagNodesRetriever,
    SentencePostprocessor,
    get_parser,
    ingest_documents,
    open_store,
)
from rag_nodes.query.responses import innermost

TEXT = "The pump is red. Rinse the filter weekly. It stands in the hall."
QUESTION = "Which filter?"
ANSWER = "Rinse the filter weekly."
FORMS: dict[str, Any] = {
    "text": QUESTION,
    "bundle": QueryBundle(QUESTION),
    "bundle in a bundle": QueryBundle(QueryBundle(QUESTION)),  # type: ignore[arg-type]
}
SENTENCES = SentencePostprocessor(budget=7)


@pytest.mark.parametrize("form", FORMS)
async def test_a_postprocessor_takes_a_question_in_any_form(form: str) -> None:
    nodes = [NodeWithScore(node=TextNode(text=TEXT), score=0.5)]
    assert [hit.text for hit in SENTENCES.postprocess_nodes(nodes, FORMS[form])] == [ANSWER]
    awaited = await SENTENCES.apostprocess_nodes(nodes, FORMS[form])
    assert [node.text for node in awaited] == [ANSWER]


@pytest.fixture
def stored() -> Iterator[dict[str, Any]]:
    with open_store() as store:
        ingest_documents([Document(text=TEXT)], {"retrieval": get_parser("retrieval")}, store)
        [collection] = store.engine.names()
        yield {"store": store, "collection": collection}


@pytest.mark.parametrize("form", FORMS)
async def test_retriever_and_engine_take_a_question_in_any_form(
    stored: dict[str, Any], form: str
) -> None:
    asked = FORMS[form]
    retriever, engine = RagNodesRetriever(**stored), RagNodesQueryEngine(**stored)
    streaming = RagNodesQueryEngine(**stored, streaming=True)
    whole = engine.query(QUESTION).response
    assert ANSWER in whole
    for hits in (
        retriever.retrieve(asked),
        await retriever.aretrieve(asked),
        engine.retrieve(asked),
    ):
        assert [node.text for node in hits] == [TEXT]
    assert engine.query(asked).response == (await engine.aquery(asked)).response == whole
    assert "".join(streaming.query(asked).response_gen) == whole
    awaited = await streaming.aquery(asked)
    assert "".join([piece async for piece in awaited.response_gen]) == whole


def test_the_embedding_of_an_outer_bundle_is_kept() -> None:
    inner = QueryBundle(QUESTION, custom_embedding_strs=["filter"])
    outer = QueryBundle(inner, embedding=[1.0])  # type: ignore[arg-type] # as components do
    assert innermost(outer) == QueryBundle(QUESTION, None, ["filter"], [1.0])
