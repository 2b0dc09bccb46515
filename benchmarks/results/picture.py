"""The size curves of five sets, and the one line that needs no size, as SVG."""

from __future__ import annotations

from math import log2
from typing import NamedTuple

from systems import CURVE

from results.summary import Named, Summary

LEVEL = 1000
LADDER: Named = ("ladder", "ladder")
NAMES = {
    "headed": "documentation",
    "evidence_inference": "trial reports",
    "qmsum": "meetings",
    "xquad": "encyclopaedia",
    "chroma": "mixed corpora",
}
_WIDTH, _HEIGHT = 760, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 128, 34, 48
_OPENING = (
    f'<svg xmlns="http://www.w3.org/2000/svg" width="960" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
    'role="img"'
)
_STEP = 10
_APART = 16
_STYLE = """\
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5a6576; --line: #d9dee6; --page: #fff;
  --c0: #2563eb; --c1: #d9480f; --c2: #2b8a3e; --c3: #9c36b5; --c4: #0b7285; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #a4afbf; --line: #363f4d;
  --page: #12161d; --c0: #7aa7ff; --c1: #ff9d6b; --c2: #6fd08c; --c3: #d99aec; --c4: #5cc7da; } }
text { font: 12px system-ui, sans-serif; fill: var(--ink); }
.tick { fill: var(--soft); } .grid { stroke: var(--line); } .axis { stroke: var(--soft); }
.curve { fill: none; stroke: currentColor; stroke-width: 2.2; }
.dot { fill: currentColor; stroke: var(--page); }
.name { fill: currentColor; font-weight: 600; }
.ladder { stroke: var(--ink); stroke-width: 4; } .band { fill: var(--ink); opacity: .1; }
.said { font-weight: 700; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); }
.c3 { color: var(--c3); } .c4 { color: var(--c4); }"""


class Curves(NamedTuple):
    """What the picture shows, in points beside the best size of each set.

    Attributes:
        sizes: by set one value for each of `CURVE`, 0 at the best.
        best: by set the best size.
        ladder: by set how far the ladder is above that.
    """

    sizes: dict[str, list[float]]
    best: dict[str, int]
    ladder: dict[str, float]


def curves(summary: Summary) -> Curves:
    """The curves of our `recursive` and the ladder on its chunks of 200 tokens."""
    drawn = Curves({}, {}, {})
    for name in summary.sets:
        points = [summary.of_set(("plain", f"recursive {size}"), name, LEVEL) for size in CURVE]
        best = max(points)
        drawn.sizes[name] = [value - best for value in points]
        drawn.best[name] = CURVE[points.index(best)]
        drawn.ladder[name] = summary.of_set(LADDER, name, LEVEL) - best
    return drawn


def picture(summary: Summary | None = None) -> str:
    """A file of its own, light or dark like the page around it."""
    shown = curves(summary or Summary.load())
    least = min(min(points) for points in shown.sizes.values())
    frame = _Frame(
        -_STEP * (-least // _STEP + 1), _STEP * (max(shown.ladder.values()) // _STEP + 1)
    )
    best = ", ".join(f"{NAMES[name]} {size}" for name, size in shown.best.items())
    spoken = f"Recall at {LEVEL} tokens against the best chunk size of each set: {best}"
    return "\n".join(
        (
            f'{_OPENING} aria-label="{spoken}; sentence selection needs no size">',
            f"<style>\n{_STYLE}\n</style>",
            '<rect width="100%" height="100%" rx="8" style="fill: var(--page)"/>',
            *_grid(frame),
            *_curves(frame, shown),
            *_ladder(frame, shown),
            "</svg>\n",
        )
    )


class _Frame(NamedTuple):
    bottom: float
    top: float

    def x(self, size: float) -> float:
        share = log2(size / CURVE[0]) / log2(CURVE[-1] / CURVE[0])
        return _LEFT + 12 + share * (_WIDTH - _LEFT - _RIGHT - 24)

    def y(self, points: float) -> float:
        share = (points - self.bottom) / (self.top - self.bottom)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _grid(frame: _Frame) -> list[str]:
    parts = []
    for points in range(int(frame.bottom), int(frame.top) + 1, _STEP):
        y = frame.y(points)
        parts.append(_line(_LEFT, y, _WIDTH - _RIGHT, y, "grid" if points else "axis"))
        parts.append(_text(_LEFT - 8, y + 4, f"{points:+d}" if points else "0", "tick", "end"))
    below = _HEIGHT - _BOTTOM + 18
    parts += [_text(frame.x(size), below, f"{size}", "tick", "middle") for size in CURVE]
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(_text(middle, _HEIGHT - 8, "tokens a chunk may have", "tick", "middle"))
    axis_title = "points of recall, against the best chunk size of each set"
    return [*parts, _text(_LEFT - 30, 18, axis_title, "tick")]


def _curves(frame: _Frame, shown: Curves) -> list[str]:
    parts, ends = [], []
    for number, (name, points) in enumerate(shown.sizes.items()):
        places = [
            (frame.x(size), frame.y(value)) for size, value in zip(CURVE, points, strict=True)
        ]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dots = "".join(
            f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in places
        )
        parts.append(
            f'<g class="c{number}" data-set="{name}"><polyline class="curve" points="{line}"/>'
            f"{dots}</g>"
        )
        ends.append((places[-1][1], number, name))
    free = 0.0
    for y, number, name in sorted(ends):
        at = max(y, free)
        free = at + _APART
        parts.append(_text(_WIDTH - _RIGHT + 8, at + 4, NAMES[name], f"name c{number}"))
    return parts


def _ladder(frame: _Frame, shown: Curves) -> list[str]:
    values = list(shown.ladder.values())
    mean = sum(values) / len(values)
    left, right = _LEFT, _WIDTH - _RIGHT
    top, bottom = frame.y(max(values)), frame.y(min(values))
    band = f'<rect class="band" x="{left}" y="{top:.1f}" width="{right - left}" '
    return [
        f'{band}height="{bottom - top:.1f}"/>',
        _line(left, frame.y(mean), right, frame.y(mean), "ladder"),
        _text(right + 8, frame.y(mean) + 4, f"no size: {mean:+.1f}", "said"),
    ]


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
