"""Chunks beside a printed page, and the text of the page that can be selected on it."""

import re

import pytest

from rag_nodes.apps.view.rails import (
    HEIGHT,
    STRIP,
    DrawnChunk,
    block_rails,
    page_notches,
    page_rails,
)
from rag_nodes.readers.pdf.places import Glyphs, PrintedPage
from rag_nodes.readers.pdf.surface import PdfSurface
from rag_nodes.text.alignment import align
from rag_nodes.text.spans import Span

START = 1_000
"""Offset of the page's text in its document."""
WIDTH, LETTER = 600.0, 10.0


def page(*lines: tuple[float, float, str], text: str | None = None) -> PdfSurface:
    """A page with lines at some places, each letter ten points wide and high."""
    boxes = [
        (x + LETTER * at, y, x + LETTER * (at + 1), y + LETTER)
        for x, y, words in lines
        for at in range(len(words))
    ]
    numbers = [number for number, (_, _, words) in enumerate(lines) for _ in words]
    glyphs = Glyphs("".join(words for _, _, words in lines), boxes, numbers)
    text = " ".join(words for _, _, words in lines) if text is None else text
    places = align(text, glyphs.text, glyphs.lines)
    return PdfSurface(PrintedPage(WIDTH, 800, glyphs), places, text, START)


def piece(number: int, start: int, end: int, **more: object) -> DrawnChunk:
    return DrawnChunk(number, Span(START + start, START + end), **more)  # type: ignore[arg-type]


def numbers_of(path: str) -> list[tuple[float, ...]]:
    """Left edge, top, width and bottom of each bar of a path."""
    bars = re.findall(r"M(-?[\d.]+) ([\d.]+)h([\d.]+)V([\d.]+)h-[\d.]+z", path)
    return [tuple(map(float, bar)) for bar in bars]


def test_boxes_are_those_of_the_part_of_a_span_that_is_on_the_page() -> None:
    surface = page((100, 50, "horn"), (100, 70, "ramp"))
    assert surface.boxes(Span(0, START + 4)) == [(100, 50, 140, 60)]
    assert surface.boxes(Span(START + 5, START + 900)) == [(100, 70, 140, 80)]
    assert surface.boxes(Span(0, START)) == []


@pytest.mark.parametrize(("words", "is_lost"), [("horn ramps", False), ("horn xxxxx", True)])
def test_less_than_four_fifths_of_a_span_is_not_found_and_never_guessed(
    words: str, is_lost: bool
) -> None:
    surface = page((100, 50, "horn ramp"), text=words)
    span = Span(START, START + len(words))
    assert surface.is_lost(span) == is_lost
    assert bool(surface.boxes(span)) != is_lost


def test_runs_are_slices_of_the_document_on_one_line_each() -> None:
    surface = page((100, 50, "Test the horn."), (100, 70, "Lower ramps."))
    runs = list(surface.runs())
    assert [run.text for run in runs] == ["Test the horn.", "Lower ramps."]
    for run in runs:
        assert surface.text[run.start - START :].startswith(run.text)
    assert runs[1].box == (100, 70, 220, 80)


def test_a_page_without_text_has_no_runs_and_no_rails() -> None:
    surface = page(text="")
    assert list(surface.runs()) == []
    assert page_rails(surface, [[]]) == []


def test_rails_stand_in_the_margin_and_each_split_where_it_is_in_its_line() -> None:
    surface = page((100, 50, "abcdefghij"), (100, 70, "klmnopqrst"))
    left, other = piece(0, 0, 16), piece(1, 16, 21, is_retrieved=True)
    even, odd = page_rails(surface, [[left, other]])
    assert (even.cls, odd.cls) == ("rn-even", "rn-odd rn-hit")
    ((x, top, width, bottom),) = numbers_of(even.path)
    assert x + width < 100
    assert (top, bottom) == (50, 75)
    assert numbers_of(odd.path)[0][1::2] == (75, 80)


def test_each_of_two_columns_has_rails_on_its_own_side() -> None:
    surface = page(
        (100, 50, "abcd"), (100, 70, "efgh"), (400, 50, "ijkl"), (400, 70, "mnop"),
    )  # fmt: skip
    whole = [piece(0, 0, 19)]
    first, second = page_rails(surface, [whole, whole])
    (left, _, _, _), (right, _, _, _) = numbers_of(first.path)
    assert left < 100
    assert right > 440
    assert numbers_of(second.path)[0][0] > left
    assert numbers_of(second.path)[1][0] < right  # mirrored


def test_a_page_without_a_margin_has_its_rails_beside_it() -> None:
    (rail,) = page_rails(page((2, 50, "abcd")), [[piece(0, 0, 4)]])
    assert numbers_of(rail.path)[0][0] == -STRIP


def test_a_notch_stands_where_a_chunk_begins_inside_of_something() -> None:
    surface = page((100, 50, "abcdefgh"))
    columns = [
        [
            piece(0, 0, 3),
            piece(1, 3, 8, inside="word"),
            DrawnChunk(2, Span(0, START + 2), inside="word"),
        ]
    ]
    (notch,) = page_notches(surface, columns)
    assert (notch.inside, notch.x, notch.top, notch.height) == ("word", 130, 50, LETTER)


def test_rails_beside_a_block_share_its_height_as_chunks_share_its_text() -> None:
    block = Span(START, START + 100)
    rails = block_rails(block, [[piece(0, -50, 25), piece(1, 25, 200)], [piece(0, 200, 300)]])
    assert [numbers_of(rail.path)[0][1::2] for rail in rails] == [(0, 250), (250, HEIGHT)]
