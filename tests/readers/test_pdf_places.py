"""What a text says is found where the page says it, and what is not found is not guessed."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from pdf_pages import glyphs_of, under

from rag_nodes.core import errors
from rag_nodes.readers import Limits
from rag_nodes.readers.isolation import ReaderPool
from rag_nodes.readers.pdf.engines.mupdf import PyMuPDFPage
from rag_nodes.readers.pdf.engines.protocol import Glyph
from rag_nodes.readers.pdf.picture import KEPT, MOST_PIXELS, KeptPages, PagePicture, draw_page
from rag_nodes.readers.pdf.places import Glyphs, boxes_of, page_glyphs
from rag_nodes.text.alignment import align

pytestmark = pytest.mark.usefixtures("pdf_engine")

DOCS = Path(__file__).parents[3] / "shared" / "docs"
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SAMPLE = 3
"""Pages of each document."""
LIMITS = Limits()


def document_of(page: Callable[[Any], None], *, width: float = 400, height: float = 300) -> Any:
    """A document of one page."""
    document = pymupdf.open()
    page(document.new_page(width=width, height=height))
    return pymupdf.open(stream=document.tobytes())


def write_page(*lines: str) -> Any:
    """A page with these lines, one below the other."""

    def write(page: Any) -> None:
        for number, line in enumerate(lines):
            page.insert_text((30, 40 + 20 * number), line)

    return document_of(write)


def texts_under_boxes(document: Any, text: str, words: str, number: int = 0) -> list[str]:
    """What stands under the boxes of a piece of a text, box by box, as the engine reads it."""
    glyphs = glyphs_of(document, number + 1)
    start = text.index(words)
    places = align(text, glyphs.text, glyphs.lines)[start : start + len(words)]
    return [under(glyphs, box) for box in boxes_of(places, glyphs)]


@pytest.mark.parametrize(
    ("lines", "text", "words", "texts"),
    [
        pytest.param(
            ("Rinse the fil-", "ter weekly."), "Rinse the filter weekly.", "filter",
            ["fil", "ter"], id="a hyphen at the end of a line",
        ),
        pytest.param(
            ("Use a long-", "term plan."), "Use a long-term plan.", "long-term plan",
            ["long-", "term plan"], id="a hyphen of the word",
        ),
        pytest.param(
            ("Rinse the fil\u00ad", "ter weekly."), "Rinse the filter weekly.", "filter weekly",
            ["fil", "ter weekly"], id="a soft hyphen",
        ),
        pytest.param(
            ("Read the manual first.",), "Read [the manual](https://a.example/the/manual) first.",
            "[the manual](https://a.example/the/manual) first", ["the manual first"], id="a link",
        ),
        pytest.param(
            ("Operating handbook 7", "Test the horn."), "Test the horn.", "Test the horn.",
            ["Test the horn."], id="boilerplate",
        ),
        pytest.param(
            ("Test the horn.", "Lower the ramp.", "Test the horn."),
            "Test the horn. Lower the ramp. Test the horn.", "Lower the ramp. Test the horn.",
            ["Lower the ramp.", "Test the horn."], id="two equal sentences",
        ),
        pytest.param(
            ("fil-", "ter"), "ter and more on this page", "ter", ["ter"],
            id="a word that a page break parts",
        ),
        pytest.param(
            ("Name", "horn", "ramp", "Weight", "3 kg", "80 kg"),
            "| Name | Weight |\n| --- | --- |\n| horn | 3 kg |\n| ramp | 80 kg |",
            "ramp | 80 kg", ["ramp", "80 kg"], id="a table that the file has by columns",
        ),
    ],
)  # fmt: skip
def test_a_piece_of_the_text_is_found_where_the_page_says_it(
    lines: tuple[str, ...], text: str, words: str, texts: list[str]
) -> None:
    document = write_page(*lines)
    assert [
        requirement.replace("\u00ad", "").strip()
        for requirement in texts_under_boxes(document, text, words)
    ] == texts


def test_a_ligature_is_as_many_characters_as_the_text_has() -> None:
    glyphs = Glyphs("office", [(10.0 * at, 0, 10.0 * at + 10, 9) for at in range(6)], [0] * 6)
    assert align("The office", glyphs.text, glyphs.lines)[4:] == [0, 1, 2, 3, 4, 5]

    class Page(PyMuPDFPage):
        def glyph_lines(self) -> Iterator[list[Glyph]]:
            yield [Glyph("\ufb03", (0, 0, 30, 9)), Glyph("\ue000", (0, 0, 9, 99))]

    shown = page_glyphs(Page(write_page("office")[0]))
    assert shown.text == "ffi "
    assert [box[0] for box in shown.boxes[:3]] == [0, 10, 20]


def test_text_from_right_to_left_is_found_in_the_order_of_the_file() -> None:
    letters = "\u05e9\u05dc\u05d5\u05dd"
    glyphs = Glyphs(letters, [(90.0 - 10 * at, 0, 100.0 - 10 * at, 9) for at in range(4)], [0] * 4)
    assert boxes_of(align(f"# {letters}", glyphs.text, glyphs.lines), glyphs) == [(60, 0, 100, 9)]


@pytest.mark.skipif(not DOCS.is_dir(), reason="the shared documents are not here")
def test_the_sentences_of_real_documents_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pdf_engine: str
) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    from places import found_in

    spans = exact = nearly = 0
    for path in sorted(DOCS.glob("*.pdf")):
        try:
            located = found_in(sample(path, tmp_path))
        except (errors.EncryptedFileError, errors.NoTextLayerError):
            continue
        spans, exact, nearly = spans + located.spans, exact + located.exact, nearly + located.nearly
    assert spans > 700
    assert exact / spans >= 0.995
    # The script places by PyMuPDF, so with PDFium one engine reads and the other places.
    assert nearly / spans >= {"pymupdf": 0.998, "pdfium": 0.995}[pdf_engine]


def sample(path: Path, folder: Path) -> Path:
    """Pages from all over a document."""
    with pymupdf.open(path) as document:
        if document.needs_pass:
            return path
        step = max(1, document.page_count // SAMPLE)
        document.select(range(step // 2, document.page_count, step))
        document.save(folder / path.name)
    return folder / path.name


@pytest.fixture(scope="module")
def pool() -> Iterator[ReaderPool]:
    made_pool = ReaderPool()
    yield made_pool
    made_pool.close()


@pytest.fixture
def ferry(tmp_path: Path) -> Path:
    path = tmp_path / "ferry.pdf"
    write_page("Test the horn.").save(path)
    return path


def test_a_page_is_drawn_in_a_child_and_is_what_this_process_would_draw(
    pool: ReaderPool, ferry: Path
) -> None:
    drawn = pool.draw(ferry, 1, "Test the horn.", LIMITS, 130)
    here = draw_page(ferry, number=1, text="Test the horn.", dpi=130, limits=LIMITS)
    assert drawn.png == here.png
    assert drawn.places == here.places
    assert drawn.glyphs.boxes[0] == pytest.approx(here.glyphs.boxes[0], abs=0.06)
    assert (drawn.width, drawn.height) == (400, 300)


def test_a_page_that_takes_too_long_or_is_not_there_is_refused(
    pool: ReaderPool, ferry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(errors.PageMissingError, match="no page 2"):
        pool.draw(ferry, 2, "", LIMITS, 130)
    bomb = " ".join(f"a{number} b" for number in range(40_000))
    monkeypatch.setattr("rag_nodes.readers.isolation.PAGE_SECONDS", 0.3)
    many = write_page(*(bomb[at : at + 4_000] for at in range(0, len(bomb), 4_000)))
    many.save(ferry.with_name("bomb.pdf"))
    with pytest.raises(errors.ReadTimeoutError, match="takes longer than"):
        pool.draw(ferry.with_name("bomb.pdf"), 1, bomb[::-1], LIMITS, 130)


def test_a_page_of_any_size_has_so_many_pixels_at_most(tmp_path: Path) -> None:
    path = tmp_path / "wall.pdf"
    document_of(lambda page: page.insert_text((50, 50), "wall"), width=14_000, height=7_000).save(
        path
    )
    drawn = draw_page(path, number=1, text="wall", dpi=300, limits=LIMITS)
    size = pymupdf.Pixmap(drawn.png)
    assert (size.width, size.height) == (MOST_PIXELS, MOST_PIXELS // 2)


def test_the_last_pages_are_kept_and_a_changed_file_is_drawn_again(ferry: Path) -> None:
    calls: list[int] = []

    def draw(_: Path, number: int, *__: Any) -> PagePicture:
        calls.append(number)
        return PagePicture(b"", 1, 1, Glyphs("", [], []), [])

    pages = KeptPages(draw)
    for number in [*range(KEPT + 1), KEPT, 0]:
        pages.picture(ferry, number, "", 130)
    assert calls == [*range(KEPT + 1), 0]
    write_page("Other text.").save(ferry)
    pages.picture(ferry, 0, "", 130)
    assert calls[-2:] == [0, 0]


@pytest.mark.parametrize("change", [{"places": [99]}, {"glyphs": ["a", [], [0]]}, {"png": None}])
def test_nonsense_of_a_child_is_no_picture(change: dict[str, Any]) -> None:
    packed = PagePicture(b"", 1, 1, Glyphs("a", [(0, 0, 1, 1)], [0]), [0]).pack()
    assert PagePicture.unpack(packed).places == [0]
    with pytest.raises(ValueError, match=r"picture|zip"):
        PagePicture.unpack({**packed, **change})
