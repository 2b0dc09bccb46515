"""What is measured without labels, on texts small enough to count by hand."""

from __future__ import annotations

import pytest

from rag_nodes.evaluation import (
    JudgedChunk,
    SizeLimits,
    Tally,
    compare_sentences,
    duplicates_of,
    judge,
    limits_of,
    text_facts,
    total,
)
from rag_nodes.parsers import get_parser
from rag_nodes.text.formats import Format
from rag_nodes.text.spans import Span

TABLE = "| name | size |\n|---|---|\n| oak | 9 |\n| ash | 7 |"
TEXT = f"Cats sleep. Cats sleep long.\n\n{TABLE}\n\nRust eats iron. Salt speeds it up."
FREE = SizeLimits(0, None, "tokens")


def _chunk(start: int, end: int, tokens: int = 5, *, oversized: bool = False) -> JudgedChunk:
    return JudgedChunk(Span(start, end), tokens, tokens + 2, oversized)


def _judged(*chunks: JudgedChunk, text: str = TEXT, limits: SizeLimits = FREE) -> Tally:
    return judge("d", compare_sentences(text_facts(text)), chunks, limits)


def _at(piece: str) -> int:
    return TEXT.index(piece)


def test_a_text_knows_its_sentences_tables_and_ends() -> None:
    facts = compare_sentences(text_facts(TEXT))
    assert facts.similarity is not None
    assert [span.of(TEXT) for span in facts.sentences] == [
        "Cats sleep.",
        "Cats sleep long.",
        "Rust eats iron.",
        "Salt speeds it up.",
    ]
    assert [TEXT[block.start : block.end] for block in facts.blocks] == [TABLE]
    assert _at(" Cats sleep long") in facts.ends
    assert _at("\n| ash") in facts.ends
    assert _at("sleep long") not in facts.ends
    assert facts.similarity[0] > facts.similarity[1]


@pytest.mark.parametrize("text", ["", "   \n", "One sentence.", "```\ncode\n```"])
def test_a_text_with_nothing_to_compare_has_no_cohesion_and_no_fault(text: str) -> None:
    chunks = [_chunk(0, len(text))] if text.strip() else []
    tally = _judged(*chunks, text=text)
    assert (tally.cohesion, tally.parting, tally.contrast) == (None, None, None)
    assert tally.findings == ()


def test_a_chunk_that_stops_inside_a_sentence_is_found_and_shown_where_it_stops() -> None:
    cut = _at("sleep long")
    tally = _judged(_chunk(0, cut), _chunk(cut, len(TEXT)))
    assert tally.boundaries == 0.5
    [finding] = tally.of("open-end")
    assert (finding.chunk, TEXT[: finding.quote.start]) == (0, "Cats sleep. Cats")


def test_blank_space_after_a_sentence_does_not_make_its_end_an_open_one() -> None:
    cut = _at("Rust")
    assert _judged(_chunk(0, cut), _chunk(cut, len(TEXT))).boundaries == 1.0


def test_a_table_that_no_chunk_holds_whole_is_cut_and_its_first_chunk_is_named() -> None:
    cut = _at("| ash")
    tally = _judged(_chunk(0, cut), _chunk(cut, len(TEXT)))
    assert tally.intact == 0.0
    [finding] = tally.of("cut-block")
    assert finding.chunk == 0
    assert finding.quote.of(TEXT) == TABLE


def test_a_table_that_an_overlapping_chunk_holds_whole_is_not_cut() -> None:
    tally = _judged(_chunk(0, _at("| ash")), _chunk(_at("| name"), len(TEXT)))
    assert tally.intact == 1.0
    assert tally.of("cut-block") == []


def test_sizes_are_judged_in_the_parsers_own_unit() -> None:
    chunks = (_chunk(0, 30, tokens=9), _chunk(30, 40, tokens=3), _chunk(40, 60, tokens=4))
    characters = _judged(*chunks, limits=SizeLimits(15, 25, "characters"))
    assert characters.compliance == 1 / 3
    assert [(f.problem, f.value) for f in characters.of("oversized", "undersized")] == [
        ("oversized", 30),
        ("undersized", 10),
    ]
    assert _judged(*chunks, limits=SizeLimits(3, 9, "tokens")).compliance == 1.0
    assert _judged(*chunks).compliance is None


