"""Sentences are read instead of chunks: exact, each once, to the last token of the budget."""

import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from plant import scripted_models

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.models import Models
from rag_nodes.parsers import PRESETS, get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import (
    Answer,
    Filter,
    Hit,
    QueryOptions,
    RagNodesQueryEngine,
    RagNodesRetriever,
)
from rag_nodes.query.locations import slice_of
from rag_nodes.query.postprocessors import SentencePostprocessor
from rag_nodes.query.sentences import Sentences
from rag_nodes.query.similarity import Counted
from rag_nodes.store import Store
from rag_nodes.text.passages import PassageRanker, Read
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import count_tokens

NAMES = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "kilo")
PAGES = [
    f"# Valve {name}\n\nIt stands on deck {number} beside the ladder. Valve {name} opens at "
    f"{number} bar. The crew of the deck looks at it in the morning.\n\n"
    for number, name in enumerate(NAMES, start=1)
]
TEXT = "".join(PAGES)
QUESTION = "At what pressure does valve delta open?"
FOUND = "Valve delta opens at 4 bar."


@pytest.fixture
def valves() -> Document:
    starts = [sum(map(len, PAGES[:number])) for number in range(len(PAGES))]
    facts = {"file_name": "valves.pdf", "page_starts": starts, "total_pages": len(PAGES)}
    return Document(
        text=TEXT,
        id_="valves",
        metadata=facts,
        excluded_embed_metadata_keys=list(facts),
        excluded_llm_metadata_keys=list(facts),
    )


def store_document(
    store: Store, models: Models, document: Document, preset: str, **options: Any
) -> str:
    own = {"embed_model": models.sentence_model} if PRESETS[preset].embeds else {}
    parser = get_parser(preset, **own, **options)
    return ingest_documents([document], {"p": parser}, store, models=models).columns[0].collection


def engine(store: Store, collection: str, models: Models, **options: Any) -> RagNodesQueryEngine:
    return RagNodesQueryEngine(
        store=store, collection=collection, models=models, options=QueryOptions(**options)
    )


def hits_of(store: Store, collection: str, models: Models, **options: Any) -> list[Hit]:
    retriever = engine(store, collection, models, **options).retriever
    return retriever.hits(QUESTION, retriever.question_vector(QUESTION).vector)


def read_text(answer: Answer) -> str:
    return "\n".join(source.text for source in answer.sources)


@pytest.mark.parametrize("preset", list(PRESETS))
def test_every_parser_s_chunks_give_the_sentence_exactly_and_on_its_page(
    preset: str, store: Store, offline: Models, valves: Document
) -> None:
    collection = store_document(store, offline, valves, preset)
    answer = engine(store, collection, offline, budget=60).answer(QUESTION)
    first = answer.citations[0]
    assert (first.quote, first.page) == (FOUND, 4)
    assert first.heading_path == ("Valve delta",)
    assert TEXT[first.start : first.end] == FOUND
    spans = sorted((hit.read.start_char_idx, hit.read.end_char_idx) for hit in answer.hits)
    assert all(TEXT[a:b] == text for a, b, text in _slices(answer.hits))
    assert all(hit[1] <= other[0] for hit, other in pairwise(spans))
    assert [hit.rank for hit in answer.hits] == list(range(1, len(answer.hits) + 1))
    assert 58 <= answer.context_tokens <= 60


def _slices(hits: Sequence[Hit]) -> list[tuple[Any, Any, str]]:
    return [(hit.read.start_char_idx, hit.read.end_char_idx, hit.read.text) for hit in hits]


def test_a_sentence_that_chunks_split_in_two_is_read_and_cited_whole(
    store: Store, offline: Models, valves: Document
) -> None:
    collection = store_document(store, offline, valves, "fixed", chunk_size=42, chunk_overlap=0)
    assert not any(FOUND in node.text for node in _nodes(store, collection))
    answer = engine(store, collection, offline, budget=40).answer(QUESTION)
    assert FOUND in read_text(answer)
    assert answer.citations[0].quote == FOUND


def _nodes(store: Store, collection: str) -> list[TextNode]:
    return list(store.fetch(collection, list(store.stored(collection, "valves"))).values())


