"""Objects of a page of PDFium: the order of texts, what clips them, what is drawn straight."""

from __future__ import annotations

import codecs
import ctypes
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from pypdfium2 import raw

from rag_nodes.readers.pdf.engines.geometry import around, moved, moved_box, product, shared, union
from rag_nodes.readers.pdf.engines.pdfium.native import matrix_from, pdfium
from rag_nodes.readers.pdf.engines.protocol import THIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rag_nodes.readers.pdf.engines.protocol import Box, Matrix

MAX_OBJECTS = 100_000
"""Objects of a page that are looked at."""
MAX_SEGMENTS = 50_000
"""Segments of paths of a page that are looked at."""
MAX_DEPTH = 12
"""Forms in forms that are opened."""

_TEXT = raw.FPDF_PAGEOBJ_TEXT

Point = tuple[float, float]


class PageObject(NamedTuple):
    """An object of a page or of a form on it.

    Attributes:
        kind: PDFium's number of the kind, such as `raw.FPDF_PAGEOBJ_TEXT`.
        handle: PDFium's object.
        form: matrix from the space of its form to the page.
        window: part of the page on which its form shows.
    """

    kind: int
    handle: int
    form: Matrix
    window: Box


@dataclass(eq=False)
class ActualText:
    """Text that a file states in place of what some objects print, and the box around them."""

    text: str
    box: Box


def objects_of(page: int, box: Box) -> list[PageObject]:
    """Return the objects of a page in the order in which they are drawn, forms opened.

    Args:
        page: handle of the page.
        box: left, bottom, right and top of the page, y upwards.
    """
    objects: list[PageObject] = []
    top = PageObject(raw.FPDF_PAGEOBJ_FORM, page, (1.0, 0.0, 0.0, 1.0, 0.0, 0.0), box)
    stack = [_children(top, pdfium.FPDFPage_CountObjects, pdfium.FPDFPage_GetObject)]
    while stack and len(objects) < MAX_OBJECTS:
        child = next(stack[-1], None)
        if child is None:
            stack.pop()
        elif child.kind != raw.FPDF_PAGEOBJ_FORM:
            objects.append(child)
        elif len(stack) < MAX_DEPTH:
            matrix = product(matrix_from(pdfium.FPDFPageObj_GetMatrix, child.handle), child.form)
            form = child._replace(form=matrix, window=clip_of(child))
            stack.append(
                _children(form, pdfium.FPDFFormObj_CountObjects, pdfium.FPDFFormObj_GetObject)
            )
    return objects


def _children(
    form: PageObject, count: Callable[[int], int], get: Callable[[int, int], int]
) -> Iterator[PageObject]:
    for index in range(min(count(form.handle), MAX_OBJECTS)):
        if handle := get(form.handle, index):
            yield form._replace(kind=pdfium.FPDFPageObj_GetType(handle), handle=handle)


def drop_actual_text(objects: Sequence[PageObject]) -> bool:
    """Forget the texts that a file states in place of what it prints; True if there are any.

    The text may be hidden, or stand for each of several objects. Only the open page changes.
    """
    marks = list(_actual_texts(objects))
    for item, mark in marks:
        pdfium.FPDFPageObj_RemoveMark(item.handle, mark)
    return bool(marks)


def actual_texts_of(objects: Sequence[PageObject]) -> dict[int, ActualText]:
    """Return the texts that stand for text objects, by their handles."""
    texts: dict[int, ActualText] = {}
    by_handle: dict[int, ActualText] = {}
    sides = [ctypes.c_float() for _ in range(4)]
    for item, mark in _actual_texts(objects):
        pdfium.FPDFPageObj_GetBounds(item.handle, *map(ctypes.addressof, sides))
        left, bottom, right, top = (side.value for side in sides)
        box = moved_box(item.form, (left, bottom, right, top))
        if mark in texts:
            texts[mark].box = union((texts[mark].box, box))
        else:
            texts[mark] = ActualText(_text_of(mark), box)
        by_handle[item.handle] = texts[mark]
    return by_handle


