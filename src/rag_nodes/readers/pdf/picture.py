"""One page of a PDF as a picture, with the places of its text on it.

A page may be a bomb, so it is drawn in the child process that reads files, see `ReaderPool.draw`.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rag_nodes.readers.base import Limits
from rag_nodes.readers.pdf.places import Glyphs, PrintedPage, opened_page, printed_page
from rag_nodes.text.alignment import align

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rag_nodes.core.metadata import PdfEngineName

MOST_PIXELS = 2_000
"""Pixels of the longer side of a page, whatever is asked for."""
POINTS = 72
"""Points in an inch."""
LIMITS = Limits(memory_bytes=1024**3)
"""Limits for drawing a page."""
KEPT = 8
"""Pages of a visitor that are kept, so that turning back costs nothing."""


class PagePicture(NamedTuple):
    """A page as it is printed, with its size in points.

    For each character of the page's text, `places` has the position of its glyph, -1 for none.
    """

    png: bytes
    width: float
    height: float
    glyphs: Glyphs
    places: list[int]

    @property
    def page(self) -> PrintedPage:
        """Size and characters of the page."""
        return PrintedPage(self.width, self.height, self.glyphs)

    def pack(self) -> dict[str, Any]:
        """Return the picture as values that JSON can hold."""
        boxes = [round(10 * edge) for box in self.glyphs.boxes for edge in box]
        return {
            **self._asdict(),
            "png": base64.b64encode(self.png).decode(),
            "glyphs": [self.glyphs.text, boxes, self.glyphs.lines],
        }

    @classmethod
    def unpack(cls, data: Mapping[str, Any]) -> Self:
        """Undo `pack`; raises ValueError if this is no picture."""
        try:
            text, edges, lines = data["glyphs"]
            numbers = [float(edge) / 10 for edge in edges]
            boxes = list(zip(*(iter(numbers),) * 4, strict=True))
            places = list(map(int, data["places"]))
            if not len(text) == len(boxes) == len(lines) > max(places, default=-1):
                raise ValueError("a picture whose parts do not fit")
            return cls(
                base64.b64decode(data["png"]),
                float(data["width"]),
                float(data["height"]),
                Glyphs(text, boxes, lines),
                places,
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a picture of a page: {error}") from error


def draw_page(path: Path, *, number: int, text: str, dpi: int, limits: Limits) -> PagePicture:
    """Draw a page, counted from 1, in this process, and find the characters of its text on it.

    There are fewer pixels per inch if the longer side would have more than `MOST_PIXELS`.

    Raises:
        ReadError: the file cannot be opened, has no such page, or the engine cannot draw it.
    """
    with opened_page(path, number, limits) as page:
        printed = printed_page(page)
        longer = max(printed.width, printed.height, 1.0)
        pixels = min(dpi / POINTS, MOST_PIXELS / longer)
        png = page.png(pixels)
    places = align(text, printed.glyphs.text, printed.glyphs.lines)
    return PagePicture(png, *printed, places)


class KeptPages:
    """The last pages of one visitor, drawn as by `ReaderPool.draw`; for any number of threads."""

    def __init__(
        self,
        draw: Callable[..., PagePicture],
        pdf_engine: PdfEngineName = "auto",
        ocr: str | None = None,
    ) -> None:
        limits = replace(LIMITS, pdf_engine=pdf_engine, ocr=ocr)

        @lru_cache(maxsize=KEPT)
        def drawn(path: Path, _changed: int, number: int, text: str, dpi: int) -> PagePicture:
            return draw(path, number, text, limits, dpi)

        self._drawn = drawn

    def picture(self, path: Path, number: int, text: str, dpi: int) -> PagePicture:
        """Return a page, drawn unless it is among the last ones; see `ReaderPool.draw`."""
        return self._drawn(path, path.stat().st_mtime_ns, number, text, dpi)
