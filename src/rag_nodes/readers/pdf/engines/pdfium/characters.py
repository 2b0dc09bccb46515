"""Characters of a page of PDFium, as runs in the order of the file."""

from __future__ import annotations

import ctypes
from array import array
from collections import Counter, deque
from itertools import islice, pairwise, repeat
from operator import eq
from typing import TYPE_CHECKING, NamedTuple

from pypdfium2 import raw

from rag_nodes.readers.pdf.engines.flow import BLANK, RIGHT_TO_LEFT, GlyphRun
from rag_nodes.readers.pdf.engines.geometry import (
    FLIP,
    TURNS,
    moved,
    moved_box,
    product,
    shared,
    turned,
    union,
)
from rag_nodes.readers.pdf.engines.marks import MARK
from rag_nodes.readers.pdf.engines.pdfium.native import pdfium
from rag_nodes.readers.pdf.engines.pdfium.objects import clip_of
from rag_nodes.readers.pdf.engines.pdfium.print_order import in_order, in_print_order
from rag_nodes.readers.pdf.engines.pdfium.styles import style_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rag_nodes.readers.pdf.engines.pdfium.objects import ActualText, PageObject
    from rag_nodes.readers.pdf.engines.pdfium.styles import FontLook, TextStyle
    from rag_nodes.readers.pdf.engines.protocol import Box

TRUE_BLANK = 0.11
"""Font sizes between two characters from which a blank that PDFium supposes is believed."""
_HYPHENS = frozenset("\x02\ufffe")
"""Characters that PDFium gives for hyphens at ends of lines, soft ones included."""
_SUPPOSED = " \r\n"
"""Characters that PDFium puts between others, in boxes without width."""


class _Segment(NamedTuple):
    """Neighbouring characters of a text object by their numbers, `last` not included."""

    first: int
    last: int
    item: PageObject


class PageText:
    """All characters of an open text page, in the order of PDFium but for right-to-left text.

    `numbers` are PDFium's numbers of the characters.
    """

    def __init__(self, text_page: int, *, is_bound_right: bool) -> None:
        self.handle = text_page
        count = max(0, pdfium.FPDFText_CountChars(text_page))
        self.letters = _letters(text_page, count)
        self.numbers: Sequence[int] = range(count)
        if is_bound_right or RIGHT_TO_LEFT.search("".join(self.letters)):
            self.numbers, self.letters = in_print_order(
                list(self.letters), is_bound_right=is_bound_right
            )
        self.objects: list[int | None] = list(
            map(pdfium.FPDFText_GetTextObject, repeat(text_page), self.numbers)
        )
        # All boxes go into one piece of memory: the loop is in C, and so are the slices.
        boxes = array("f", bytes(16 * count))
        address = boxes.buffer_info()[0]
        places = range(address, address + 16 * count, 16)
        calls = map(pdfium.FPDFText_GetLooseCharBox, repeat(text_page), self.numbers, places)
        deque(calls, maxlen=0)
        self.lefts, self.tops, self.rights, self.bottoms = (
            boxes[side::4].tolist() for side in range(4)
        )
        if MARK.search("".join(self.letters)):
            self._put_ink_of_marks()

    def _put_ink_of_marks(self) -> None:
        """Replace the box of each mark, which begins where its letter does, by that of its ink."""
        sides = [ctypes.c_double() for _ in range(4)]
        for at, letter in enumerate(self.letters):
            if MARK.match(letter):
                pdfium.FPDFText_GetCharBox(
                    self.handle, self.numbers[at], *map(ctypes.addressof, sides)
                )
                self.lefts[at], self.rights[at] = sides[0].value, sides[1].value

    def box(self, at: int) -> Box:
        """Return left, bottom, right and top of a character; y grows upwards."""
        return self.lefts[at], self.bottoms[at], self.rights[at], self.tops[at]

    def is_supposed(self, at: int) -> bool:
        """Return True for a blank or line end that the file does not have."""
        return self.letters[at] in _SUPPOSED and self.lefts[at] == self.rights[at]


