"""Figures of the README: sentence selection and every setting of other packages, as dots."""

from __future__ import annotations

from results.field import Field
from results.picture import LEVEL, NAMES

_WIDTH, _LEFT, _RIGHT = 760, 120, 500
_TOP, _STEP = 66, 36
_COLUMNS = {"ours": 560, "best": 640, "stock": 725}
"""Middle of each column of numbers."""
_STYLE = """\
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5a6576; --line: #d9dee6; --page: #fff;
  --peer: #8b95a5; --ours: #2563eb; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #a4afbf; --line: #363f4d;
  --page: #12161d; --peer: #8792a3; --ours: #7aa7ff; } }
text { font: 13px system-ui, sans-serif; fill: var(--ink); }
.small { font-size: 12px; fill: var(--soft); }
.grid { stroke: var(--line); } .range { stroke: var(--peer); stroke-width: 2; opacity: .5; }
.peer { fill: var(--peer); stroke: var(--page); } .ours { fill: var(--ours); stroke: var(--page); }
.stock { fill: var(--page); stroke: var(--ink); stroke-width: 2; }
.number { fill: var(--ours); font-weight: 700; } .mean { font-weight: 700; }"""


def dots(field: Field) -> str:
    """Return a figure with a row for each set and for their mean, light or dark like its page."""
    ours, stock = field.values(field.ours), field.values(field.stock)
    peers = [field.values(peer) for peer in field.peers]
    least = 10 * (min(min(peer.values()) for peer in peers) // 10)
    names = {**NAMES, "mean": "mean of five"}
    spoken = "; ".join(
        f"{title}: {ours[name]:.1f}, {max(peer[name] for peer in peers):.1f}, {stock[name]:.1f}"
        for name, title in names.items()
    )
    height = _TOP + _STEP * len(names) + 30
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" viewBox="0 0 {_WIDTH} {height}" '
        f'role="img" aria-label="Percentage of the answer text within {LEVEL:,} tokens, '
        f"{field.search}: sentence selection, the best of the others "
        f'on that set, SentenceSplitter(). {spoken}">'
    )
    parts = [
        opening,
        f"<style>\n{_STYLE}\n</style>",
        '<rect width="100%" height="100%" rx="8" style="fill: var(--page)"/>',
        *_legend(field.legend),
        *_grid(least, height),
    ]
    for row, (name, title) in enumerate(names.items()):
        y = _TOP + row * _STEP + _STEP // 2
        values = sorted(peer[name] for peer in peers)
        low, high = _x(values[0], least), _x(values[-1], least)
        parts += [
            _text(_LEFT - 12, y + 4, title, "mean" if name == "mean" else "", "end"),
            f'<line class="range" x1="{low:.1f}" y1="{y}" x2="{high:.1f}" y2="{y}"/>',
            *(_dot(_x(value, least), y, "peer", 4.5) for value in values),
            _dot(_x(stock[name], least), y, "stock", 5),
            _dot(_x(ours[name], least), y, "ours", 7.5),
            _text(_COLUMNS["ours"], y + 4, f"{ours[name]:.1f}", "number"),
            _text(_COLUMNS["best"], y + 4, f"{values[-1]:.1f}"),
            _text(_COLUMNS["stock"], y + 4, f"{stock[name]:.1f}"),
        ]
    return "\n".join([*parts, "</svg>\n"])


def _legend(peers: str) -> list[str]:
    """Return the marks and their names, which are the heads of the columns, too."""
    return [
        _dot(_LEFT, 24, "ours", 7.5),
        _text(_LEFT + 14, 28, "sentence selection", "", "start"),
        _dot(_LEFT + 152, 24, "stock", 5),
        _text(_LEFT + 164, 28, "SentenceSplitter() with its defaults", "", "start"),
        _dot(_LEFT, 48, "peer", 4.5),
        _text(_LEFT + 14, 52, peers, "", "start"),
        _text(_COLUMNS["ours"], 28, "sentence", "small"),
        _text(_COLUMNS["ours"], 44, "selection", "small"),
        _text(_COLUMNS["best"], 28, "best of", "small"),
        _text(_COLUMNS["best"], 44, "the others", "small"),
        _text(_COLUMNS["stock"], 28, "Sentence-", "small"),
        _text(_COLUMNS["stock"], 44, "Splitter()", "small"),
    ]


def _grid(least: float, height: int) -> list[str]:
    bottom = height - 26
    marks = []
    for value in range(int(least), 101, 10):
        x = _x(value, least)
        marks.append(f'<line class="grid" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{bottom}"/>')
        marks.append(_text(x, bottom + 17, f"{value} %", "small"))
    return marks


def _x(value: float, least: float) -> float:
    return _LEFT + (value - least) / (100 - least) * (_RIGHT - _LEFT)


def _dot(x: float, y: float, kind: str, radius: float) -> str:
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "middle") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
