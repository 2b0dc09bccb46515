"""A quote gets a box for each printed line of it, and what a page does not show gets none."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import TextNode
from pdf_pages import glyphs_of, glyphs_on
from pdf_pages import under as standing_under

from rag_nodes import locate, read
from rag_nodes.core import errors
from rag_nodes.core import metadata as keys
from rag_nodes.parsers import get_parser
from rag_nodes.readers import Limits, PlacedBox, node_boxes
from rag_nodes.readers.isolation import ReaderPool
from rag_nodes.readers.pdf import quotes, read_pdf
from rag_nodes.readers.pdf.engines import engine_name, opened
from rag_nodes.readers.pdf.places import Glyphs
from rag_nodes.readers.pdf.quotes import KEPT, PageQuote, locate_quote
from rag_nodes.text.alignment import letters_of
from rag_nodes.text.sentences import sentence_bounds

pytestmark = pytest.mark.usefixtures("pdf_engine")

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
LIMITS = Limits()
Save = Callable[..., Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Saves a PDF of pages, each a list of lines and where they stand."""

    def save(
        *pages: list[tuple[float, float, str]], name: str = "made.pdf", **options: Any
    ) -> Path:
        with pymupdf.open() as document:
            for lines in pages:
                page = document.new_page(width=400, height=300)
                for x, y, line in lines:
                    page.insert_text((x, y), line)
            document.save(tmp_path / name, **options)
        return tmp_path / name

    return save


def here(path: Path, quote: str, within: str = "", page: int = 1) -> list[PlacedBox]:
    """Locate in this process."""
    start = within.index(quote) if within else 0
    asked = PageQuote(within or quote, start, start + len(quote))
    return locate_quote(path, number=page, quote=asked, file_hash=None, limits=LIMITS)


@lru_cache(maxsize=4)
def pages_of(path: Path, _changed: int, _engine: str) -> list[Glyphs]:
    with opened(path, LIMITS) as document:
        count = document.page_count
    return [glyphs_on(path, number) for number in range(1, count + 1)]


def under(path: Path, boxes: list[PlacedBox]) -> list[str]:
    """Return what stands under each box."""
    pages = pages_of(path, path.stat().st_mtime_ns, engine_name("auto"))
    return [standing_under(pages[box.page - 1], box[1:5]).strip() for box in boxes]


def sentences(name: str) -> Iterator[tuple[int, str, int, int]]:
    """Yield page, text of the page, start and end of each sentence of a document."""
    reading = read_pdf(CORPUS / name, LIMITS)
    starts = [*(reading.page_starts or ()), len(reading.text)]
    for number in range(1, len(starts)):
        text = reading.text[starts[number - 1] : starts[number]]
        for line in re.finditer(r"[^\n]+", text):
            for start, end in zip(*sentence_bounds(text, *line.span()), strict=True):
                if letters_of(text[start:end]):
                    yield number, text, start, end


# --- laws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["handbook.pdf", "ferry.pdf"])
def test_every_sentence_has_boxes_that_cover_its_letters_and_no_other_ones(name: str) -> None:
    count = 0
    for number, text, start, end in sentences(name):
        quote = PageQuote(text, start, end)
        boxes = locate_quote(
            CORPUS / name, number=number, quote=quote, file_hash=None, limits=LIMITS
        )
        sentence = quote.span.of(text)
        wanted = Counter(sentence[at] for at in letters_of(sentence))
        assert Counter(filter(str.isalnum, "".join(under(CORPUS / name, boxes)))) == wanted, (
            sentence
        )
        count += 1
    assert count > 50


@pytest.mark.parametrize("name", ["handbook.pdf", "ferry.pdf"])
def test_boxes_lie_on_their_page_and_each_on_a_line_of_its_own(name: str) -> None:
    for number, text, start, end in sentences(name):
        if re.search("[|]|  ", text[start:end]):  # cells of a row stand side by side
            continue
        quote = PageQuote(text, start, end)
        boxes = locate_quote(
            CORPUS / name, number=number, quote=quote, file_hash=None, limits=LIMITS
        )
        for box in boxes:
            assert box.page == number
            assert 0 <= box.left < box.right <= box.page_width
            assert 0 <= box.top < box.bottom <= box.page_height
        middles = [(box.top + box.bottom) / 2 for box in boxes]
        assert not any(
            box.top < middle < box.bottom
            for at, box in enumerate(boxes)
            for other, middle in enumerate(middles)
            if at != other
        )


WORDS = st.lists(st.sampled_from(["horn", "ramp", "bell", "mast", "rope"]), min_size=2, max_size=8)