def _text_of(mark: int) -> str:
    size = ctypes.c_ulong()
    into = pdfium.FPDFPageObjMark_GetParamBlobValue
    into(mark, b"ActualText", None, 0, ctypes.addressof(size))
    buffer = ctypes.create_string_buffer(size.value)
    into(mark, b"ActualText", ctypes.addressof(buffer), size.value, ctypes.addressof(size))
    return buffer.raw.removeprefix(codecs.BOM_UTF16_BE).decode("utf-16-be", "replace")


def _actual_texts(objects: Sequence[PageObject]) -> Iterator[tuple[PageObject, int]]:
    """Yield each text object that another text stands for, and the handle of that mark."""
    size = ctypes.c_ulong()
    for item in objects:
        count = pdfium.FPDFPageObj_CountMarks(item.handle) if item.kind == _TEXT else 0
        for at in range(count - 1, -1, -1):
            mark = pdfium.FPDFPageObj_GetMark(item.handle, at)
            if pdfium.FPDFPageObjMark_GetParamStringValue(
                mark, b"ActualText", None, 0, ctypes.addressof(size)
            ):
                yield item, mark


def clip_of(item: PageObject) -> Box:
    """Return the part of the page on which an object shows, as far as boxes can tell.

    Clip paths are in the space of the form that holds the object.
    """
    clip = item.window
    paths = pdfium.FPDFPageObj_GetClipPath(item.handle)
    for number in range(pdfium.FPDFClipPath_CountPaths(paths) if paths else 0):
        count = pdfium.FPDFClipPath_CountPathSegments(paths, number)
        points = [
            _point(pdfium.FPDFClipPath_GetPathSegment(paths, number, at), item.form)
            for at in range(min(count, MAX_SEGMENTS))
        ]
        if points:
            clip = shared(clip, around(points))
    return clip


def edges_of(objects: Sequence[PageObject]) -> Iterator[Box]:
    """Yield the lines across and down, and the rectangles, of paths; y grows upwards."""
    left = MAX_SEGMENTS
    for item in objects:
        if item.kind != raw.FPDF_PAGEOBJ_PATH or not _is_drawn(item.handle):
            continue
        left -= pdfium.FPDFPath_CountSegments(item.handle)
        if left < 0:
            return
        matrix = product(matrix_from(pdfium.FPDFPageObj_GetMatrix, item.handle), item.form)
        for points in _straight_runs(item.handle, matrix):
            if _is_rectangle(points):
                yield around(points)
            else:
                yield from map(around, filter(_is_straight, pairwise(points)))


def _is_drawn(path: int) -> bool:
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDFPath_GetDrawMode(path, ctypes.addressof(fill), ctypes.addressof(stroke))
    return bool(fill.value or stroke.value)


def _straight_runs(path: int, matrix: Matrix) -> Iterator[list[Point]]:
    """Yield the corners of each run of straight segments; a closed one ends where it began."""
    run: list[Point] = []
    bends = 0
    for at in range(pdfium.FPDFPath_CountSegments(path)):
        segment = pdfium.FPDFPath_GetPathSegment(path, at)
        kind, point = pdfium.FPDFPathSegment_GetType(segment), _point(segment, matrix)
        if kind == raw.FPDF_SEGMENT_LINETO:
            run.append(point)
            if pdfium.FPDFPathSegment_GetClose(segment) and not bends and point != run[0]:
                run.append(run[0])
            continue
        bends = bends + 1 if kind == raw.FPDF_SEGMENT_BEZIERTO else 0
        if len(run) > 1:
            yield run
        run = [point]
    if len(run) > 1:
        yield run


def _is_rectangle(points: Sequence[Point]) -> bool:
    is_closed = len(points) == 5 and points[0] == points[-1]  # noqa: PLR2004 - four corners
    return is_closed and all(map(_is_straight, pairwise(points)))


def _is_straight(line: tuple[Point, Point]) -> bool:
    """Return True for a line across or down the page."""
    (x, y), (to, low) = line
    return min(abs(x - to), abs(y - low)) <= THIN


def _point(segment: int, matrix: Matrix) -> Point:
    x, y = ctypes.c_float(), ctypes.c_float()
    pdfium.FPDFPathSegment_GetPoint(segment, ctypes.addressof(x), ctypes.addressof(y))
    return moved(matrix, x.value, y.value)