@pytest.mark.parametrize("preset", list(PRESETS))
def test_a_page_filter_lets_only_sentences_of_these_pages_be_read(
    preset: str, store: Store, offline: Models, valves: Document
) -> None:
    collection = store_document(store, offline, valves, preset)
    for pages in ((4, 4), (6, 7)):
        options = {"filter": Filter(pages=pages), "budget": 500}
        answer = engine(store, collection, offline, **options).answer(QUESTION)
        start, end = TEXT.index(PAGES[pages[0] - 1]), TEXT.index(PAGES[pages[1]])
        spans = [excerpt.span for source in answer.sources for excerpt in source.excerpts]
        assert all(span and start <= span.start < span.end <= end for span in spans)
        assert (FOUND in read_text(answer)) == (pages == (4, 4))
        assert PAGES[pages[0] - 1].split("\n\n")[1] in " ".join(read_text(answer).split())


@pytest.mark.parametrize("size", [40, 900])
@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (1, "# Pump\n\nIt is red. It stands in the hall and\nis never switched off by hand."),
        (2, "Rinse the filter weekly. Nobody"),
        (3, "Nobody\nhears it at night"),
        (4, "# Notes"),
    ],
)
def test_a_sentence_is_of_the_page_on_which_it_begins(
    page: int, expected: str, size: int, store: Store, offline: Models
) -> None:
    text = (
        "# Pump\n\nIt is red. It stands in the hall and\nis never switched off by hand. "
        "Rinse the filter weekly. Nobody\nhears it at night, because\n# Notes"
    )
    starts = [0, text.index("is never"), text.index("hears"), text.index("# Notes")]
    document = Document(text=text, id_="d", metadata={"page_starts": starts})
    collection = store_document(store, offline, document, "fixed", chunk_size=size, chunk_overlap=0)
    options = {"filter": Filter(pages=(page, page)), "budget": 90, "mode": "hybrid"}
    answer = engine(store, collection, offline, **options).answer("Where is the pump?")
    assert read_text(answer).startswith(expected)


def test_the_read_part_of_a_chunk_has_its_own_location(
    store: Store, offline: Models, valves: Document
) -> None:
    collection = store_document(store, offline, valves, "fixed", chunk_size=900, chunk_overlap=0)
    first = hits_of(store, collection, offline, budget=20)[0]
    about = first.read.metadata
    assert FOUND in first.read.text
    assert (about["page_start"], about["page_end"], about.get("page_breaks")) == (4, 4, None)
    assert (about["heading_path"], about["Heading"]) == (["Valve delta"], "Valve delta")
    assert about["token_count"] == count_tokens(first.read.text)
    assert (about["start_char"], about["end_char"]) == _slices([first])[0][:2]
    assert first.node.metadata["page_start"] == 1
    assert first.found is first.read


def test_chunks_keep_their_order_if_no_sentence_matches(
    store: Store, offline: Models, valves: Document
) -> None:
    collection = store_document(store, offline, valves, "heading", min_chunk_size=0)
    retriever = engine(store, collection, offline, budget=80, mode="hybrid").retriever
    asked = "¿Dónde están los tornillos?"
    ranked = retriever.hits(asked, retriever.question_vector(asked).vector)
    whole = engine(store, collection, offline, budget=None, top_k=3, mode="hybrid").retriever
    usual = whole.hits(asked, whole.question_vector(asked).vector)
    assert [hit.node.node_id for hit in ranked[:2]] == [hit.node.node_id for hit in usual[:2]]
    assert ranked[0].read.text == usual[0].node.text
    assert sum(count_tokens(hit.read.text) for hit in ranked) <= 80


def test_chunks_without_a_place_are_read_by_sentence_too(store: Store, offline: Models) -> None:
    texts = ["The pump is red. It stands in the hall.", f"{FOUND} Nobody waits."]
    nodes = [TextNode(text=text) for text in texts]
    for node in nodes:
        node.embedding = offline.embedding.get_text_embedding(node.text)
    store.add("bare", nodes)
    answer = engine(store, "bare", offline, budget=9).answer(QUESTION)
    [hit] = answer.hits
    assert hit.read.text.startswith(FOUND.removesuffix("."))
    assert hit.read.start_char_idx is None
    assert answer.citations[0].quote in FOUND
    assert answer.citations[0].start is None


