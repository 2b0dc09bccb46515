"""Functions of PDFium with plain numbers as handles, which ctypes passes three times as fast."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from pypdfium2 import raw

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag_nodes.readers.pdf.engines.protocol import Box, Matrix


class _Library:
    """PDFium's functions by their names; pointers are integers, None for null."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(raw, name)
        kinds = [_plain(kind) for kind in (function.restype, *function.argtypes)]
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
        plain: Callable[..., Any] = ctypes.CFUNCTYPE(*kinds)(address)
        setattr(self, name, plain)
        return plain


def _plain(kind: Any) -> Any:
    return ctypes.c_void_p if hasattr(kind, "contents") else kind


pdfium = _Library()


def text_from(function: Callable[..., int], *arguments: Any, encoding: str = "utf-16-le") -> str:
    """Return the text that a function of PDFium writes into a buffer."""
    size = function(*arguments, None, 0)
    buffer = ctypes.create_string_buffer(size)
    function(*arguments, buffer, size)
    return buffer.raw.decode(encoding, "replace").rstrip("\0")


def rectangle_from(function: Callable[..., int], *arguments: Any) -> Box | None:
    """Return left, bottom, right and top of the rectangle that a function writes; None for none."""
    box = raw.FS_RECTF()
    is_there = function(*arguments, ctypes.addressof(box))
    return (box.left, box.bottom, box.right, box.top) if is_there else None


def matrix_from(function: Callable[..., int], *arguments: Any) -> Matrix:
    """Return the matrix that a function writes."""
    matrix = raw.FS_MATRIX(1, 0, 0, 1, 0, 0)
    function(*arguments, ctypes.addressof(matrix))
    return matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f
