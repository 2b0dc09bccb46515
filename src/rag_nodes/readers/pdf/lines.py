"""Lines of an engine in, lines of the layout out: here runs of characters become text."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from rag_nodes.readers.pdf.layout import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rag_nodes.readers.pdf.engines.protocol import FontRun, TextLine

SYMBOL_BULLETS = str.maketrans(dict.fromkeys("\uf0b7\uf0a7\uf0d8\uf02d\uf0fc\uf076\uf06e", "•"))
LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)

_BLANKS = re.compile(r"[\s\u00a0]+")
_LEADERS = re.compile(r"(?:[ \u00a0]?[.\u2026\u00b7]){4,}[ \u00a0]*")


def layout_lines(lines: Iterable[TextLine]) -> tuple[Line, ...]:
    """Make lines of the layout; those without text are left out."""
    made = (_line(line) for line in lines)
    return tuple(line for line in made if line is not None)


def clean(text: str) -> str:
    """Return text with plain blanks, spelled-out ligatures, real bullets, short dot leaders."""
    body = text.rstrip()
    ending = "\u00ad" if body.endswith("\u00ad") else ""  # a soft hyphen matters at the end only
    body = body.replace("\u00ad", "").translate(LIGATURES).translate(SYMBOL_BULLETS)
    return one_line(_LEADERS.sub(" ... ", body)) + ending


def one_line(text: str) -> str:
    """Return text with each run of white space as one blank, and none at its ends."""
    return _BLANKS.sub(" ", text).strip()


def _line(raw: TextLine) -> Line | None:
    text = clean("".join(run.text for run in raw.runs))
    if not text:
        return None
    weights = [(len(run.text.strip()), run) for run in raw.runs]
    left, top, right, bottom = raw.box
    return Line(
        text=text,
        left=left,
        top=top,
        right=right,
        bottom=bottom,
        baseline=max(weights, key=lambda pair: pair[0])[1].baseline,
        size=_dominant_size(weights),
        bold=2 * sum(weight for weight, run in weights if run.font.bold)
        > sum(weight for weight, _ in weights),
        mono=all(run.font.mono for weight, run in weights if weight),
        upright=raw.is_upright,
        block=raw.block,
    )


def _dominant_size(weights: Sequence[tuple[int, FontRun]]) -> float:
    sizes: Counter[float] = Counter()
    for weight, run in weights:
        sizes[run.font.size] += weight
    return max(sizes, key=lambda size: (sizes[size], size))