def test_a_number_of_chunks_no_budget_or_a_search_by_meaning_alone_gives_chunks(
    store: Store, offline: Models, valves: Document
) -> None:
    collection = store_document(store, offline, valves, "heading")
    ways: list[dict[str, Any]] = [
        {"top_k": 3},
        {"top_k": 3, "budget": None},
        {"budget": None},
        {"mode": "dense"},
        {"granularity": "chunks"},
    ]
    for options in ways:
        ranked = hits_of(store, collection, offline, **options)
        assert ranked
        assert all(hit.surroundings is None for hit in ranked), options
    asked = hits_of(store, collection, offline, top_k=2, budget=40, granularity="sentences")
    assert FOUND in asked[0].read.text
    assert hits_of(store, collection, offline, mode="dense", granularity="sentences")[
        0
    ].surroundings


def test_sentences_without_a_budget_are_refused_in_words() -> None:
    with pytest.raises(ConfigurationError, match="set a budget, or granularity to chunks"):
        QueryOptions(budget=None, granularity="sentences")
    with pytest.raises(ConfigurationError, match="choose sentences or chunks"):
        QueryOptions(granularity="words")  # type: ignore[arg-type]


def test_neighbours_are_read_unless_disabled(store: Store, offline: Models) -> None:
    text = f"The delta valve was bought. It opens at 4 bar. {'Nothing happens here. ' * 60}"
    document = Document(text=text, id_="d", metadata={"file_name": "d.txt"})
    collection = store_document(store, offline, document, "sentence", chunk_size=1, chunk_overlap=0)
    asked: dict[str, Any] = {"budget": 14, "top_k": 1, "granularity": "sentences"}
    beside = "\n".join(hit.read.text for hit in hits_of(store, collection, offline, **asked))
    assert "opens at 4 bar" in beside
    for closed in ({"expand": "none"}, {"similarity_cutoff": -1.0}):
        alone = hits_of(store, collection, offline, **asked, **closed)
        assert len(alone) == 1
        assert alone[0].origin == "search"


def test_a_filter_also_holds_for_what_stands_beside_a_chunk(
    store: Store, offline: Models, valves: Document
) -> None:
    collection = store_document(store, offline, valves, "heading", min_chunk_size=0)
    ranked = hits_of(store, collection, offline, filter=Filter(pages=(4, 4)))
    assert {hit.read.metadata["page_start"] for hit in ranked} == {4}


def test_only_the_documents_that_are_asked_are_read(
    store: Store, offline: Models, valves: Document
) -> None:
    other = Document(text=TEXT.replace("delta", "DELTA"), id_="other")
    parser = get_parser("heading")
    report = ingest_documents([valves, other], {"p": parser}, store, models=offline)
    retriever = RagNodesRetriever(
        store=store,
        collection=report.columns[0].collection,
        models=offline,
        document_ids=["other"],
    )
    assert {hit.node.ref_doc_id for hit in retriever.retrieve(QUESTION)} == {"other"}


def test_a_reranker_chooses_the_chunks_whose_sentences_are_read(
    store: Store, offline: Models, valves: Document
) -> None:
    def only_golf(_: str, candidates: Sequence[Hit]) -> Sequence[Hit]:
        return [hit for hit in candidates if "golf" in hit.node.text]

    collection = store_document(store, offline, valves, "heading", min_chunk_size=0)
    ranked = hits_of(store, collection, offline, rerank=only_golf, expand="none", budget=200)
    assert {hit.read.metadata["page_start"] for hit in ranked} == {7}


def test_a_small_window_of_a_model_leaves_out_the_worst_passages(
    store: Store, valves: Document
) -> None:
    models = scripted_models("At 4 bar [Source 1].")
    collection = store_document(store, models, valves, "heading")
    roomy = engine(store, collection, models).answer(QUESTION)
    tight = engine(store, collection, models, context_window=700).answer(QUESTION)
    assert 0 < tight.context_tokens < roomy.context_tokens
    assert [hit.read.node_id for hit in tight.hits] == [
        hit.read.node_id for hit in roomy.hits[: len(tight.hits)]
    ]
    assert FOUND in tight.citations[0].quote


