"""What LlamaIndex expects of an integration of node postprocessors."""

from __future__ import annotations

import llama_index.postprocessor.rag_nodes as integration
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, TextNode

import rag_nodes

TEXT = "The pump is red. Rinse the filter weekly. It stands in the hall."


def test_every_class_is_a_postprocessor_of_llama_index() -> None:
    for name in integration.__all__:
        assert issubclass(getattr(integration, name), BaseNodePostprocessor), name


def test_every_postprocessor_of_rag_nodes_is_here_and_the_same_class() -> None:
    postprocessors = {name for name in rag_nodes.__all__ if name.endswith("Postprocessor")}
    assert set(integration.__all__) == postprocessors
    for name in postprocessors:
        assert getattr(integration, name) is getattr(rag_nodes, name)


async def test_the_sentences_that_match_a_query_replace_its_nodes() -> None:
    postprocessor = integration.SentencePostprocessor(budget=7)
    nodes = [NodeWithScore(node=TextNode(text=TEXT, end_char_idx=len(TEXT)), score=0.5)]
    for sentences in (
        postprocessor.postprocess_nodes(nodes, query_str="Which filter?"),
        await postprocessor.apostprocess_nodes(nodes, query_str="Which filter?"),
    ):
        assert [sentence.text for sentence in sentences] == ["Rinse the filter weekly."]
