"""Names of columns before rows that are read without the header of their table."""

from __future__ import annotations

import pytest
from llama_index.core import Document
from llama_index.core.schema import MetadataMode, NodeRelationship, RelatedNodeInfo, TextNode

from rag_nodes import Comparison, QueryOptions
from rag_nodes.core import metadata as keys
from rag_nodes.parsers.nodes import table_facts
from rag_nodes.query.prompts import fill
from rag_nodes.query.reading import one_by_one, pack
from rag_nodes.query.sentences import Sentences
from rag_nodes.store import Hit
from rag_nodes.text.tokens import count_tokens

HEADER = "| **Valve** | Pressure |\n| --- | --- |"
NAMES = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "kilo")
ROWS = [f"| valve {name} | {n} bar |" for n, name in enumerate(NAMES * 6, start=1)]
TEXT = "\n".join(["# Valves", "", "Before.", "", HEADER, *ROWS, "", "Below the table."])
LINE = "Table: Valve | Pressure"
LINE_TOKENS = count_tokens(f"{LINE}\n")


def _hit(rank: int, first: str, last: str, **metadata: object) -> Hit:
    """Return the hit that reads from a row to the end of another."""
    start, end = TEXT.index(first), TEXT.index(last) + len(last)
    facts = table_facts(HEADER) if TEXT.index(ROWS[0]) <= start < TEXT.index("Below") else {}
    node = TextNode(
        text=TEXT[start:end],
        start_char_idx=start,
        end_char_idx=end,
        metadata={**facts, **metadata, keys.TEXT_FORMAT: "markdown"},
    )
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="doc")
    return Hit(node=node, rank=rank, score=1.0 / rank)


def test_rows_without_their_header_are_read_below_the_names_of_their_columns() -> None:
    hit = _hit(1, ROWS[8], ROWS[9])
    packed = pack([hit], None)
    [source] = packed.sources
    [excerpt] = source.excerpts
    assert source.text == f"{LINE}\n{ROWS[8]}\n{ROWS[9]}"
    assert excerpt.text == hit.node.text
    assert excerpt.lead == LINE
    assert packed.tokens == source.tokens == count_tokens(hit.node.text) + LINE_TOKENS
    assert LINE in fill("{context} {question}", packed.sources, "Which?")


@pytest.mark.parametrize("first", [HEADER, "Before.", "Below"])
def test_text_that_begins_outside_a_table_is_read_as_it_is(first: str) -> None:
    hit = _hit(1, first, "Below the table.")
    [source] = pack([hit], None).sources
    assert source.text == hit.node.text


def test_a_source_names_the_columns_once_and_each_source_on_its_own() -> None:
    hits = [
        _hit(1, ROWS[20], ROWS[21], page_start=1),
        _hit(2, ROWS[4], ROWS[5], page_start=1),
        _hit(3, ROWS[30], ROWS[31], page_start=2),
    ]
    packed = pack(hits, None)
    assert [source.text.count(LINE) for source in packed.sources] == [1, 1]
    assert packed.sources[0].text.startswith(LINE)
    words = sum(count_tokens(hit.node.text) for hit in hits)
    assert packed.tokens == words + 2 * LINE_TOKENS


def test_a_part_that_continues_the_text_before_it_needs_no_names() -> None:
    packed = pack([_hit(1, HEADER, ROWS[3]), _hit(2, ROWS[3], ROWS[6])], None)
    [source] = packed.sources
    assert LINE not in source.text
    assert [excerpt.lead for excerpt in source.excerpts] == ["", ""]


@pytest.mark.parametrize("budget", range(8, 120, 7))
def test_the_names_of_columns_count_towards_the_budget(budget: int) -> None:
    hits = [
        _hit(1, ROWS[40], ROWS[43], page_start=2),
        _hit(2, "Before.", ROWS[2], page_start=1),
        _hit(3, ROWS[6], ROWS[20], page_start=1),
    ]
    packed = pack(hits, budget)
    read = sum(
        count_tokens(excerpt.text) + (LINE_TOKENS if excerpt.lead else 0)
        for source in packed.sources
        for excerpt in source.excerpts
    )
    assert packed.tokens == read <= budget


def test_names_on_the_next_page_are_read_and_paid_for_again() -> None:
    turned = TEXT.index(ROWS[12])
    hits = [
        _hit(1, ROWS[8], ROWS[9], page_start=1, page_end=1),
        _hit(2, ROWS[11], ROWS[14], page_start=1, page_end=2, page_breaks=[turned]),
    ]
    first, *others = pack(hits, None).sources
    assert first.text.count(LINE) == 1
    assert all(other.text.count(LINE) <= 1 for other in others)


def test_whole_hits_of_other_engines_are_read_below_the_names_too() -> None:
    [source] = one_by_one([_hit(1, ROWS[8], ROWS[9])])
    assert source.text.startswith(f"{LINE}\n{ROWS[8]}")


def test_sentences_out_of_a_table_have_its_header() -> None:
    chunk = _hit(1, "Before.", "Below the table.")
    hits = Sentences("Which pressure has valve golf?", [chunk]).hits(60)
    inside = [hit for hit in hits if hit.read.get_content().startswith("| valve")]
    assert inside
    for hit in inside:
        assert hit.read.metadata[keys.TABLE_HEADER] == HEADER
        assert hit.read.metadata[keys.TABLE] == "Valve | Pressure"
        read_by_llm = hit.read.get_content(MetadataMode.LLM)
        assert LINE in read_by_llm
        assert keys.TABLE_HEADER not in read_by_llm
    assert pack(hits, 60).tokens <= 60


def test_words_of_the_header_count_for_the_rows_that_lost_it() -> None:
    colours = table_facts("| Valve | Colour |\n| --- | --- |")
    end = len(ROWS[6])
    other = TextNode(text=ROWS[6], start_char_idx=0, end_char_idx=end, metadata={**colours})
    other.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="other")
    hits = [Hit(node=other, rank=1, score=1.0), _hit(2, ROWS[6], ROWS[6])]
    best = Sentences("Pressure of valve golf?", hits).hits(60)[0]
    assert best.read.ref_doc_id == "doc"


@pytest.mark.parametrize("granularity", ["sentences", "chunks"])
def test_a_question_is_answered_with_the_names_and_exact_spans(granularity: str) -> None:
    document = Document(text=TEXT, id_="valves", metadata={keys.TEXT_FORMAT: "markdown"})
    options = QueryOptions(budget=90, mode="sparse", granularity=granularity)
    with Comparison({"a": "retrieval"}, documents=document, options=options) as comparison:
        answer = comparison.ask("What is the pressure of valve hotel?").columns[0].answer
    assert any(LINE in source.text for source in answer.sources)
    for source in answer.sources:
        for excerpt in source.excerpts:
            assert excerpt.span is not None
            assert excerpt.span.of(TEXT) == excerpt.text
    assert answer.context_tokens <= 90
