"""The picture of the README: what the most used splitter finds, and sentence selection."""

from __future__ import annotations

from results.picture import LADDER, LEVEL, NAMES
from results.summary import Named, Summary

STOCK: Named = ("plain", "LlamaIndex sentence as it comes")
_LEFT, _WIDTH, _BAR, _STEP = 130, 760, 14, 46
_SCALE = (_WIDTH - _LEFT - 60) / 100
_STYLE = """\
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5a6576; --page: #fff; --stock: #a8b1bf;
  --ours: #2563eb; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #a4afbf; --page: #12161d;
  --stock: #5a6576; --ours: #7aa7ff; } }
text { font: 13px system-ui, sans-serif; fill: var(--ink); } .small { fill: var(--soft); }
.stock { fill: var(--stock); } .ours { fill: var(--ours); } .mean { font-weight: 700; }"""


def values(summary: Summary) -> dict[str, tuple[float, float]]:
    """By set, and for their mean, what both find within the budget, in percent."""
    found = {
        name: (summary.of_set(STOCK, part, LEVEL), summary.of_set(LADDER, part, LEVEL))
        for part, name in NAMES.items()
    }
    return {**found, "mean": (summary.mean(STOCK, LEVEL), summary.mean(LADDER, LEVEL))}


def bars(summary: Summary) -> str:
    """Two bars for each set and for their mean, light or dark like the page around it."""
    shown = values(summary)
    spoken = "; ".join(f"{name}: {one:.0f} and {two:.0f} %" for name, (one, two) in shown.items())
    height = 44 + _STEP * len(shown)
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" viewBox="0 0 {_WIDTH} {height}" '
        f'role="img" aria-label="Answer text within {LEVEL:,} tokens, SentenceSplitter() and '
        f'sentence selection. {spoken}">'
    )
    parts = [
        opening,
        f"<style>\n{_STYLE}\n</style>",
        '<rect width="100%" height="100%" rx="8" style="fill: var(--page)"/>',
        f'<rect class="stock" x="{_LEFT}" y="14" width="12" height="12"/>',
        f'<text x="{_LEFT + 18}" y="25">SentenceSplitter() as it comes</text>',
        f'<rect class="ours" x="{_LEFT + 240}" y="14" width="12" height="12"/>',
        f'<text x="{_LEFT + 258}" y="25">sentence selection</text>',
    ]
    for row, (name, pair) in enumerate(shown.items()):
        top = 40 + row * _STEP
        weight = ' class="mean"' if name == "mean" else ""
        parts.append(
            f'<text{weight} x="{_LEFT - 10}" y="{top + 20}" text-anchor="end">{name}</text>'
        )
        for at, (kind, value) in enumerate(zip(("stock", "ours"), pair, strict=True)):
            y, width = top + at * (_BAR + 2), value * _SCALE
            parts += [
                f'<rect class="{kind}" x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR}"/>',
                f'<text{weight} x="{_LEFT + width + 6:.1f}" y="{y + 12}">{value:.0f} %</text>',
            ]
    return "\n".join([*parts, "</svg>\n"])