def glyph_runs(
    text: PageText, objects: Sequence[PageObject], page: Box, actual: Mapping[int, ActualText]
) -> tuple[list[GlyphRun], int]:
    """Make runs of the characters of a page.

    Args:
        text: its characters.
        objects: its objects in the order of the file.
        page: left, bottom, right and top, y upwards.
        actual: texts that stand for objects, by their handles.

    Returns:
        The runs in the order of the file, and the quarter turns of most of its text.
    """
    items = {item.handle: item for item in objects if item.kind == raw.FPDF_PAGEOBJ_TEXT}
    places = {handle: number for number, handle in enumerate(items)}
    segments = sorted(_segments(text, items), key=lambda part: places[part.item.handle])
    looks: dict[int, FontLook] = {}  # of this page: PDFium may give a handle to another font later
    styles = [
        style_of(text.handle, text.numbers[segment.first], segment.item.handle, looks)
        for segment in segments
    ]
    counts = Counter[int]()
    for segment, style in zip(segments, styles, strict=True):
        counts[style.quarter] += segment.last - segment.first
    quarter = max(counts, key=lambda turns: (counts[turns], -turns), default=0)
    maker = _RunMaker(text, page, quarter, actual)
    runs = (maker.run(*pair) for pair in zip(segments, styles, strict=True))
    return [run for run in runs if run is not None], quarter


def _letters(text_page: int, count: int) -> Sequence[str]:
    """Return the character of each number; "" for the second half of one."""
    buffer = (ctypes.c_ushort * (count + 1))()
    written = pdfium.FPDFText_GetText(text_page, 0, count, buffer)
    whole = bytes(buffer)[: 2 * max(0, written - 1)].decode("utf-16-le", "surrogatepass")
    if written - 1 == count == len(whole):  # nearly always, and much faster
        return whole
    letters = [chr(pdfium.FPDFText_GetUnicode(text_page, at)) for at in range(count)]
    for at, (high, low) in enumerate(pairwise(letters)):
        if "\ud800" <= high < "\udc00" <= low < "\ue000":
            pair = (high + low).encode("utf-16-le", "surrogatepass")
            letters[at : at + 2] = pair.decode("utf-16-le"), ""
    return letters


def _segments(text: PageText, items: dict[int, PageObject]) -> Iterator[_Segment]:
    """Yield the characters of each object; those that PDFium added between objects have none."""
    ends = [at for at, (item, after) in enumerate(pairwise(text.objects), 1) if item != after]
    for first, last in pairwise([0, *ends, len(text.objects)]):
        item = items.get(text.objects[first] or 0) if first < last else None
        if item is not None:
            yield _Segment(first, last, item)


class _Frame:
    """Places of all characters along the direction of some text; see `GlyphRun`."""

    def __init__(self, text: PageText, page: Box, quarter: int, turns: int) -> None:
        self.matrix = a, _, c, _, e, _ = product(turned(quarter, page, FLIP), TURNS[turns])
        if a:
            low, high = text.lefts, text.rights
        else:
            low, high = text.bottoms, text.tops
        if a + c > 0:
            self.starts, self.ends = [e + x for x in low], [e + x for x in high]
        else:
            self.starts, self.ends = [e - x for x in high], [e - x for x in low]


