"""Lines of an engine in, lines of the layout out: here runs of characters become text."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import groupby
from typing import TYPE_CHECKING

from rag_nodes.readers.pdf.layout import Line
from rag_nodes.readers.pdf.nearby import ByHeight, middle_of
from rag_nodes.text.superscripts import lowered, raised

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rag_nodes.readers.pdf.engines.protocol import Font, FontRun, TextLine, Word

SYMBOL_BULLETS = str.maketrans(dict.fromkeys("\uf0b7\uf0a7\uf0d8\uf02d\uf0fc\uf076\uf06e", "•"))
LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)

SMALLER = 0.85
"""Share of the font size of a line below which a run may be a superscript."""
LOW = 0.15
"""Font sizes of a line above its baseline from which a smaller run is a superscript."""

_LETTERS = LIGATURES | SYMBOL_BULLETS
_LEADERS = re.compile(r"(?:[ \u00a0]?[.\u2026\u00b7]){4,}[ \u00a0]*")


def layout_lines(lines: Iterable[TextLine]) -> tuple[Line, ...]:
    """Make lines of the layout; those without text are left out."""
    return tuple(line for line in map(_line, lines) if line is not None)


def with_superscripts(words: Sequence[Word], lines: Sequence[Line]) -> list[Word]:
    """Return the words of a page with superscripts as the lines have them.

    Engines do not say which letters of a word are raised.
    """
    raised_lines = [line for line in lines if lowered(line.text) != line.text]
    if not raised_lines:
        return list(words)
    by_height = ByHeight(middle_of(word)[1] for word in words)
    read = list(words)
    for line in raised_lines:
        tokens: dict[str, list[str]] = defaultdict(list)
        for token in line.text.split():
            tokens[lowered(token)].append(token)
        for at in by_height.between(line.top, line.bottom):
            *_, text, block, number = words[at]
            is_inside = line.left <= middle_of(words[at])[0] <= line.right
            same = tokens.get(clean(text)) if is_inside else None
            if same:
                read[at] = (*words[at][:4], same.pop(0), block, number)
    return read


def clean(text: str) -> str:
    """Return text with plain blanks, spelled-out ligatures, real bullets, short dot leaders."""
    ending = ""
    if not text.isascii():
        body = text.rstrip()
        ending = "\u00ad" if body.endswith("\u00ad") else ""  # it matters at the end only
        text = body.replace("\u00ad", "").translate(_LETTERS)
    return " ".join(_LEADERS.sub(" ... ", text).split()) + ending


def _line(raw: TextLine) -> Line | None:
    runs = raw.runs
    weights = [len(run.text.strip()) for run in runs]
    longest = runs[weights.index(max(weights))]
    fonts: dict[Font, int] = defaultdict(int)
    for run, weight in zip(runs, weights, strict=True):
        fonts[run.font] += weight
    texts: Iterable[str] = [run.text for run in runs]
    if raw.is_upright and min(fonts).size < SMALLER * longest.font.size:
        texts = _with_superscripts(runs, longest)
    text = clean("".join(texts))
    if not text:
        return None
    left, top, right, bottom = raw.box
    return Line(
        text=text,
        left=left,
        top=top,
        right=right,
        bottom=bottom,
        baseline=longest.baseline,
        size=_dominant_size(fonts),
        bold=2 * sum(weight for font, weight in fonts.items() if font.bold) > sum(weights),
        mono=all(font.mono for font, weight in fonts.items() if weight),
        upright=raw.is_upright,
        block=raw.block,
    )


def _with_superscripts(runs: Sequence[FontRun], base: FontRun) -> Iterator[str]:
    """Yield the texts of a line, what is smaller and stands higher as raised characters."""
    for is_raised, group in groupby(runs, key=lambda run: _is_raised(run, base)):
        text = "".join(run.text for run in group)
        yield raised(text) if is_raised else text


def _is_raised(run: FontRun, base: FontRun) -> bool:
    size = base.font.size
    return run.font.size < SMALLER * size and LOW * size < base.baseline - run.baseline < size


def _dominant_size(fonts: Mapping[Font, int]) -> float:
    if len(fonts) == 1:
        return next(iter(fonts)).size
    sizes: Counter[float] = Counter()
    for font, weight in fonts.items():
        sizes[font.size] += weight
    return max(sizes, key=lambda size: (sizes[size], size))