def test_a_block_kept_whole_over_the_limit_counts_as_oversized() -> None:
    tally = _judged(_chunk(0, 5, oversized=True), limits=SizeLimits(0, 100, "tokens"))
    assert [finding.problem for finding in tally.of("oversized")] == ["oversized"]


def test_a_document_shorter_than_the_least_size_is_no_fault() -> None:
    assert _judged(_chunk(0, 5, tokens=2), limits=SizeLimits(50, 100, "tokens")).compliance == 1.0


def test_overlap_is_the_share_of_characters_that_are_there_twice() -> None:
    assert _judged(_chunk(0, 30), _chunk(20, 40)).overlap == 10 / 50
    assert _judged(_chunk(0, 30), _chunk(30, 40)).overlap == 0.0


def test_cohesion_compares_sentences_kept_together_with_those_a_boundary_parts() -> None:
    facts = compare_sentences(text_facts(TEXT))
    assert facts.similarity is not None
    apart = _judged(_chunk(0, _at(" Cats sleep long")), _chunk(_at("Cats sleep long"), len(TEXT)))
    assert apart.parting == pytest.approx(facts.similarity[0])
    together = _judged(_chunk(0, _at("\n\n|")), _chunk(_at("| name"), len(TEXT)))
    assert together.parting == pytest.approx(facts.similarity[1])
    assert together.contrast is not None
    assert apart.contrast is not None
    assert together.contrast > apart.contrast
    assert [finding.chunk for finding in apart.of("related")] == [0]
    assert together.of("related") == []


def test_without_comparing_sentences_everything_but_cohesion_is_known() -> None:
    tally = judge("d", text_facts(TEXT), [_chunk(0, len(TEXT))], FREE)
    assert (tally.cohesion, tally.parting) == (None, None)
    assert (tally.boundaries, tally.intact) == (1.0, 1.0)


def test_sentences_that_overlap_keeps_together_are_not_parted() -> None:
    tally = _judged(_chunk(0, _at("\n\n|")), _chunk(_at("Cats sleep long"), len(TEXT)))
    assert tally.across == 0
    assert tally.inside == 3


def test_the_same_words_again_are_a_duplicate_in_another_document_too() -> None:
    one = ("a", "red  fox\nhen", [_chunk(0, 8), _chunk(9, 12)])
    two = ("b", "red fox", [_chunk(0, 7)])
    assert [(f.document, f.chunk) for f in duplicates_of([one, two])] == [("b", 0)]


def test_tallies_of_several_documents_add_up() -> None:
    cut = _at("sleep long")
    open_ended = _judged(_chunk(0, cut), _chunk(cut, len(TEXT)))
    duplicates = duplicates_of([("d", TEXT, [_chunk(0, 5), _chunk(0, 5)])])
    both = total([open_ended, _judged(_chunk(0, len(TEXT)))], duplicates)
    assert (both.chunks, both.tokens, both.embedded) == (3, 15, 21)
    assert both.boundaries == 2 / 3
    assert [finding.problem for finding in both.findings].count("duplicate") == 1
    assert total([]).boundaries is None


def test_cost_counts_what_the_model_reads_and_says_when_the_price_is_unknown() -> None:
    tally = _judged(_chunk(0, len(TEXT), tokens=499_998))
    assert tally.cost(0.02) == pytest.approx(0.01)
    assert tally.cost(None) is None


@pytest.mark.parametrize(
    ("preset", "limits"),
    [
        ("fixed", SizeLimits(0, 1000, "characters")),
        ("heading", SizeLimits(100, 1000, "tokens")),
        ("semantic", SizeLimits(64, 512, "tokens")),
        ("sentence", SizeLimits(0, 1000, "tokens")),
        ("pdf-qa", SizeLimits(0, 500, "characters")),
        ("parent-child", SizeLimits(0, 250, "tokens")),
    ],
)
def test_limits_are_those_the_parser_was_configured_with(preset: str, limits: SizeLimits) -> None:
    assert limits_of(get_parser(preset)) == limits


def test_measures_see_the_blocks_that_the_parsers_saw() -> None:
    text = "```\nOne sentence. Another one.\n```"
    plain, markdown = (text_facts(text, text_format) for text_format in (Format.PLAIN, None))
    assert not plain.blocks
    assert len(plain.sentences) > 0
    assert len(markdown.blocks) == 1
    assert not markdown.sentences
