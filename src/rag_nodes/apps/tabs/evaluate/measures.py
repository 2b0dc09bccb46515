"""What can be said about chunks without labelled questions: a table and bars."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from rag_nodes.apps.view.html import Html, tag
from rag_nodes.apps.view.parts import bones, colour_of, count, notice, percent, swatch, title_of
from rag_nodes.apps.view.plots import Bar, bars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.evaluation import Tally
    from rag_nodes.evaluation.tally import Problem

_DASH = "\N{EN DASH}"
_FEWEST = 2
"""Different values of which one can be the best."""
_ARROWS = {"more": "\N{UPWARDS ARROW}", "less": "\N{DOWNWARDS ARROW}"}


class Judged(NamedTuple):
    """One strategy's measures.

    Attributes:
        strategy: preset.
        tally: its measures; None where its chunks could not be read.
        price: US dollars per million tokens to embed; None where unknown.
        error: why there is no tally.
    """

    strategy: str
    tally: Tally | None
    price: float | None
    error: str | None = None


class MeasureRow(NamedTuple):
    """One row of the table.

    Attributes:
        name: what it is called.
        meaning: its definition in a line.
        value: its text for a strategy.
        problems: what the chunks behind it are found by; none for no list.
        length: of its bar, where it has one.
        is_share: the bar is a part of 1; others are drawn relative to the longest.
        least: value that fills a bar of those, unless a larger one is there.
        better: which way is better; "" where neither is.
    """

    name: str
    meaning: str
    value: Callable[[Tally, Judged], str]
    problems: tuple[Problem, ...] = ()
    length: Callable[[Tally], float | None] | None = None
    is_share: bool = True
    least: float = 0.0
    better: Literal["more", "less", ""] = ""

    def best(self, tallies: Sequence[Tally]) -> float | None:
        """The best there is of several; None without a direction, and where all are alike."""
        amounts = {one for tally in tallies if (one := self.amount(tally)) is not None}
        if not self.better or len(amounts) < _FEWEST:
            return None
        return max(amounts) if self.better == "more" else min(amounts)

    def amount(self, tally: Tally) -> float | None:
        """What is compared: the length of the bar, or how many chunks are behind the number."""
        return self.length(tally) if self.length else float(len(tally.of(*self.problems)))


def _decimal(value: float | None) -> str:
    return _DASH if value is None else f"{value:.2f}"


def _dollars(tally: Tally, judged: Judged) -> str:
    cost = tally.cost(judged.price)
    if cost is None:
        return _DASH
    return "$0" if cost == 0 else f"${cost:.2f}" if cost >= 1 else f"${cost:.5f}"


_COHESIVE = 0.2
"""Cosine that fills a bar at least: scaled to their largest, differences that mean nothing would
fill it."""
_WEAK = (
    "Cohesion is weak evidence: it counts the words that neighbouring sentences share, and small "
    "differences mean nothing. None of these numbers says whether an answer is found: asked "
    "labelled questions, each pointed one way on some documents and the other way on others."
)

MEASURES: dict[str, MeasureRow] = {
    "size": MeasureRow(
        "Size compliance",
        "chunks within the parser's own least and largest size",
        lambda tally, _: percent(tally.compliance),
        ("oversized", "undersized"),
        lambda tally: tally.compliance,
        better="more",
    ),
    "oversized": MeasureRow(
        "Over the limit",
        "chunks larger than the parser was told to make",
        lambda tally, _: f"{len(tally.of('oversized')):,}",
        ("oversized",),
        better="less",
    ),
    "boundaries": MeasureRow(
        "Clean ends",
        "chunks that end where a sentence, a row or a block ends",
        lambda tally, _: percent(tally.boundaries),
        ("open-end",),
        lambda tally: tally.boundaries,
        better="more",
    ),
    "blocks": MeasureRow(
        "Tables and code whole",
        "tables and code blocks that one chunk holds in full",
        lambda tally, _: f"{tally.whole:,} of {tally.blocks:,}" if tally.blocks else _DASH,
        ("cut-block",),
        lambda tally: tally.intact,
        better="more",
    ),
    "overlap": MeasureRow(
        "Overlap",
        "characters that the chunk before holds too",
        lambda tally, _: percent(tally.overlap),
        (),
        lambda tally: tally.overlap,
    ),
    "duplicates": MeasureRow(
        "Duplicates",
        "chunks whose words an earlier chunk has already",
        lambda tally, _: f"{len(tally.of('duplicate')):,}",
        ("duplicate",),
        better="less",
    ),
    "cohesion": MeasureRow(
        "Cohesion inside",
        "mean cosine of neighbouring sentences in one chunk, by their words",
        lambda tally, _: _decimal(tally.cohesion),
        (),
        lambda tally: tally.cohesion,
        is_share=False,
        least=_COHESIVE,
        better="more",
    ),
    "parting": MeasureRow(
        "Cohesion across",
        "the same of neighbours a boundary parts",
        lambda tally, _: _decimal(tally.parting),
        ("related",),
        lambda tally: tally.parting,
        is_share=False,
        least=_COHESIVE,
        better="less",
    ),
    "chunks": MeasureRow("Chunks", "how many there are", lambda tally, _: f"{tally.chunks:,}"),
    "embedded": MeasureRow(
        "Tokens embedded",
        "what the embedding model reads, headings included",
        lambda tally, _: f"{tally.embedded:,}",
        (),
        lambda tally: tally.embedded,
        is_share=False,
        better="less",
    ),
    "cost": MeasureRow("Embedding price", "of all chunks, once; offline it is free", _dollars),
}
"""All measures, in the order of the table."""


def evaluation(judged: Sequence[Judged]) -> Html:
    """The table and the bars of all strategies."""
    return tag(
        "div",
        *(notice("error", f"{title_of(one.strategy)}: {one.error}") for one in judged if one.error),
        _table(judged),
        tag("p", _WEAK, cls="rn-quiet"),
        tag("div", *_plots(judged), cls="rn-plots"),
        cls="rn-evaluation",
    )


def measuring(strategies: Sequence[str]) -> Html:
    """What stands there until the measures do."""
    names = ", ".join(title_of(name) for name in strategies)
    return tag(
        "div",
        tag("p", tag("span", cls="rn-spinner", aria_hidden="true"), f"Measuring {names}",
            cls="rn-state"),
        bones(),
        role="status",
        aria_busy="true",
    )  # fmt: skip


def _table(judged: Sequence[Judged]) -> Html:
    head = tag(
        "tr",
        tag("th", "Measure", scope="col"),
        *(
            tag(
                "th",
                swatch(one.strategy),
                title_of(one.strategy),
                scope="col",
            )
            for one in judged
        ),
    )
    rows = [_row(key, measure, judged) for key, measure in MEASURES.items()]
    return tag("table", tag("thead", head), tag("tbody", *rows), cls="rn-table rn-measures")


def _row(key: str, measure: MeasureRow, judged: Sequence[Judged]) -> Html:
    best = measure.best([one.tally for one in judged if one.tally is not None])
    way = None
    if measure.better:
        said = f"{measure.better} is better"
        way = tag("span", _ARROWS[measure.better], cls="rn-way", role="img", aria_label=said,
                  title=said)  # fmt: skip
    head = tag("th", measure.name, tag("small", way, measure.meaning), scope="row")
    return tag("tr", head, *(_cell(key, measure, one, best) for one in judged))


def _cell(key: str, measure: MeasureRow, judged: Judged, best: float | None) -> Html:
    if judged.tally is None:
        return tag("td", _DASH)
    value = measure.value(judged.tally, judged)
    is_best = best is not None and measure.amount(judged.tally) == best
    cls = "rn-best" if is_best else None
    behind = len(judged.tally.of(*measure.problems)) if measure.problems else 0
    if not behind:
        return tag("td", value, cls=cls, title="the best" if is_best else None)
    label = f"{measure.name}, {title_of(judged.strategy)}: {value}{', the best' if is_best else ''}"
    label += f". List {count(behind, 'place')}"
    number = tag(
        "button",
        value,
        type="button",
        cls="rn-drill",
        data_measure=key,
        data_strategy=judged.strategy,
        title=label,
        aria_label=label,
    )
    return tag("td", number, cls=cls)


def _plots(judged: Sequence[Judged]) -> list[Html]:
    """The measures with a length, where any strategy has a value."""
    known = [(one, one.tally) for one in judged if one.tally is not None]
    plots = []
    for measure in MEASURES.values():
        if measure.length is None:
            continue
        lengths = [measure.length(tally) for _, tally in known]
        if any(length is not None for length in lengths):
            plots.append(_plot(measure, known, lengths))
    return plots


def _plot(
    measure: MeasureRow, known: Sequence[tuple[Judged, Tally]], lengths: Sequence[float | None]
) -> Html:
    """Bars of shares as they are, of anything else relative to the longest."""
    scale = max((one for one in lengths if one), default=1.0)
    scale = 1.0 if measure.is_share else max(scale, measure.least)
    rows = [
        Bar(
            title_of(one.strategy),
            None if length is None else length / scale,
            measure.value(tally, one),
            colour_of(one.strategy),
        )
        for (one, tally), length in zip(known, lengths, strict=True)
    ]
    return bars(measure.name, rows, measure.meaning)
