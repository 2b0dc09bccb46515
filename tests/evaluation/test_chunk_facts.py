"""What is known of chunks without a question, on texts small enough to count by hand."""

from __future__ import annotations

import pytest

from rag_nodes.evaluation.chunk_facts import (
    SizedChunk,
    SizeLimits,
    chunk_facts,
    limits_of,
    whole_blocks,
)
from rag_nodes.parsers import get_parser
from rag_nodes.text.spans import Span

NONE = SizeLimits(0, None, "tokens")
TEXT = "Start.\n\n```\na = 1\nb = 2\n```\n\nMiddle.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd."


def chunks(*ends: int, overlap: int = 0) -> list[SizedChunk]:
    starts = [0, *(end - overlap for end in ends[:-1])]
    return [SizedChunk(Span(a, b), b - a) for a, b in zip(starts, ends, strict=True)]


def test_a_block_counts_as_cut_at_the_first_chunk_with_some_of_it() -> None:
    blocks = whole_blocks(TEXT)
    inside_code, inside_table = TEXT.index("b = 2"), TEXT.index("| 1 |")
    assert len(blocks) == 2
    assert chunk_facts(chunks(len(TEXT)), blocks, NONE).cutting == ()
    assert chunk_facts(chunks(inside_code, len(TEXT)), blocks, NONE).cutting == (0,)
    both = chunk_facts(chunks(inside_code, inside_table, len(TEXT)), blocks, NONE)
    assert (both.cutting, both.blocks) == ((0, 1), 2)


def test_a_block_that_an_overlap_holds_whole_is_not_cut() -> None:
    blocks = whole_blocks(TEXT)
    table_end = TEXT.index("\n\nEnd.")
    long = table_end - TEXT.index("| a |") + 5
    assert chunk_facts(chunks(table_end - 3, len(TEXT), overlap=long), blocks, NONE).cutting == ()


def test_overlap_is_the_share_of_characters_that_the_chunk_before_holds() -> None:
    assert chunk_facts(chunks(10, 18, overlap=2), [], NONE).overlap == 0.1
    assert chunk_facts(chunks(10, 20), [], NONE).overlap == 0
    assert chunk_facts([], [], NONE).overlap == 0


@pytest.mark.parametrize(
    ("limits", "over"),
    [(SizeLimits(0, 9, "tokens"), (0, 2)), (SizeLimits(0, 10, "characters"), (2,)), (NONE, ())],
)
def test_over_the_limit_is_what_is_larger_or_says_so_itself(
    limits: SizeLimits, over: tuple[int, ...]
) -> None:
    given = [*chunks(10, 15), SizedChunk(Span(15, 20), 5, oversized=True)]
    assert chunk_facts(given, [], limits).oversized == over


def test_limits_are_those_of_what_is_found() -> None:
    assert limits_of(get_parser("fixed", chunk_size=50, chunk_overlap=0)).maximum == 50
    assert limits_of(get_parser("sentence")).unit == "tokens"
    family = get_parser("parent-child")
    assert limits_of(family).maximum == family.child_options["chunk_size"]  # type: ignore[attr-defined]
