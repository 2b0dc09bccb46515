"""The Python blocks of `docs/guides/qdrant-vector-store.md` on a server; `pytest docs` runs all."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.schema import TextNode
from qdrant_client import QdrantClient

from rag_nodes import get_embedding, get_parser, ingest
from rag_nodes.query import QueryOptions, RagNodesQueryEngine
from rag_nodes.store import Query, Store, open_store

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/guides/qdrant-vector-store.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
QUESTION = "How far may probe cables be extended?"


def run(part: str, names: dict[str, Any]) -> None:
    """Run the block of the page that holds some words, as it stands there."""
    [block] = [block for block in BLOCKS if part in block]
    exec(compile(block, "qdrant-vector-store.md", "exec"), names)  # noqa: S102 -- our own page


@pytest.fixture
def served(server_url: str) -> Iterator[tuple[Store, dict[str, Any]]]:
    """A server with a collection of ours, and what the first block of the page makes."""
    with (
        open_store(server_url) as store,
        closing(QdrantClient(server_url, check_compatibility=False)) as client,
    ):
        manual = ROOT / "examples/corpus/manual.md"
        ingest([manual], {"heading": get_parser("heading")}, store)
        [info] = store.collections()
        yield store, {"client": client, "name": info.name}


def test_the_hybrid_snippet_ranks_by_the_vectors_that_we_stored(
    served: tuple[Store, dict[str, Any]],
) -> None:
    store, names = served
    run("query_vectors,\n)\nembed_model", names)
    vector = get_embedding("lexical").get_query_embedding(QUESTION)
    for mode, score in (("sparse", "keyword_score"), ("default", "similarity")):
        retriever = names["index"].as_retriever(vector_store_query_mode=mode, similarity_top_k=3)
        scores = [node.score for node in retriever.retrieve(QUESTION)]
        ours = Query(vector, QUESTION, 3, "sparse" if mode == "sparse" else "dense")
        hits = store.search(names["name"], ours)
        assert scores == pytest.approx([getattr(hit, score) for hit in hits], rel=1e-4)


def test_keyword_search_finds_nodes_of_a_store_with_the_documented_arguments(
    served: tuple[Store, dict[str, Any]],
) -> None:
    store, names = served
    run("query_vectors,\n)\nembed_model", names)
    text = "The warranty lasts eleven years."
    embedding = get_embedding("lexical").get_text_embedding(text)
    names["hybrid"].add([TextNode(text=text, embedding=embedding)])
    answer = RagNodesQueryEngine(
        store=store, collection=names["name"], embed_model="lexical"
    ).answer("How long does the warranty last?")
    assert text in answer.text
    assert (answer.mode, answer.unsearched) == ("sparse", 0)


def test_a_shared_collection_is_searched_by_us_in_both_vectors(
    served: tuple[Store, dict[str, Any]],
) -> None:
    store, names = served
    run("query_vectors,\n)\nembed_model", names)
    run("Modifier.IDF", names)
    for mode in (None, "hybrid"):
        engine = RagNodesQueryEngine(
            store=store, collection="shared", embed_model="lexical", options=QueryOptions(mode=mode)
        )
        answer = engine.answer(QUESTION)
        assert answer.mode == (mode or "sparse")
        assert "40 metres" in answer.text
        assert answer.hits[0].keyword_score
        assert answer.unsearched == 0
