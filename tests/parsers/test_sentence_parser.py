"""SentenceNodeParser: whole sentences by count (S3-04) or size (S4-08), and windows (S2-24)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import Document
from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from llama_index.core.schema import MetadataMode, NodeWithScore
from parser_laws import (
    assert_clusters_are_whole,
    assert_neighbours_share,
    assert_slices_in_order_that_cover,
    parse,
)
from strategies import TEXTS

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.metadata import ORIGINAL_TEXT, WINDOW, WINDOW_PLACE
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.sentence import SentenceNodeParser
from rag_nodes.parsers.source import SourceText
from rag_nodes.text.sentences import sentence_spans
from rag_nodes.text.tokens import count_tokens

SENTENCES = [f"Sentence number {n} is here." for n in range(40)]
PROSE = " ".join(SENTENCES)


def test_s3_04_ten_sentences_to_a_node_and_two_shared() -> None:
    nodes = parse(SentenceNodeParser(), PROSE)
    assert [node.text for node in nodes] == [
        " ".join(SENTENCES[first : first + 10]) for first in (0, 8, 16, 24)
    ] + [" ".join(SENTENCES[32:])]


def test_s3_04_abbreviations_do_not_end_a_sentence() -> None:
    text = "Dr. Smith met Mr. Jones at 3.14 p.m. They left."
    chunks = SentenceNodeParser(chunk_size=1, chunk_overlap=0).split_text(text)
    assert chunks[-1] == "They left."
    assert chunks[0].startswith("Dr. Smith met Mr. Jones")


def test_s4_08_as_many_whole_sentences_as_fit_500_characters() -> None:
    parser = SentenceNodeParser(unit="characters", chunk_size=500, chunk_overlap=0)
    nodes = parse(parser, PROSE)
    assert [node.text.count(".") for node in nodes] == [18, 17, 5]
    assert all(len(node.text) <= 500 for node in nodes)
    assert len(nodes[0].text) + len(SENTENCES[18]) + 1 > 500
    assert " ".join(node.text for node in nodes) == PROSE


def test_sizes_can_be_counted_in_tokens_with_whole_sentences_shared() -> None:
    parser = SentenceNodeParser(unit="tokens", chunk_size=30, chunk_overlap=8)
    nodes = parse(parser, PROSE)
    assert all(count_tokens(node.text) <= 30 for node in nodes)
    assert all(node.text.startswith("Sentence") and node.text.endswith(".") for node in nodes)
    assert all(right.text[:20] in left.text for left, right in pairwise(nodes))


def test_headings_list_items_and_table_rows_count_as_one_sentence_each() -> None:
    text = "# Title\n\n- one\n- two\n\n| a | b |\n|---|---|\n| c | d |\n\nA sentence. Another."
    assert SentenceNodeParser(chunk_size=1, chunk_overlap=0).split_text(text) == [
        "# Title",
        "- one",
        "- two",
        "| a | b |",
        "|---|---|",
        "| c | d |",
        "A sentence.",
        "Another.",
    ]


def test_however_many_sentences_that_leaves_the_bound_on_tokens_holds() -> None:
    parser = SentenceNodeParser(max_tokens=20)
    nodes = parse(parser, PROSE)
    assert max(count_tokens(node.text) for node in nodes) <= 20
    assert {node.text.count(".") for node in nodes[:-1]} <= {2, 3}


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": 12},
        {"unit": "tokens", "chunk_size": 12},
        {"unit": "characters", "chunk_size": 40},
    ],
)
def test_a_sentence_over_the_size_is_split_between_words(options: dict[str, object]) -> None:
    text = "Short one. " + "word " * 60 + "end. Short two."
    nodes = parse(SentenceNodeParser(**{"chunk_overlap": 0, **options}), text)
    assert len(nodes) > 4
    assert {word for node in nodes for word in node.text.split()} == set(text.split())
    assert " ".join(node.text for node in nodes) == text


def test_a_word_over_the_size_is_split_between_clusters() -> None:
    family = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"
    parser = SentenceNodeParser(unit="characters", chunk_size=12, chunk_overlap=0)
    assert parser.split_text(family * 5) == [family * 2, family * 2, family]


def test_s2_24_the_window_holds_the_sentences_around_under_llama_index_s_keys() -> None:
    nodes = parse(SentenceNodeParser(chunk_size=1, chunk_overlap=0, window=3), PROSE)
    assert len(nodes) == 40
    for index, node in enumerate(nodes):
        assert node.metadata[ORIGINAL_TEXT] == node.text == SENTENCES[index]
        assert node.metadata[WINDOW] == " ".join(SENTENCES[max(0, index - 3) : index + 4])


def test_s2_24_keys_and_exclusions_are_those_of_llama_index_s_own_parser() -> None:
    from llama_index.core.node_parser import SentenceWindowNodeParser
    from llama_index.core.schema import Document

    stock = SentenceWindowNodeParser.from_defaults(
        sentence_splitter=lambda text: [span.of(text) for span in sentence_spans(text)]
    )
    theirs = stock.get_nodes_from_documents([Document(text=PROSE)])
    ours = parse(SentenceNodeParser(chunk_size=1, chunk_overlap=0, window=3), PROSE)
    added = {WINDOW, ORIGINAL_TEXT}
    for own, stock_node in zip(ours, theirs, strict=True):
        assert {key: own.metadata[key] for key in added} == stock_node.metadata
        assert set(stock_node.excluded_embed_metadata_keys) == added
        assert added <= set(own.excluded_embed_metadata_keys)
        assert added <= set(own.excluded_llm_metadata_keys)


@pytest.mark.parametrize("mode", [MetadataMode.EMBED, MetadataMode.LLM])
def test_s2_24_neither_the_embedding_model_nor_the_llm_sees_the_window(mode: MetadataMode) -> None:
    for node in parse(SentenceNodeParser(chunk_size=1, chunk_overlap=0, window=2), PROSE):
        assert node.get_content(metadata_mode=mode) == node.text


def test_s2_24_a_stock_post_processor_puts_the_window_in_the_place_of_the_text() -> None:
    nodes = parse(SentenceNodeParser(chunk_size=1, chunk_overlap=0, window=1), PROSE)
    hits = MetadataReplacementPostProcessor(target_metadata_key=WINDOW).postprocess_nodes(
        [NodeWithScore(node=nodes[5], score=1.0)]
    )
    assert hits[0].node.get_content() == " ".join(SENTENCES[4:7])
    assert hits[0].node.metadata[ORIGINAL_TEXT] == SENTENCES[5]


def test_without_a_window_nodes_carry_neither_key() -> None:
    for node in parse(SentenceNodeParser(), PROSE):
        assert not {WINDOW, ORIGINAL_TEXT} & node.metadata.keys()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunk_size": 2, "chunk_overlap": 2}, "must be smaller than chunk_size"),
        ({"unit": "words"}, "'sentences', 'characters' or 'tokens'"),
        ({"unit": "tokens", "chunk_size": 4}, "at least 8 tokens"),
        ({"max_tokens": 4}, "must be at least 8"),
        ({"window": -1}, "must be at least 0"),
        ({"window_size": 3}, "unknown option 'window_size'"),
        ({"language": "german"}, "not an ISO 639 code such as 'en' or 'de'; 'auto' guesses"),
        ({"language": "DE"}, "not an ISO 639 code"),
    ],
)
def test_a_bad_option_is_refused_with_the_remedy(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        SentenceNodeParser(**options)


def test_a_node_goes_beyond_the_one_before_also_where_an_estimate_falls_short() -> None:
    text = (
        "the.\n\nthe. https://a.b/c?d=e#f C++. \u043f\u0435\u0440\u0435\u0432\u043e\u0434 "
        "x=y U.S..\n\ndon't. x=y. brown caf\xe9 quick. _snake_case_.\n\ne.g. e.g. \U0001f469\u200d"
        "\U0001f469\u200d\U0001f467\u200d\U0001f466. C++ e\u0323\u0301 the \U0001f1e9\U0001f1ea."
    )
    parser = SentenceNodeParser(unit="tokens", chunk_size=9, chunk_overlap=5)
    assert_slices_in_order_that_cover(text, parse(parser, text))


@given(text=TEXTS)
def test_the_laws_hold_where_a_size_in_characters_shares_some(text: str) -> None:
    parser = SentenceNodeParser(unit="characters", chunk_size=30, chunk_overlap=11)
    nodes = parse(parser, text)
    assert_slices_in_order_that_cover(text, nodes)
    assert_clusters_are_whole(text, nodes, len, 30)
    assert_neighbours_share(text, nodes, len, 11)
    assert all(len(node.text) <= 30 for node in nodes)


@given(text=TEXTS, size=st.integers(1, 4), data=st.data())
def test_the_laws_hold_for_any_text_and_count(text: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    window = data.draw(st.integers(0, 2))
    parser = SentenceNodeParser(
        chunk_size=size, chunk_overlap=overlap, max_tokens=20, window=window
    )
    nodes = parse(parser, text)
    assert_slices_in_order_that_cover(text, nodes)
    assert_clusters_are_whole(text, nodes, count_tokens, 20)
    assert all(count_tokens(node.text) <= 20 for node in nodes)
    for node in nodes:
        assert node.text in node.metadata.get(WINDOW, node.text)
        assert node.metadata.get(WINDOW, "") in text

    starts = sentence_starts(text)
    for node in nodes:
        inside = [s for s in starts if node.start_char_idx <= s < node.end_char_idx]
        assert len(inside) <= size
    for left, right in pairwise(nodes):
        shared = [s for s in starts if right.start_char_idx <= s < left.end_char_idx]
        assert len(shared) <= overlap


def sentence_starts(text: str) -> list[int]:
    """Where the sentences of a text start, long ones not cut."""
    packer = SourceText(text, title="", encoding="cl100k_base", language="auto").packer
    return [unit.start for block in packer.blocks for unit in packer.units_of(block)]


def test_pages_and_headings_are_known_of_every_node() -> None:
    text = "# Top\n\nOne. Two.\n\n## Below\n\nThree. Four."
    parser = SentenceNodeParser(chunk_size=1, chunk_overlap=0)
    nodes = parse(parser, text, page_starts=[0, text.index("##")])
    assert nodes[-1].metadata[keys.HEADING_PATH] == ["Top", "Below"]
    assert [node.metadata[keys.PAGE_START] for node in nodes] == [1, 1, 1, 2, 2, 2]


def test_a_numbered_heading_is_one_sentence() -> None:
    parser = SentenceNodeParser(chunk_size=1, chunk_overlap=0)
    text = "## 2. Installation\n\nChoose a place. Mount it."
    assert parser.split_text(text) == ["## 2. Installation", "Choose a place.", "Mount it."]


PAGES = ["# One\n\n" + " ".join(SENTENCES[:5]) + "\n\n", "# Two\n\n" + " ".join(SENTENCES[5:])]


@pytest.mark.parametrize("before", [None, "page", "heading"])
def test_s2_24_a_window_is_a_slice_of_the_document_that_knows_its_pages_and_headings(
    before: str | None,
) -> None:
    text = "".join(PAGES)
    document = Document(text=text, metadata={"page_starts": [0, len(PAGES[0])], "total_pages": 2})
    nodes = get_parser(before, min_chunk_size=0)([document]) if before == "heading" else [document]
    nodes = get_parser("page")(nodes) if before == "page" else nodes
    for node in get_parser("sentence-window")(nodes):
        place, window = node.metadata[WINDOW_PLACE], node.metadata[WINDOW]
        assert text[place["start_char"] : place["end_char"]] == window
        assert node.text in window
        page = 1 if place["start_char"] < len(PAGES[0]) else 2
        assert place["page_start"] == page
        assert place["heading_path"] == [["One"], ["Two"]][page - 1]


def test_nodes_of_a_later_parser_have_no_window() -> None:
    nodes = get_parser("sentence-window")([Document(text=" ".join(SENTENCES))])
    for node in get_parser("fixed", chunk_size=10, chunk_overlap=0)(nodes):
        assert {WINDOW, ORIGINAL_TEXT, WINDOW_PLACE}.isdisjoint(node.metadata)