def test_passages_of_one_chunk_are_cited_each_at_its_own_place(
    store: Store, offline: Models
) -> None:
    filler = "Nobody looks at the other things that are kept in this long and quiet hall. " * 12
    text = f"The pump is red. {filler}The pump is loud. {filler}"
    collection = store_document(
        store, offline, Document(text=text, id_="p"), "fixed", chunk_size=5000
    )
    answer = engine(store, collection, offline, budget=12).answer("The pump?")
    assert len({hit.node.node_id for hit in answer.hits}) == 1
    assert len(answer.hits) > 1
    quotes = {citation.quote for citation in answer.citations}
    assert quotes == {"The pump is red.", "The pump is loud."}
    for citation in answer.citations:
        assert text[citation.start : citation.end] == citation.quote
        hit = answer.hit_of(citation)
        assert hit is not None
        assert citation.quote in hit.read.text


@pytest.mark.parametrize(("turned", "passages"), [(False, 1), (True, 2)])
def test_passages_side_by_side_are_one_unless_the_page_is_turned_between_them(
    turned: bool, passages: int, store: Store, offline: Models
) -> None:
    text = "The red tank holds nine litres.\n\nThe tank is old."
    starts = [0, text.index("The tank is old")] if turned else [0]
    document = Document(text=text, id_="tank", metadata={"page_starts": starts})
    collection = store_document(store, offline, document, "fixed")
    retriever = engine(store, collection, offline, budget=100).retriever
    asked = "How many litres has the red tank?"
    ranked = retriever.hits(asked, retriever.question_vector(asked).vector)
    assert len(ranked) == passages
    assert "\n\n".join(hit.read.text for hit in ranked) == text


def test_a_passage_is_not_split_for_a_worse_one_that_stands_beside_the_best(
    store: Store, offline: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    best, worse, good = "Red tanks hold nine.", "Water is wet and far away.", "Tanks hold litres."
    text = f"{best}\n\n{worse}\n\nNothing.\n\n{good}"

    def rank_halves(_: PassageRanker, __: int) -> list[Read]:
        spans = [Span(text.index(hit), text.index(hit) + len(hit)) for hit in (best, good, worse)]
        return [Read(0, span, 3.0 - rank, span) for rank, span in enumerate(spans)]

    monkeypatch.setattr(PassageRanker, "passages", rank_halves)
    collection = store_document(store, offline, Document(text=text, id_="tank"), "fixed")
    budget = count_tokens(best) + count_tokens(good) + 2
    retriever = engine(store, collection, offline, budget=budget).retriever
    vector = retriever.question_vector("Tanks?").vector
    read = " ".join(hit.read.text for hit in retriever.hits("Tanks?", vector))
    assert best in read
    assert good in read


async def test_the_retriever_gives_the_passages_as_nodes_alike_sync_and_async(
    store: Store, offline: Models, valves: Document
) -> None:
    collection = store_document(store, offline, valves, "recursive")
    retriever = engine(store, collection, offline, budget=60).retriever
    nodes = retriever.retrieve(QUESTION)
    assert [hit.node_id for hit in await retriever.aretrieve(QUESTION)] == [
        node.node_id for node in nodes
    ]
    assert FOUND in nodes[0].get_content()
    assert len({node.node_id for node in nodes}) == len(nodes)
    assert 55 <= sum(count_tokens(node.text) for node in nodes) <= 60
    for node in nodes:
        assert isinstance(node.node, TextNode)
        assert TEXT[node.node.start_char_idx : node.node.end_char_idx] == node.text
        assert node.node.ref_doc_id == "valves"
        assert NodeRelationship.SOURCE in node.node.relationships
        assert node.score is not None
        assert 0 <= node.score <= 1


def test_a_passage_that_goes_on_in_the_next_chunk_behind_blank_space_is_read_without_a_gap(
    store: Store, offline: Models
) -> None:
    text = (
        "Nobody waits in the yard today. The tank holds nine litres.\n\n\n"
        "The tank is red. Nobody comes along either."
    )
    document = Document(text=text, id_="t")
    collection = store_document(store, offline, document, "sentence", chunk_size=2, chunk_overlap=0)
    answer = engine(store, collection, offline, budget=17).answer("How many litres, which tank?")
    assert "The tank holds nine litres.\nThe tank is red" in read_text(answer)
    assert read_text(answer) != text.replace("\n\n\n", "\n")


def test_tiny_chunks_are_searched_in_larger_numbers(store: Store, offline: Models) -> None:
    text = " ".join(f"The tank {number} is red." for number in range(400))
    document = Document(text=text, id_="t")
    collection = store_document(store, offline, document, "sentence", chunk_size=1, chunk_overlap=0)
    answer = engine(store, collection, offline, expand="none").answer("Which tank?")
    assert 1470 <= answer.context_tokens <= 1500


def test_a_slice_across_chunks_that_end_with_the_page_says_where_it_is_turned() -> None:
    text = "The tank is red.\n# Lid\n\nIt is blue.\n"
    turned = text.index("# Lid")
    document = Document(text=text, id_="t", metadata={"page_starts": [0, turned]})
    nodes = get_parser("fixed", chunk_size=turned, chunk_overlap=0)([document])
    first, second, *_ = (node for node in nodes if isinstance(node, TextNode))
    glued = first.model_copy(update={"text": text[:turned], "end_char_idx": turned})
    whole = slice_of([glued, second], Span(4, second.end_char_idx or 0))
    assert whole.text == text[4 : second.end_char_idx]
    about = whole.metadata
    assert (about["page_start"], about["page_end"], about["page_breaks"]) == (1, 2, [turned])
    assert about["headings_inside"] == [[turned, ["Lid"]]]


COSINE = Counted(lambda hit: hit.similarity, lambda _: False)


def hit_of(text: str, document: str, similarity: float | None, rank: int) -> Hit:
    node = TextNode(text=text, start_char_idx=0, end_char_idx=len(text))
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
    origin = "neighbour" if similarity is None else "search"
    return Hit(node=node, rank=rank, score=0.5, similarity=similarity, origin=origin)


def test_the_similarity_of_chunks_counts_only_where_the_embedding_knows_meaning() -> None:
    hits = [
        hit_of("The boat is cheap", "words", 0.1, 1),
        hit_of("The boat is quick", "meaning", 0.7, 2),
        hit_of("The boat is brown", "beside", None, 3),
    ]
    question = "What does a boat cost?"

    def order(counted: Counted | None) -> list[str | None]:
        ranked = Sentences(question, hits, counted).hits(100)
        return [hit.node.ref_doc_id for hit in ranked]

    assert order(None) == ["words", "meaning", "beside"]
    # What was not found is no nearer than the worst that was; the last of all is left out.
    assert order(COSINE) == ["meaning", "words"]


def test_unretrieved_nodes_rank_behind_negative_scores() -> None:
    hits = [
        hit_of("The boat is cheap", "far", -0.7, 1),
        hit_of("The boat is quick", "near", -0.1, 2),
        hit_of("The boat is brown", "beside", None, 3),
    ]
    ranked = Sentences("What does a boat cost?", hits, COSINE).hits(100)
    assert [hit.node.ref_doc_id for hit in ranked] == ["near", "far"]


def placed_hit(start: int, text: str, rank: int) -> Hit:
    node = TextNode(text=text, start_char_idx=start, end_char_idx=start + len(text))
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="valves")
    return Hit(node=node, rank=rank, score=1 / rank)


