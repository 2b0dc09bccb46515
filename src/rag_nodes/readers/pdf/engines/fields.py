"""Values of form fields beside the labels that are printed for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from rag_nodes.readers.pdf.engines.flow import FlowLine, GlyphRun
from rag_nodes.readers.pdf.engines.geometry import holds
from rag_nodes.readers.pdf.engines.protocol import Font
from rag_nodes.readers.pdf.nearby import ByBand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.readers.pdf.engines.protocol import FormField

BESIDE = 20.0
"""Font sizes between a label and its field at most."""
ABOVE = 1.6
"""Font sizes between the bottom of a label and the field below it at most."""
SIZE = 10.0
"""Font size of values on a page without other text."""
ADVANCE = 0.5
"""Width of a letter in font sizes, if a value is not printed as it is stored."""

Letter = tuple[str, float, float]
"""A letter with its left and right edge."""


def with_fields(lines: list[FlowLine], fields: Sequence[FormField]) -> list[FlowLine]:
    """Return the lines of a page, the value of each field in the line of its label.

    Engines print values apart from the page, and a tick as a letter of a font of pictures. A field
    without a label is a line of its own. Values have the size of their labels and are never bold:
    none looks like a heading.
    """
    filled = sorted(
        (field for field in fields if field.value), key=lambda field: (field.box[1], field.box[0])
    )
    if not filled:
        return lines
    page = _Page(lines)
    for field, printed in zip(filled, page.take(filled), strict=True):
        page.put(field, _letters(field, printed, page.size))
    return page.lines


def _letters(field: FormField, printed: Sequence[Letter], size: float) -> list[Letter]:
    """Return the letters of a value: those on the page if they spell it, else new ones."""
    text = "".join(letter for letter, *_ in printed)
    if not field.is_box and "".join(text.split()) == "".join(field.value.split()):
        return list(printed)
    value = " ".join(field.value.split())
    left, _, right, _ = field.box
    advance = min(ADVANCE * size, (right - left) / len(value))
    return [
        (letter, left + at * advance, left + (at + 1) * advance) for at, letter in enumerate(value)
    ]


@dataclass(slots=True)
class _Label:
    """A line that may be the label of fields, and its place before it had any."""

    line: FlowLine
    size: float
    baseline: float
    middle: float
    left: float
    right: float

    @classmethod
    def of(cls, line: FlowLine) -> _Label:
        main = line.main
        return cls(line, main.font.size, main.baseline, line.middle, line.left, line.right)


class _Page:
    """Lines of a page, and fields to be put among them."""

    def __init__(self, lines: Sequence[FlowLine]) -> None:
        self.lines = list(lines)
        self.size = SIZE
        self._labels: list[_Label] = []

    def take(self, fields: Sequence[FormField]) -> list[list[Letter]]:
        """Remove the letters that stand in each field from the lines, and return them."""
        bands = ByBand((field.box[1], field.box[3]) for field in fields)
        inside: list[list[Letter]] = [[] for _ in fields]
        for line in self.lines:
            near = [] if line.quarter else bands.near(line.middle)
            for at, run in enumerate(line.runs if near else ()):
                letters: list[Letter] = []
                for letter in run.glyphs:
                    x, y = (letter[1] + letter[2]) / 2, (run.top + run.bottom) / 2
                    number = next((n for n in near if holds(fields[n].box, x, y)), None)
                    (letters if number is None else inside[number]).append(letter)
                line.runs[at] = run.with_glyphs(letters)
            line.runs[:] = [run for run in line.runs if run.letters]
        self.lines = [line for line in self.lines if line.runs]
        self._labels = [_Label.of(line) for line in self.lines if not line.quarter]
        self.size = median(label.size for label in self._labels) if self._labels else SIZE
        return inside

    def put(self, field: FormField, letters: list[Letter]) -> None:
        """Put the letters of a field into the line of its label, or into a line of their own."""
        _, top, right, bottom = field.box
        if label := self._label(field):
            run = _run(letters, label.size, label.baseline, top, bottom)
            # A field stands at its place in the line, and behind a label above it.
            is_beside = label.middle > top - label.size / 4
            runs = label.line.runs
            runs[:] = _inserted(runs, run, run.starts[0] if is_beside else label.right)
            label.right = max(label.right, right)
            return
        start = letters[0][1]
        label_text = f"{field.label.rstrip(': ')}: " if field.label else ""
        letters = [*((letter, start, start) for letter in label_text), *letters]
        run = _run(letters, self.size, (top + bottom) / 2 + self.size / 3, top, bottom)
        block = 1 + max((line.block for line in self.lines), default=-1)
        line = FlowLine([run], block)
        above = max(
            (label for label in self._labels if label.middle < top),
            key=lambda label: label.middle,
            default=None,
        )
        places = (at for at, other in enumerate(self.lines, 1) if above and other is above.line)
        self.lines.insert(next(places, 0), line)
        self._labels.append(_Label.of(line))

    def _label(self, field: FormField) -> _Label | None:
        """Return the nearest line in the row of a field, else the one above it.

        The label of a box to tick may stand behind it, that of another field may not.
        """
        left, top, right, bottom = field.box
        beside, over = [], []
        for at, label in enumerate(self._labels):
            size, middle = label.size, label.middle
            if top - size / 4 <= middle <= bottom + size / 4:
                behind = label.left - right
                distance = max(left - label.right, behind, 0.0)
                if distance <= BESIDE * size and (field.is_box or behind <= 0):
                    beside.append((distance, abs(middle - (top + bottom) / 2), at))
            elif 0 < top - middle <= ABOVE * size and abs(label.left - left) <= 2 * size:
                over.append((top - middle, 0.0, at))
        nearest = min(beside or over, default=None)
        return None if nearest is None else self._labels[nearest[2]]


def _run(
    letters: Sequence[Letter], size: float, baseline: float, top: float, bottom: float
) -> GlyphRun:
    run = GlyphRun([], [], [], Font(size, bold=False, mono=False), baseline, top, bottom)
    return run.with_glyphs(letters)


def _inserted(runs: Sequence[GlyphRun], value: GlyphRun, place: float) -> list[GlyphRun]:
    """Return the runs of a line and a value at a place in it, none of them bold."""
    before: list[GlyphRun] = []
    behind: list[GlyphRun] = []
    for run in runs:
        letters = list(run.glyphs)
        at = next((at for at, start in enumerate(run.starts) if start > place), None)
        cut = 0 if behind else len(letters) if at is None else at
        for part, side in ((letters[:cut], before), (letters[cut:], behind)):
            if part:
                font = run.font._replace(bold=False)
                side.append(replace(run.with_glyphs(part), font=font))
    _end_with_blank(before)
    if behind:
        _end_with_blank([value])
    return [*before, value, *behind]


def _end_with_blank(runs: Sequence[GlyphRun]) -> None:
    if runs and not runs[-1].letters[-1].isspace():
        runs[-1].add(" ", runs[-1].ends[-1], runs[-1].ends[-1])
