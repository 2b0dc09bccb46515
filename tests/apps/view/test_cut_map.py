"""All chunks of a document in one strip: small, to scale, and with room for what matters."""

import re

import pytest

from rag_nodes.apps.view.cut_map import (
    FLAG,
    HEIGHT,
    NUMBERS,
    WIDTH,
    box_of,
    flags_of,
    offset_at,
    ruler,
    strip_of,
)
from rag_nodes.apps.view.rails import DrawnChunk
from rag_nodes.text.spans import Span


def pieces(count: int, size: int, overlap: int = 0) -> list[DrawnChunk]:
    step = size - overlap
    return [
        DrawnChunk(at, Span(at * step, at * step + size), at == 1, "word") for at in range(count)
    ]


def starts(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"M([\d.]+) ([\d.]+)h", path)]


def test_chunks_stand_where_they_are_in_the_document_and_retrieved_ones_apart() -> None:
    strip = strip_of(pieces(4, 25), 100)
    assert starts(strip.plain) == [(0, 10), (WIDTH / 2, 10), (3 * WIDTH / 4, 10)]
    assert starts(strip.retrieved) == [(WIDTH / 4, 10)]
    assert strip.notches.count("M") == 4


def test_chunks_that_share_text_stand_in_two_lanes() -> None:
    strip = strip_of(pieces(4, 30, overlap=10), 90)
    assert strip.lane == HEIGHT / 2
    assert [y for _, y in starts(strip.plain)] == [5, 5, 15]


def test_thousands_of_chunks_are_less_than_85_kb() -> None:
    strips = [strip_of(pieces(755, 1_000), 755_000) for _ in range(4)]
    assert sum(len(path) for strip in strips for path in strip[1:]) < 85_000


@pytest.mark.parametrize("length", [0, 1, 10, 1_000_000])
def test_marks_are_wide_enough_to_be_seen_and_stay_within_the_strip(length: int) -> None:
    x, wide = box_of(Span(max(0, length - 1), length), length)
    assert wide >= FLAG
    assert 0 <= x <= WIDTH - wide
    assert flags_of([Span(0, 0)], length).startswith("M0.0 0h4.0")


def test_a_place_of_the_strip_is_a_character_of_the_document() -> None:
    assert [offset_at(x, 200) for x in (-1, 0, 0.5, 1, 7)] == [0, 0, 100, 199, 199]
    assert offset_at(0.5, 0) == 0


@pytest.mark.parametrize("pages", [1, 2, 8, 41, 311])
def test_a_ruler_has_few_numbers_and_begins_with_the_first_page(pages: int) -> None:
    ticks = ruler([100 * page for page in range(pages)], 100 * pages)
    assert ticks[0].page == 1
    assert len(ticks) <= NUMBERS + 1
    assert sum(tick.is_main for tick in ticks) <= NUMBERS / 2 + 1
    assert all(0 <= tick.x <= WIDTH for tick in ticks)