def test_a_chunk_that_contradicts_another_at_its_place_is_read_whole_and_without_a_place() -> None:
    true = "The pump is red. The valve opens at four bar. The crew looks at it."
    false = "The valve shuts at nine bar."
    hits = [placed_hit(0, true, 1), placed_hit(true.index("The valve"), false, 2)]
    best, other = Sentences("When does the valve shut?", hits).hits(100)
    assert (best.read.text, best.read.start_char_idx, best.read.end_char_idx) == (false, None, None)
    assert (other.read.text, other.read.start_char_idx) == (true, 0)


def test_no_text_is_put_together_of_chunks_that_contradict_each_other() -> None:
    first, second = "The valve opens at four bar. It is", "It was shut on Friday. It is green."
    hits = [placed_hit(0, first, 1), placed_hit(first.index("It is"), second, 2)]
    ranked = Sentences("Is the valve shut?", hits).hits(100)
    assert {hit.read.text for hit in ranked} == {first, second}
    assert [hit.read.start_char_idx for hit in ranked if hit.read.text == first] == [0]
    assert [hit.read.start_char_idx for hit in ranked if hit.read.text == second] == [None]


def test_an_embedding_that_knows_meaning_is_asked_for_it_and_the_lexical_one_is_not(
    store: Store, offline: Models, valves: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    real = Sentences.__init__

    def note_embeddings(
        self: Sentences, question: str, hits: Any, counted: Counted | None, pages: Any
    ) -> None:
        seen.append(counted is not None)
        real(self, question, hits, counted, pages)

    monkeypatch.setattr(Sentences, "__init__", note_embeddings)
    for models in (offline, Models.of(embed_model=MockEmbedding(4), llm="extractive")):
        collection = store_document(store, models, valves, "retrieval")
        RagNodesRetriever(store=store, collection=collection, models=models).retrieve(QUESTION)
    assert seen == [False, True]


HALL = (
    "The pump stands in the hall beside the door. It was painted red in the spring of last year. "
    "Nobody may move it without a permit from the office. A second pump is kept in the cellar. "
) * 3
RINSED = "The filter of the main pump must be rinsed with warm water every four weeks by a keeper."
WRAPPED = textwrap.fill(HALL + RINSED + " " + HALL, 60)
HOW_OFTEN = "How often must the filter of the main pump be rinsed?"
SMALL: dict[str, dict[str, Any]] = {
    "retrieval": {},
    "recursive": {"unit": "tokens", "chunk_overlap": 0},
    "sentence": {"unit": "tokens", "chunk_overlap": 0},
    "semantic": {"min_chunk_size": 8},
    "token-overlap": {"chunk_overlap": 0, "whole_document_below": 0},
    "heading": {"min_chunk_size": 8},
}


@pytest.mark.parametrize("preset", SMALL)
@pytest.mark.parametrize(
    "text",
    [
        " ".join(WRAPPED.split()),
        WRAPPED,
        WRAPPED.replace("\n", " \n"),
        WRAPPED.replace("\n", "\r\n"),
        textwrap.indent(WRAPPED, "  "),
        textwrap.fill("- " + " ".join(WRAPPED.split()), 60, subsequent_indent="  "),
    ],
    ids=["one line", "wrapped", "blanks at line ends", "CRLF", "indented", "list item"],
)
def test_a_sentence_in_chunks_that_white_space_separates_is_read_whole(
    preset: str, text: str
) -> None:
    cut = 0
    for size in range(10, 70, 4):
        parser = get_parser(preset, **{**SMALL[preset], "chunk_size": size})
        nodes = parser([Document(text=text, id_="d")])
        cut += not any(RINSED in " ".join(node.text.split()) for node in nodes)  # type: ignore[attr-defined]
        hits = [NodeWithScore(node=node, score=0.5) for node in nodes]
        best, *_ = SentencePostprocessor(budget=30).postprocess_nodes(hits, query_str=HOW_OFTEN)
        assert isinstance(best.node, TextNode)
        assert RINSED in " ".join(best.node.text.split())
        assert text[best.node.start_char_idx : best.node.end_char_idx] == best.node.text
    assert cut


def test_the_engine_reads_and_cites_a_sentence_in_two_chunks_whole(
    store: Store, offline: Models
) -> None:
    document = Document(text=WRAPPED, id_="d")
    collection = store_document(
        store, offline, document, "recursive", chunk_size=70, chunk_overlap=0
    )
    answer = engine(store, collection, offline, budget=40).answer(HOW_OFTEN)
    assert RINSED in " ".join(read_text(answer).split())
    assert all(
        WRAPPED[hit.read.start_char_idx : hit.read.end_char_idx] == hit.read.text
        for hit in answer.hits
    )


def test_chunks_of_another_splitter_are_joined_at_the_right_offsets() -> None:
    splitter = SentenceSplitter(chunk_size=22, chunk_overlap=0)
    nodes = splitter([Document(text=WRAPPED, id_="d")])
    hits = [NodeWithScore(node=node, score=0.5) for node in nodes]
    best, *_ = SentencePostprocessor(budget=30).postprocess_nodes(hits, query_str=HOW_OFTEN)
    assert isinstance(best.node, TextNode)
    own = WRAPPED[best.node.start_char_idx : best.node.end_char_idx]
    assert " ".join(best.node.text.split()) == " ".join(own.split()) == RINSED


def test_a_blank_line_between_chunks_joins_no_sentences() -> None:
    text = "Filters of the main pump\n\nmust be rinsed every four weeks"
    nodes = get_parser("sentence", chunk_size=1, chunk_overlap=0)([Document(text=text, id_="d")])
    hits = [NodeWithScore(node=node, score=0.5) for node in nodes]
    read_nodes = SentencePostprocessor(budget=30).postprocess_nodes(hits, query_str=HOW_OFTEN)
    assert sorted(text.index(read_node.node.get_content()) for read_node in read_nodes) == [0, 26]
