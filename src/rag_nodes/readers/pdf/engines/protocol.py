"""The protocol between a PDF library and the layout: an engine opens files and describes pages.

Coordinates are in points, y grows downwards. An engine may turn the page so that most of its text
runs from left to right; `EnginePage.turn` leads from there to the page as it is shown. All that is
made of a page (lines, tables, headings, boxes of quotes) is the same for every engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""
Matrix = tuple[float, float, float, float, float, float]
"""a, b, c, d, e, f: a point (x, y) goes to (a * x + c * y + e, b * x + d * y + f)."""
Word = tuple[float, float, float, float, str, int, int]
"""Left, top, right, bottom, text, block, line: what stands between two blanks of a line."""
Area = tuple[float, float, float, float, str]
"""Left, top, right, bottom and address of a link."""
Bookmark = tuple[int, str, int]
"""Level of an entry of the outline from 1, its title, and its page from 0; -1 if it has none."""


HIDDEN = "***"
"""Value of a field for a password."""
MAX_FIELDS = 5_000
"""Fields of a page that are looked at."""
THIN = 2.0
"""Points up to which a box is a line."""


class UnreadableError(Exception):
    """A page or the outline cannot be read; the message is one line without codes of a library."""


class Font(NamedTuple):
    """Size of a font in points, and the looks that tell headings and code."""

    size: float
    bold: bool
    mono: bool


class FontRun(NamedTuple):
    """Neighbouring characters of a line in one font, with the height of their baseline."""

    text: str
    font: Font
    baseline: float


class TextLine(NamedTuple):
    """Runs in the order in which they are read.

    `is_upright` is True for text from left to right, not up or down the page. Lines of one group of
    lines, such as a paragraph, have the same `block`, counted from 0 on each page.
    """

    runs: Sequence[FontRun]
    box: Box
    is_upright: bool
    block: int


class Glyph(NamedTuple):
    """A character, or a ligature of several, and the box it covers."""

    text: str
    box: Box


class FormField(NamedTuple):
    """A field of a form that holds a value.

    Attributes:
        box: where it stands.
        value: its text; `[x]` or `[ ]` for a box to tick.
        label: description for people who do not see it; "" if it has none.
        is_box: True for a box to tick, a radio button included.
    """

    box: Box
    value: str
    label: str
    is_box: bool


class EnginePage(Protocol):
    """A page of an open document, valid until its context ends.

    Its methods are asked once each: none of them keeps what it found.
    """

    @property
    def width(self) -> float:
        """Width of the page as it is shown."""

    @property
    def height(self) -> float:
        """Height of the page as it is shown."""

    @property
    def turn(self) -> Matrix:
        """Matrix from the coordinates of lines, glyphs, edges and links to the page as shown."""

    def lines(self) -> Sequence[TextLine]:
        """Return the lines in the order of the file; never sorted, as that shuffles columns."""

    def words(self) -> Sequence[Word]:
        """Return the words of the lines, in their order."""

    def glyph_lines(self) -> Iterable[Sequence[Glyph]]:
        """Return the glyphs of each line, blanks included, in the order of `lines`."""

    def edges(self) -> Iterable[Box]:
        """Return lines across and down the page, and rectangles, that are drawn."""

    def links(self) -> Iterator[Area]:
        """Yield the links to other addresses."""

    def has_images(self) -> bool:
        """Return True if the page uses pictures."""

    def is_marked(self) -> bool:
        """Return True if anything is drawn on the page."""

    def png(self, scale: float, *, is_turned: bool = False) -> bytes:
        """Draw the page as it is shown, `scale` pixels a point, as a PNG file.

        It is upside down if it `is_turned`.
        """


class EngineDocument(Protocol):
    """An open document of at least one page."""

    @property
    def page_count(self) -> int:
        """Number of pages when the document was opened; damage that shows later changes nothing."""

    @property
    def title(self) -> str:
        """Title that the file states; "" if it states none."""

    def page(self, index: int) -> AbstractContextManager[EnginePage]:
        """Open a page, counted from 0.

        Raises:
            UnreadableError: the page cannot be read; also for errors within the context.
            ReadMemoryError: no memory is left for it.
        """

    def outline(self) -> Sequence[Bookmark]:
        """Return the bookmarks in their order; raises UnreadableError."""

    def is_repaired(self) -> bool:
        """Return True if damage was found so far, and parts may be missing."""