class _RunMaker:
    """Makes runs of segments of a page that is turned so that most text runs to the right."""

    def __init__(
        self, text: PageText, page: Box, quarter: int, actual: Mapping[int, ActualText]
    ) -> None:
        self._text, self._page, self._quarter, self._actual = text, page, quarter, actual
        self._read: set[ActualText] = set()
        self._frames: dict[int, _Frame] = {}

    def run(self, segment: _Segment, style: TextStyle) -> GlyphRun | None:
        """Return the run of a segment; None if nothing of it shows."""
        first, last, _ = segment
        turns = (style.quarter - self._quarter) % 4
        if turns not in self._frames:
            self._frames[turns] = _Frame(self._text, self._page, self._quarter, turns)
        frame = self._frames[turns]
        letters = self._mapped(segment, style.look)
        starts, ends = frame.starts[first:last], frame.ends[first:last]
        hidden = self._hidden(segment)
        if hidden or starts[0] == ends[0] or starts[-1] == ends[-1] or _has_equals(starts):
            glyphs = self._glyphs(segment, style, frame, letters, hidden)
            if not glyphs:
                return None
            letters, starts, ends = map(list, zip(*glyphs, strict=True))
        actual = self._actual.get(segment.item.handle)
        if actual and RIGHT_TO_LEFT.search(actual.text):
            # PDFium has its letters in any order, and shares the first object's box among them.
            if actual in self._read:
                return None
            self._read.add(actual)
            left, _, right, _ = moved_box(frame.matrix, actual.box)
            letters, starts, ends = [actual.text], [left], [right]
        shown = next(at for at in range(first, last) if not self._text.is_supposed(at))
        _, top, _, bottom = moved_box(frame.matrix, self._text.box(shown))
        baseline = moved(frame.matrix, *self._origin(shown))[1]
        return GlyphRun(
            letters, starts, ends, style.font, baseline, top, bottom, turns, style.is_straight
        )

    def _origin(self, at: int) -> tuple[float, float]:
        x, y = ctypes.c_double(), ctypes.c_double()
        number = self._text.numbers[at]
        pdfium.FPDFText_GetCharOrigin(
            self._text.handle, number, ctypes.addressof(x), ctypes.addressof(y)
        )
        return x.value, y.value

    def _mapped(self, segment: _Segment, look: FontLook) -> list[str]:
        """Return the letters of a segment, U+FFFD for each that the font has no Unicode value of.

        PDFium shows the code in its place. Once for each letter of a font it is asked.
        """
        first, last, *_ = segment
        letters = list(self._text.letters[first:last])
        unknown = set() if look.is_drawn else set(letters) - look.mapped - look.unmapped
        for letter in unknown:
            number = self._text.numbers[first + letters.index(letter)]
            is_error = pdfium.FPDFText_HasUnicodeMapError(self._text.handle, number) == 1
            (look.unmapped if is_error and not letter.isspace() else look.mapped).add(letter)
        if look.unmapped and not look.unmapped.isdisjoint(letters):
            letters = ["\ufffd" if letter in look.unmapped else letter for letter in letters]
        if not _HYPHENS.isdisjoint(letters):
            letters = [
                self._hyphen(at) if letter in _HYPHENS else letter
                for at, letter in enumerate(letters, first)
            ]
        return letters

    def _hyphen(self, at: int) -> str:
        """Return a hyphen; U+FFFD for a letter without a Unicode value, which PDFium gives too."""
        is_hyphen = pdfium.FPDFText_IsHyphen(self._text.handle, self._text.numbers[at]) == 1
        return "-" if is_hyphen else "\ufffd"

    def _hidden(self, segment: _Segment) -> set[int]:
        """Return the characters of a segment whose middles lie outside its clip path or page."""
        text, (first, last, item) = self._text, segment
        clip = clip_of(item)
        whole = union((text.box(first), text.box(last - 1)))
        if shared(clip, whole) == whole:
            return set()
        return {at for at in range(first, last) if not _is_inside(text.box(at), clip)}

    def _glyphs(
        self,
        segment: _Segment,
        style: TextStyle,
        frame: _Frame,
        letters: Sequence[str],
        hidden: set[int],
    ) -> list[tuple[str, float, float]]:
        """Return letter, start and end of the glyphs that show, ligatures shared out."""
        glyphs: list[tuple[str, float, float]] = []
        whole = 0
        for at, letter in enumerate(letters, segment.first):
            if at in hidden or not letter:
                continue
            start, end = frame.starts[at], frame.ends[at]
            if self._text.is_supposed(at):
                if self._is_blank(at, style, frame):
                    glyphs.append((" ", start, end))
                continue
            is_part = at > segment.first and (start, end) == (
                frame.starts[at - 1],
                frame.ends[at - 1],
            )
            whole = whole + 1 if is_part and glyphs else 1
            if whole > 1 and RIGHT_TO_LEFT.match(letter):
                glyphs[-1] = glyphs[-1][0] + letter, start, end  # in this order, at one place
            elif whole > 1:
                parts = [*(glyph[0] for glyph in glyphs[1 - whole :]), letter]
                width = (end - start) / whole
                glyphs[1 - whole :] = [
                    (part, start + step * width, start + (step + 1) * width)
                    for step, part in enumerate(parts)
                ]
            else:
                glyphs.append((letter, start, end))
        return [(in_order(text, style.handle), start, end) for text, start, end in glyphs]

    def _is_blank(self, at: int, style: TextStyle, frame: _Frame) -> bool:
        """Return True if a blank that PDFium supposes is one, and too narrow for `flow` to see."""
        if not style.is_straight:
            return self._text.letters[at] == " "
        if not 0 < at < len(self._text.letters) - 1:
            return False
        size = style.font.size
        if frame.starts[at + 1] - frame.ends[at - 1] > BLANK * size:
            return False
        # What an italic f reaches over is part of its box, and not of its advance.
        width = ctypes.c_float()
        code = ord(self._text.letters[at - 1] or " ")
        pdfium.FPDFFont_GetGlyphWidth(style.handle, code, size, ctypes.addressof(width))
        origin = moved(frame.matrix, *self._origin(at - 1))[0]
        return frame.starts[at] - origin - width.value > TRUE_BLANK * size


def _is_inside(box: Box, clip: Box) -> bool:
    """Return True if the middle of a box is in a clip."""
    left, bottom, right, top = shared(box, clip)
    return 2 * (right - left) > box[2] - box[0] and 2 * (top - bottom) > box[3] - box[1]


def _has_equals(starts: Sequence[float]) -> bool:
    """Return True if two neighbours begin at one place: a ligature, or a blank that is supposed."""
    return any(map(eq, starts, islice(starts, 1, None)))
