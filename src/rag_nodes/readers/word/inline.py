"""Paragraphs of a Word file in, their text with links and note marks out."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from rag_nodes.readers import formulas
from rag_nodes.readers.markup import link
from rag_nodes.readers.word.forms import box_of, field_value
from rag_nodes.readers.word.names import (
    LEFT_OUT,
    MC,
    TEXT_BOX,
    VAL,
    M,
    R,
    W,
    number_of,
    value_of,
)
from rag_nodes.text.superscripts import raised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lxml.etree import _Element as Element

    from rag_nodes.readers.word.package import Relation
    from rag_nodes.readers.word.styles import Styles

_ADDRESS = re.compile(r'\s*HYPERLINK\s+"([^"]*)"')
_SYMBOL = "\ufffd"
_AS_SPACES = str.maketrans("\t\n\r", "   ")
"""Blank space within the text of a run: tabs and line breaks that Word shows are elements."""

_NO_TEXT: Final = LEFT_OUT | {
    W + "pPr",
    W + "rPr",
    W + "delText",
    W + "rt",  # the reading above a Chinese or Japanese word; the word itself stays
    W + "softHyphen",
}
_BRACKETS = (("begChr", "("), ("endChr", ")"))
"""Options of an equation's brackets, with what is drawn without them."""
_MARKS: Final[Mapping[str, str]] = {
    W + "tab": "\t",
    W + "ptab": "\t",
    W + "br": "\n",
    W + "cr": "\n",
    W + "noBreakHyphen": "\u2011",
}
RAISED_BY = 6
"""Half points above the line from which characters are a superscript; that of Word is at 7."""
IMAGES: Final = (
    "image, chart or embedded object was left out",
    "images, charts or embedded objects were left out",
)
"""Warnings about losses, in the singular and the plural."""
EQUATIONS: Final = (
    "equation was written on one line",
    "equations were written on one line",
)
SYMBOLS: Final = (
    "symbol of a special font became \ufffd",
    "symbols of special fonts became \ufffd",
)
HIDDEN: Final = ("hidden piece of text was left out", "hidden pieces of text were left out")