@given(WORDS, WORDS)
def test_words_in_another_order_have_no_boxes(printed: list[str], asked: list[str]) -> None:
    with pymupdf.open() as document:
        document.new_page().insert_text((72, 72), " ".join(printed))
        shown = glyphs_of(document)
    places = quotes.align(" ".join(asked), shown.text, shown.lines)
    sentence = " ".join(asked)
    if quotes.is_in_order(PageQuote(sentence, 0, len(sentence)), places, shown.text):
        pairs = list(pairwise(asked))
        page_words = " ".join(printed)
        held = sum(f"{pair} {other}" in page_words for pair, other in pairs)
        assert held >= quotes.MIN_IN_ORDER * len(pairs)


# --- pages of every kind ------------------------------------------------------------------------


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", [(0, 0, 400, 300), (20, 10, 300, 200)])
def test_boxes_lie_on_the_ink_of_a_turned_or_cropped_page(
    save: Save, tmp_path: Path, turned: int, crop: tuple[int, int, int, int]
) -> None:
    plain = save([(30, 40, "Test the horn.")], name="plain.pdf")
    path = tmp_path / "turned.pdf"
    with pymupdf.open(plain) as document:
        document[0].set_cropbox(pymupdf.Rect(*crop))
        document[0].set_rotation(turned)
        document.save(path)
    [box] = here(path, "Test the horn.")
    with pymupdf.open(path) as document:
        page = document[0]
        assert (box.page_width, box.page_height) == (page.rect.width, page.rect.height)
        ink = page.get_pixmap(colorspace="gray")
    dark = [at for at, value in enumerate(ink.samples) if value < 100]
    columns, rows = [at % ink.stride for at in dark], [at // ink.stride for at in dark]
    assert box.left - 1 <= min(columns) <= max(columns) <= box.right + 1
    assert box.top - 1 <= min(rows) <= max(rows) <= box.bottom + 1


def test_a_sentence_that_goes_on_in_the_next_column_has_boxes_in_both(save: Save) -> None:
    path = save(
        [
            (30, 250, "Lower the ramp before"), (30, 270, "the horn is tested and"),
            (220, 40, "the mast is down."), (220, 60, "Coil the rope."),
        ]
    )  # fmt: skip
    quote = "the horn is tested and the mast is down."
    boxes = here(path, quote, f"Lower the ramp before {quote} Coil the rope.")
    assert under(path, boxes) == ["the horn is tested and", "the mast is down."]


def test_a_ligature_is_covered_whole(tmp_path: Path) -> None:
    path = tmp_path / "ligature.pdf"
    with pymupdf.open() as document:
        page = document.new_page()
        writer = pymupdf.TextWriter(page.rect)
        writer.append((72, 72), "The o\ufb03ce \ufb01les it.", font=pymupdf.Font("helv"))
        writer.write_text(page)
        document.save(path)
    [box] = here(path, "files", "The office files it.")
    assert under(path, [box]) == ["files"]


def test_surrounding_text_decides_between_two_equal_places(save: Save) -> None:
    path = save(
        [(30, 40, "Test the horn."), (30, 60, "Ring the bell."), (30, 80, "Test the horn.")]
    )
    text = "Ring the bell. Test the horn."
    [alone], [box] = here(path, "Test the horn."), here(path, "Test the horn.", text)
    assert alone.top < box.top
    assert box.top > 60


# --- nothing is guessed -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "quote",
    [
        pytest.param("Lower the mast at noon.", id="words that are not there"),
        pytest.param("Ring the horn after the ramp is down.", id="words of other sentences"),
        pytest.param("Test the brass whistle.", id="less than four fifths of the letters"),
        pytest.param("…", id="no letter"),
    ],
)
def test_text_that_the_page_lacks_has_no_boxes(save: Save, quote: str) -> None:
    path = save(
        [(30, 40, "Test the horn."), (30, 60, "Ring the bell after the tide."),
         (30, 80, "The ramp is down.")]
    )  # fmt: skip
    assert here(path, quote) == []


def test_a_word_is_not_put_together_of_pieces_of_others(save: Save) -> None:
    path = save([(30, 40, "ack x now y ledg z ment")], [(30, 40, "acknow-"), (30, 60, "ledgment")])
    assert here(path, "acknowledgment") == []
    assert under(path, here(path, "acknowledgment", page=2)) == ["acknow", "ledgment"]


def test_a_quote_that_its_text_does_not_hold_is_refused() -> None:
    with pytest.raises(errors.ConfigurationError, match="within"):
        locate(CORPUS / "ferry.pdf", 1, "the horn", within="the bell")


# --- nodes --------------------------------------------------------------------------------------


