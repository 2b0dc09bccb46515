"""Nodes of other packages may have keys of ours with values of theirs: nothing fails on them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from rag_nodes import (
    EmbeddingGuard,
    RagNodesQueryEngine,
    SentencePostprocessor,
    get_embedding,
    get_parser,
)
from rag_nodes.core import metadata as keys
from rag_nodes.core.foreign_metadata import usable

TEXT = """# Tea

Tea is green and hot.

| Name | Size |
|---|---|
| pot | 5 |
| cup | 2 |

The pot is made of steel. Cups are small.
"""
QUESTION = "What is the pot made of?"
NAMES = sorted({*keys.BOOKKEEPING, keys.BREADCRUMB, keys.TABLE, keys.FILE_PATH, keys.PAGE_LABEL})
numbers = st.sampled_from([-1, 0, 5, 10**20, 1.5, float("inf")])
plain = st.none() | st.booleans() | numbers | st.sampled_from(["", "x", "7", "1,2", "A > B"])
values = st.recursive(
    plain,
    lambda item: st.lists(item, max_size=3) | st.dictionaries(st.just("a"), item),
    max_leaves=5,
)
metadata = st.dictionaries(st.sampled_from(NAMES), values, min_size=1, max_size=4)
EMBEDDING = get_embedding("lexical")


@given(metadata)
def test_foreign_values_under_our_keys_break_nothing(given: dict[str, Any]) -> None:
    node = TextNode(text=TEXT, metadata=given)
    scored = [NodeWithScore(node=node, score=0.5)]
    assert SentencePostprocessor().postprocess_nodes(scored, QueryBundle(QUESTION))
    EmbeddingGuard(max_tokens=64)([TextNode(text=TEXT * 5, metadata=given)])
    for name in ("page", "retrieval", "parent-child"):
        assert get_parser(name)([Document(text=TEXT, metadata=given)])
    index = VectorStoreIndex([node], embed_model=EMBEDDING)
    answer = RagNodesQueryEngine.from_index(index).answer(QUESTION)
    assert "steel" in answer.text
    assert answer.as_dict()["citations"]


def test_readable_metadata_are_kept_and_others_left_alone() -> None:
    own = {"dept": ["hr"], "page": {"a": 1}, keys.TITLE: 5}
    theirs = {keys.HEADING_PATH: "A > B", keys.PAGE_START: "12", keys.PAGE_END: "iv"}
    node = TextNode(text="t", metadata={**own, **theirs})
    understood = usable(node).metadata
    assert understood == {**own, keys.PAGE_START: 12}
    assert node.metadata == {**own, **theirs}
    [parsed] = get_parser("heading")([Document(text=TEXT)])
    assert usable(parsed) is parsed