class Notes:
    """Numbers of footnotes and endnotes, in the order in which the text refers to them.

    Args:
        numbers: numbers of the next notes, shared with the documents that a document embeds.
    """

    def __init__(self, numbers: Iterator[int]) -> None:
        self._next = numbers
        self._numbers: dict[tuple[str, str], int] = {}
        self._order: list[tuple[str, str]] = []

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield kind and id of each note, also of notes that are referred to meanwhile."""
        return iter(self._order)

    def mark(self, kind: str, note: str) -> str:
        """Give the mark of a note, the same wherever the text refers to it."""
        key = kind, note
        if key not in self._numbers:
            self._order.append(key)
            self._numbers[key] = next(self._next)
        return f"[^{self._numbers[key]}]"


class _Field:
    """A field such as a link or a page number: an instruction, then the text it gave."""

    def __init__(self, value: str | None) -> None:
        self.value = value
        self.instruction = ""
        self.result_at: int | None = None


class InlineReader:
    """Text of paragraphs; what cannot be taken over is counted in `losses`."""

    def __init__(self, relations: Mapping[str, Relation], notes: Notes, styles: Styles) -> None:
        self.losses: Counter[tuple[str, str]] = Counter()
        self._relations = relations
        self._styles = styles
        self._is_raised = False
        self._notes = notes
        self._out: list[str] = []
        self._fields: list[_Field] = []
        self._boxes: list[Element] = []
        self._last_link = -1
        self._handlers: dict[str, Callable[[Element], None]] = {
            W + "t": self._text,
            W + "r": self._run,
            W + "hyperlink": self._hyperlink,
            W + "fldChar": self._field_mark,
            W + "instrText": self._instruction,
            W + "fldSimple": self._simple_field,
            W + "footnoteReference": self._note,
            W + "endnoteReference": self._note,
            W + "sym": self._symbol,
            W + "drawing": self._drawing,
            W + "pict": self._drawing,
            W + "object": self._drawing,
            M + "oMath": self._equation,
        }

    def read(self, paragraph: Element) -> tuple[str, list[Element]]:
        """Give the text of a paragraph and the text boxes anchored in it."""
        self._out, self._fields, self._boxes = [], [], []
        self._last_link = -1
        self._children(paragraph)
        return "".join(self._out), self._boxes

    def _children(self, element: Element) -> None:
        """Go on inside; what we do not know may wrap text, so nothing is lost by its name."""
        for child in element:
            handler = self._handlers.get(child.tag)
            if handler is not None:
                handler(child)
            elif child.tag in _MARKS:
                self._emit(_MARKS[child.tag])
            elif child.tag not in _NO_TEXT:
                self._children(child)

    def _emit(self, text: str) -> None:
        if not self._fields or self._fields[-1].result_at is not None:
            self._out.append(text)

    def _text(self, element: Element) -> None:
        text = (element.text or "").translate(_AS_SPACES)
        self._emit(raised(text) if self._is_raised else text)

    def _run(self, run: Element) -> None:
        properties = run.find(W + "rPr")
        hidden = None if properties is None else properties.find(W + "vanish")
        if hidden is not None and hidden.get(VAL) not in {"0", "false", "off"}:
            self.losses[HIDDEN] += run.find(W + "t") is not None
            return
        self._is_raised = self._raises(properties)
        self._children(run)
        self._is_raised = False

    def _raises(self, properties: Element | None) -> bool:
        """Return True if a run is a superscript, by its own properties or by its style."""
        if (number_of(properties, "position") or 0) >= RAISED_BY:
            return True
        own = value_of(properties, "vertAlign")
        style = value_of(properties, "rStyle")
        return own == "superscript" or (own is None and self._styles.is_raised(style))

    def _hyperlink(self, element: Element) -> None:
        relation = self._relations.get(element.get(R + "id", ""))
        start = len(self._out)
        self._children(element)
        self._wrap(start, relation.target if relation and relation.external else None)

    def _wrap(self, start: int, address: str | None) -> None:
        """Make a link of what came since `start`, unless there is one in it: none holds another."""
        text = "".join(self._out[start:])
        if self._last_link < start and (linked := link(text, address)) != text:
            self._out[start:] = [linked]
            self._last_link = start

    def _field_mark(self, element: Element) -> None:
        kind = element.get(W + "fldCharType")
        if kind == "begin":
            self._fields.append(_Field(field_value(element)))
        elif kind == "separate" and self._fields:
            self._fields[-1].result_at = len(self._out)
        elif kind == "end" and self._fields:  # else it began in a paragraph before
            field = self._fields.pop()
            start = len(self._out) if field.result_at is None else field.result_at
            if field.value is not None and not "".join(self._out[start:]).strip():
                self._emit(field.value)
            self._wrap(start, _address(field.instruction))

    def _instruction(self, element: Element) -> None:
        if self._fields:
            self._fields[-1].instruction += element.text or ""

    def _simple_field(self, element: Element) -> None:
        start = len(self._out)
        self._children(element)
        self._wrap(start, _address(element.get(W + "instr", "")))

    def _note(self, element: Element) -> None:
        kind = element.tag.removesuffix("Reference")
        self._emit(self._notes.mark(kind, element.get(W + "id", "")))

    def _symbol(self, element: Element) -> None:
        """Write a place in a font such as Wingdings, whose sign only the font knows."""
        box = box_of(element)
        self.losses[SYMBOLS] += box is None
        self._emit(box or _SYMBOL)

    def _drawing(self, element: Element) -> None:
        boxes = list(text_boxes(element))
        self._boxes += boxes
        if not boxes:
            self.losses[IMAGES] += 1

    def _equation(self, element: Element) -> None:
        self.losses[EQUATIONS] += 1
        self._emit(formulas.one_line(_formula(element)))


def text_boxes(element: Element) -> Iterator[Element]:
    """Yield the text boxes of a drawing; one within another belongs to the paragraph it is in."""
    for child in element:
        if child.tag == TEXT_BOX:
            yield child
        elif child.tag != MC + "Fallback":
            yield from text_boxes(child)


def _formula(element: Element) -> str:
    """Return an element of an equation as text."""
    if element.tag == M + "t":
        return element.text or ""
    parts = [(_name(child), _formula(child)) for child in element if child.tag not in LEFT_OUT]
    match _name(element):
        case "f":
            is_stack = _shown(element, "f", "type") == "noBar"
            return formulas.written("stack" if is_stack else "fraction", parts[-2:])
        case "rad":
            return formulas.written("root", parts)
        case "d":
            inside = _shown(element, "d", "sepChr", "|").join(t for name, t in parts if name == "e")
            first, last = (_shown(element, "d", end, sign) for end, sign in _BRACKETS)
            return f"{first}{inside}{last}"
        case "nary":
            return _shown(element, "nary", "chr", "∫") + formulas.written("nary", parts)
        case name:
            return formulas.written(name, parts)


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _shown(element: Element, name: str, option: str, usual: str = "") -> str:
    """Return an option of an element of an equation, such as the sign that it draws."""
    setting = element.find(f"{M}{name}Pr/{M}{option}")
    return usual if setting is None else setting.get(M + "val", "")


def _address(instruction: str) -> str | None:
    match = _ADDRESS.match(instruction)
    return match.group(1) if match else None