def test_a_text_over_two_pages_has_boxes_on_both(save: Save) -> None:
    path = save([(30, 280, "The ramp is lowered when")], [(30, 40, "the horn has been tested.")])
    document = read(path)
    [node] = get_parser("fixed", chunk_size=100, chunk_overlap=0)([document])
    start, end = node.text.index("lowered"), node.text.index("tested.") + len("tested.")
    boxes = node_boxes(node, start, end)
    assert [box.page for box in boxes] == [1, 2]
    assert under(path, boxes) == ["lowered when", "the horn has been tested."]


def test_a_node_of_another_reader_is_located_by_its_page_label(save: Save) -> None:
    path = save([(30, 40, "Test the horn.")], [(30, 40, "Ring the bell.")])
    node = TextNode(text="Ring the bell.", metadata={"file_path": str(path), keys.PAGE_LABEL: "2"})
    assert under(path, node_boxes(node, 5, 13)) == ["the bell"]


def test_a_node_that_does_not_know_its_page_has_no_boxes_and_opens_nothing() -> None:
    node = TextNode(text="Ring the bell.", metadata={keys.SOURCE: "/nowhere/at/all.pdf"})
    assert node_boxes(node, 0, 4) == []
    two = TextNode(text="Ring it.", metadata={keys.PAGE_START: 1, keys.PAGE_END: 2})
    assert node_boxes(two, 0, 4) == []


def test_a_changed_file_is_refused_and_a_moved_one_is_not(save: Save, tmp_path: Path) -> None:
    path = save([(30, 40, "Test the horn.")])
    [node] = get_parser("fixed")([read(path)])
    moved = path.rename(tmp_path / "moved.pdf")
    with pytest.raises(errors.FileMissingError, match="no such file"):
        node_boxes(node, 0, 4)
    assert under(moved, node_boxes(node, 0, 4, moved)) == ["Test"]
    save([(30, 40, "Test the horn.")], [(30, 40, "And more.")], name="made.pdf")
    with pytest.raises(errors.FileChangedError, match="ingest it again"):
        node_boxes(node, 0, 4)


# --- files --------------------------------------------------------------------------------------


def test_errors_name_what_is_wrong_and_what_helps(save: Save, tmp_path: Path) -> None:
    path = save([(30, 40, "Test the horn.")])
    locked = save(
        [(30, 40, "Test.")], name="locked.pdf",
        encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret", owner_pw="owner",
    )  # fmt: skip
    note, torn = tmp_path / "note.md", tmp_path / "torn.pdf"
    note.write_text("Test the horn.")
    torn.write_bytes(b"%PDF-1.7 and no more")
    for file, page, kind, words in (
        (tmp_path / "gone.pdf", 1, errors.FileMissingError, "no such file"),
        (note, 1, errors.UnsupportedFileError, "only a PDF"),
        (path, 2, errors.PageMissingError, "no page 2, as it has only one page"),
        (path, 0, errors.PageMissingError, "counted from 1"),
        (locked, 1, errors.EncryptedFileError, "encrypted"),
        (torn, 1, errors.CorruptFileError, "damaged"),
    ):
        with pytest.raises(kind, match=words):
            locate(file, page, "Test the horn.")


def test_the_last_pages_are_kept_until_their_file_changes(
    save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []
    original = quotes.opened_page

    def counting(path: Path, number: int, limits: Limits) -> Any:
        opened.append(number)
        return original(path, number, limits)

    monkeypatch.setattr(quotes, "opened_page", counting)
    path = save(*([(30, 40, f"Bell number {number}.")] for number in range(KEPT + 1)))
    for number in (1, 1, *range(2, KEPT + 2), KEPT + 1, 1):
        assert here(path, "Bell number", page=number)
    assert opened == [*range(1, KEPT + 2), 1]
    path = save([(30, 40, "Bell of brass.")])
    assert here(path, "Bell number") == []


def test_a_page_that_takes_too_long_ends_the_child_and_not_the_program(
    save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = " ".join(f"a{number} b" for number in range(40_000))
    path = save([(30, 40, bomb[at : at + 4_000]) for at in range(0, len(bomb), 4_000)])
    monkeypatch.setattr("rag_nodes.readers.isolation.PAGE_SECONDS", 0.3)
    pool = ReaderPool()
    try:
        with pytest.raises(errors.ReadTimeoutError, match="takes longer than"):
            pool.locate(path, 1, PageQuote(bomb[::-1], 0, 100), None, LIMITS)
    finally:
        pool.close()


@pytest.mark.parametrize(
    "answer", [None, 3, [1, 2], [1, 2, 3, 4, 5, 6, "x"], [1, 2, 3, 4, 5, 6, 7, 8]]
)
def test_nonsense_of_a_child_is_no_box(answer: Any) -> None:
    assert PlacedBox.unpack([1, 2, 3, 4, 5, 6, 7]) == (1, 2, 3, 4, 5, 6, 7)
    with pytest.raises(ValueError, match=r"box|convert"):
        PlacedBox.unpack(answer)
