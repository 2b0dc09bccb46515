"""Names of WordprocessingML that several modules here look for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element as Element

W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
R: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
M: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
MC: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"

VAL: Final = W + "val"
PARAGRAPH: Final = W + "p"
TABLE: Final = W + "tbl"
TEXT_BOX: Final = W + "txbxContent"

LEFT_OUT: Final = frozenset(
    {
        MC + "Fallback",  # the same again, for older programs
        W + "del",
        W + "moveFrom",
        W + "sectPr",
        W + "sdtPr",
    }
)
"""Elements among paragraphs or runs whose text is not text of the document."""


def value_of(parent: Element | None, *path: str) -> str | None:
    """`w:val` of the element that `path` (local names) leads to; None where there is none."""
    for name in path:
        if parent is None:
            return None
        parent = parent.find(W + name)
    return None if parent is None else parent.get(VAL)


def number_of(parent: Element | None, *path: str) -> int | None:
    """Like `value_of`, for a whole number; None where it is no number."""
    text = value_of(parent, *path)
    try:
        return int(text) if text is not None and len(text) < 10 else None  # noqa: PLR2004 -- 32 bits
    except ValueError:
        return None


def inside(parent: Element, wanted: str) -> Iterator[Element]:
    """Yield the children of one kind, also those that a content control or the like wraps."""
    for child in parent:
        if child.tag == wanted:
            yield child
        elif child.tag not in LEFT_OUT and child.tag not in {PARAGRAPH, TABLE}:
            yield from inside(child, wanted)
