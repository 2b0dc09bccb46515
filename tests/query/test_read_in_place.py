"""What is found by sentence or child is read with what stands around it, everywhere (Q1)."""

from itertools import pairwise
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.schema import TextNode
from plant import scripted_models

from rag_nodes.core.metadata import END_CHAR, PAGE_END, PAGE_START, START_CHAR, WINDOW, WINDOW_PLACE
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import Answer, QueryOptions, RagNodesQueryEngine, RagNodesRetriever
from rag_nodes.query.expansion import expanded, window_of
from rag_nodes.query.responses import replaced
from rag_nodes.store import Hit, Store

NAMES = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "kilo")
SENTENCES = [
    f"Valve {name} opens at {number} bar and is checked by the crew of deck {number}."
    for number, name in enumerate(NAMES, start=1)
]
PAGES = ["# Valves\n\n" + " ".join(SENTENCES[:6]) + "\n\n", "# More\n\n" + " ".join(SENTENCES[6:])]
TEXT = "".join(PAGES)
QUESTION = "At what pressure does valve delta open?"
FOUND = SENTENCES[3]


@pytest.fixture
def valves() -> Document:
    facts = {"file_name": "valves.pdf", "page_starts": [0, len(PAGES[0])], "total_pages": 2}
    return Document(
        text=TEXT,
        id_="valves",
        metadata=facts,
        excluded_embed_metadata_keys=list(facts),
        excluded_llm_metadata_keys=list(facts),
    )


PRESETS: dict[str, dict[str, Any]] = {
    "sentence-window": {},
    "parent-child": {
        "parent_options": {"chunk_size": 300, "min_chunk_size": 0},
        "child_options": {"chunk_size": 30, "chunk_overlap": 0, "whole_document_below": 0},
    },
}


@pytest.fixture(params=list(PRESETS))
def collection(
    request: pytest.FixtureRequest, store: Store, offline: Models, valves: Document
) -> str:
    parser = get_parser(request.param, **PRESETS[request.param])
    report = ingest_documents([valves], {"p": parser}, store, models=offline)
    return report.columns[0].collection


def ask(store: Store, collection: str, models: Models, **options: Any) -> Answer:
    engine = RagNodesQueryEngine(
        store=store, collection=collection, models=models, options=QueryOptions(**options)
    )
    return engine.answer(QUESTION)


def test_a_sentence_or_child_is_found_and_what_stands_around_it_is_read(
    store: Store, collection: str, offline: Models
) -> None:
    answer = ask(store, collection, offline, top_k=1, budget=None)
    [hit] = answer.hits
    assert hit.node.text.strip() == FOUND
    assert SENTENCES[2] in answer.sources[0].text
    assert SENTENCES[4] in answer.sources[0].text
    read = hit.as_dict()["read"]
    assert TEXT[read["start"] : read["end"]] == read["text"] == hit.read.text
    assert answer.context_tokens > 60


def test_the_expansion_can_be_turned_off(store: Store, collection: str, offline: Models) -> None:
    answer = ask(store, collection, offline, top_k=1, budget=None, expand="none")
    assert answer.sources[0].text.strip() == FOUND
    assert answer.hits[0].as_dict()["read"] is None


def test_the_prompt_holds_every_text_once(store: Store, collection: str) -> None:
    models = scripted_models("Delta opens at 4 bar [Source 1].")
    ask(store, collection, models, top_k=9, budget=None)
    [prompt] = models.llm.prompts
    counts = [prompt.count(sentence) for sentence in SENTENCES]
    assert max(counts) == 1
    assert counts[3] == 1


def test_a_citation_points_to_what_was_found_inside_what_was_read(
    store: Store, collection: str
) -> None:
    answer = ask(store, collection, scripted_models("4 bar [Source 1]."), budget=400)
    [citation] = answer.citations
    assert citation.quote.strip() == FOUND
    assert TEXT[citation.start : citation.end] == citation.quote
    assert citation.node_id == answer.hits[0].node.node_id
    assert (citation.page, citation.heading_path) == (1, ("Valves",))


def test_a_quoted_sentence_is_cited_at_its_own_place_with_its_own_page(
    store: Store, collection: str, offline: Models
) -> None:
    engine = RagNodesQueryEngine(store=store, collection=collection, models=offline)
    for number, name in ((4, "delta"), (7, "golf")):
        answer = engine.answer(f"At what pressure does valve {name} open?")
        citation = answer.citations[0]
        assert citation.quote.strip() == SENTENCES[number - 1]
        assert TEXT[citation.start : citation.end] == citation.quote
        assert citation.page == (1 if number < 7 else 2)
        assert citation.node_id in {hit.node.node_id for hit in answer.hits}


@pytest.mark.parametrize("budget", [25, 50, 90, 150])
def test_a_hit_is_read_without_context_that_does_not_fit(
    store: Store, collection: str, offline: Models, budget: int
) -> None:
    answer = ask(store, collection, offline, budget=budget)
    assert FOUND in answer.sources[0].text
    assert answer.context_tokens <= budget


def test_excerpts_are_exact_slices_of_the_document_and_share_nothing(
    store: Store, collection: str, offline: Models
) -> None:
    answer = ask(store, collection, offline, budget=300)
    spans = sorted(
        excerpt.span for source in answer.sources for excerpt in source.excerpts if excerpt.span
    )
    assert [TEXT[a:b] for a, b in spans] == [
        node.text
        for node in sorted(
            (excerpt for source in answer.sources for excerpt in source.excerpts),
            key=lambda item: item.span or (0, 0),
        )
    ]
    assert all(left.end <= right.start for left, right in pairwise(spans))


async def test_the_retriever_gives_llama_index_what_is_to_be_read_each_text_once(
    store: Store, collection: str, offline: Models
) -> None:
    retriever = RagNodesRetriever(
        store=store, collection=collection, models=offline, options=QueryOptions(top_k=4)
    )
    hits = retriever.retrieve(QUESTION)
    joined = "\n".join(hit.node.get_content() for hit in hits)
    assert all(joined.count(sentence) <= 1 for sentence in SENTENCES)
    assert SENTENCES[4] in hits[0].node.get_content()
    for hit in hits:
        assert isinstance(hit.node, TextNode)
        assert TEXT[hit.node.start_char_idx : hit.node.end_char_idx] == hit.node.text
    later = await retriever.aretrieve(QUESTION)
    assert [hit.node.text for hit in later] == [hit.node.text for hit in hits]


def test_a_window_that_does_not_stand_where_it_says_is_read_without_a_place() -> None:
    own, window = SENTENCES[3], " ".join(SENTENCES[2:5])
    at = TEXT.index(own)
    for start, believed in ((TEXT.index(window), True), (at, False)):
        node = TextNode(text=own, start_char_idx=at, end_char_idx=at + len(own))
        node.metadata = {WINDOW: window, WINDOW_PLACE: {START_CHAR: start}}
        read = window_of(node)
        assert read is not None
        assert read.text == window
        assert read.start_char_idx == (start if believed else None)


def test_joined_windows_end_on_the_page_of_the_last_one(valves: Document) -> None:
    nodes = get_parser("sentence-window")([valves])
    chosen = [
        node for node in nodes if any(name in node.get_content() for name in ("charlie", "hotel"))
    ]
    hits = [Hit(node=node, rank=rank, score=1.0) for rank, node in enumerate(chosen, start=1)]
    [read] = replaced(expanded(hits, lambda _: {}, "auto", limit=len(hits)))
    assert (read.node.metadata[PAGE_START], read.node.metadata[PAGE_END]) == (1, 2)
    assert read.node.metadata[END_CHAR] > len(PAGES[0])
