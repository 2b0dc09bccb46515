"""Characters and form fields of a page of PyMuPDF, for pages that its own lines do not suit."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rag_nodes.readers.pdf.engines.flow import FlowLine, GlyphRun
from rag_nodes.readers.pdf.engines.geometry import TURNS, moved, moved_box
from rag_nodes.readers.pdf.engines.looks import is_bold_name, is_mono_name
from rag_nodes.readers.pdf.engines.protocol import HIDDEN, MAX_FIELDS, Font, FormField

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rag_nodes.readers.pdf.engines.protocol import Box

_CHECKBOX, _COMBOBOX, _LISTBOX, _RADIO, _TEXT = 2, 3, 4, 5, 7
"""PyMuPDF's numbers for types of fields."""
_KINDS = {_CHECKBOX, _COMBOBOX, _LISTBOX, _RADIO, _TEXT}
# Flags of fields and fonts.
_PASSWORD, _MONOSPACED, _BOLD = 1 << 13, 8, 16
_look = itemgetter("font", "flags", "size")


def font_of(span: Mapping[str, Any]) -> Font:
    """Return size and looks of the font of one of PyMuPDF's spans."""
    return _font(*_look(span))


@lru_cache(maxsize=4096)
def _font(name: str, flags: int, size: float) -> Font:
    return Font(
        size,
        bool(flags & _BOLD) or is_bold_name(name),
        bool(flags & _MONOSPACED) or is_mono_name(name),
    )


def glyph_lines_of(blocks: Sequence[Mapping[str, Any]]) -> list[FlowLine]:
    """Return the lines of a page with their characters.

    Args:
        blocks: what PyMuPDF gives as "rawdict", ligatures kept.
    """
    lines = []
    for number, block in enumerate(blocks):
        for line in block.get("lines", ()):
            quarter = quarter_of(line["dir"])
            runs = [_run(span, quarter) for span in line["spans"] if span["chars"]]
            if runs:
                lines.append(FlowLine(runs, number))
    return lines


def quarter_of(direction: tuple[float, float]) -> int:
    """Return the quarter turns of text that runs into a direction, y downwards."""
    x, y = direction
    is_across = abs(x) >= abs(y)
    return (0 if x >= 0 else 2) if is_across else (1 if y < 0 else 3)


def _run(span: Mapping[str, Any], quarter: int) -> GlyphRun:
    matrix = TURNS[quarter]
    chars = span["chars"]
    boxes = [moved_box(matrix, char["bbox"]) for char in chars]
    return GlyphRun(
        letters=[spelled_out(char["c"]) for char in chars],
        starts=[left for left, *_ in boxes],
        ends=[right for _, _, right, _ in boxes],
        font=font_of(span),
        baseline=moved(matrix, *chars[0]["origin"])[1],
        top=min(top for _, top, *_ in boxes),
        bottom=max(bottom for *_, bottom in boxes),
        quarter=quarter,
    )


def spelled_out(letter: str) -> str:
    """Return the letters of a ligature or presentation form."""
    is_form = "\ufb00" <= letter <= "\ufdff" or "\ufe70" <= letter <= "\ufefc"
    return unicodedata.normalize("NFKC", letter) if is_form else letter


def fields_of(page: Any, frame: Any) -> Iterator[FormField]:
    """Yield the form fields of a page, moved by a matrix of PyMuPDF; a password is hidden."""
    widget, left = page.first_widget, MAX_FIELDS  # page.widgets() searches the page for each
    while widget is not None and left:
        if widget.field_type in _KINDS:
            yield _field(page, widget, tuple(widget.rect * frame))
        widget, left = widget.next, left - 1


def _field(page: Any, widget: Any, box: Box) -> FormField:
    kind = widget.field_type
    is_box = kind in {_CHECKBOX, _RADIO}
    if is_box:
        state = page.parent.xref_get_key(widget.xref, "AS")[1]
        value = "[ ]" if state in {"null", "/Off"} else "[x]"
    elif kind == _TEXT and widget.field_flags & _PASSWORD:
        value = HIDDEN
    else:
        value = _shown(widget)
    return FormField(box, value, widget.field_label or "", is_box)


def _shown(widget: Any) -> str:
    """Return the value of a field of text or choices, as it is shown."""
    values = widget.field_value
    chosen = list(values) if isinstance(values, (list, tuple)) else [values or ""]
    names: dict[str, str] = {
        choice[0]: choice[1]
        for choice in widget.choice_values or ()
        if isinstance(choice, (list, tuple))
    }
    return ", ".join(str(names.get(value, value)) for value in chosen)
