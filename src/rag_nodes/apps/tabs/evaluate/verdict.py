"""The verdict: sentences first, then the pictures and numbers they rest on."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from rag_nodes.apps.tabs.evaluate.matrix import matrix, shown_rows
from rag_nodes.apps.view.html import Html, drawn, name_of, tag
from rag_nodes.apps.view.parts import bones, colour_of, count, empty, swatch
from rag_nodes.evaluation.diagnosis import REMEDIES
from rag_nodes.evaluation.page import line_colour, size_curve
from rag_nodes.evaluation.wording import LEGEND, points

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rag_nodes.evaluation.plan import Step
    from rag_nodes.evaluation.report import EvaluationReport, Row

_MOST_KINDS = 50
"""Kinds on the page; a large set has hundreds."""
_DOING = {"index": "Cutting and embedding", "ask": "Asking"}
EMPTY = empty(
    "Which way of cutting finds your answers?",
    tag(
        "p",
        "With questions whose answers are known, every parser reads the same number of tokens, at "
        "its own size and at an equal one, so that you see what is size and what is strategy.",
    ),
)


def working(step: Step | None) -> Html:
    """How far a run is."""
    said, share = "Waiting for its turn", 0.0
    if step is not None:
        said = f"{_DOING[step.stage]} {step.name}"
        share = step.done / step.total if step.total else 0.0
    left = ""
    if step and step.total:
        left = f"{step.done:,} of {step.total:,} questions"
        left += f", about {_left(step.seconds_left)} left" if step.seconds_left else ""
    return tag(
        "div",
        tag("p", tag("span", cls="rn-spinner", aria_hidden="true"), said, cls="rn-state"),
        tag("progress", max="1", value=f"{share:.3f}", aria_label="Questions asked"),
        tag("p", left, cls="rn-quiet") if left else bones(),
        cls="rn-running",
        role="status",
        aria_busy="true",
    )


def _left(estimate: float) -> str:
    minutes, rest = divmod(ceil(estimate), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def verdict(report: EvaluationReport, strategies: Mapping[str, str]) -> Html:
    """All of a run, the most important first.

    Args:
        report: of the run.
        strategies: column to the parser of the comparison; a column that is gone has none.
    """
    return tag(
        "div",
        _sentences(report),
        _picture(report),
        _numbers(report, strategies),
        _comparisons(report),
        _kinds(report),
        _reasons(report),
        matrix(report, strategies),
        cls="rn-verdict",
        style=_colours(report, strategies),
    )


def _sentences(report: EvaluationReport) -> Html:
    first, *others = report.said
    return tag(
        "div",
        tag("p", name_of(first), cls="rn-verdict-first"),
        *(tag("p", name_of(one)) for one in others),
        tag("p", _how(report), cls="rn-quiet"),
        cls="rn-sentences",
        role="status",
    )


def _how(report: EvaluationReport) -> str:
    settings = report.settings
    searched = f"{report.measure}, {settings['mode']} search"
    if report.by_drafts:
        return f"{searched}."
    return f"{searched}. {LEGEND}; {settings['draws']:,} random swaps."


def _picture(report: EvaluationReport) -> Html | None:
    """Recall over the size of chunks, in a frame that scrolls where the screen is narrow."""
    title = "Recall by chunk size"
    broad, slim = size_curve(report), size_curve(report, narrow=True)
    if not broad:
        return None
    named = [
        tag("span", "\N{BLACK CIRCLE} ", name_of(column), cls=line_colour(report, column))
        for column in dict.fromkeys(row.column for row in report.rows)
    ]
    note = (
        "Bands are 95 % confidence intervals of one parser alone. Dashed lines select sentences, "
        "which need no chunk size. The ring is the setting to take."
    )
    return tag(
        "figure",
        tag("figcaption", tag("h3", title), tag("span", note, cls="rn-quiet")),
        tag("div", drawn(broad), cls="rn-wide rn-broad"),
        tag("div", drawn(slim), tag("p", *named), cls="rn-slim"),
    )


def _comparisons(report: EvaluationReport) -> Html | None:
    """Every pair, folded: what is significant of them is in the sentences."""
    if not report.contrasts:
        return None
    lines = [
        tag(
            "tr",
            tag("th", name_of(f"{one.left} over {one.right}"), scope="row"),
            tag("td", points(one.these)),
            tag("td", points(one.like_these) if one.like_these else "cannot be told"),
            tag("td", "yes" if one.shows_a_gap else "no"),
        )
        for one in report.contrasts
    ]
    names = ("Parsers", "Difference in these documents", "In documents like these", "Significant")
    return tag(
        "details",
        tag("summary", "All comparisons, in percentage points"),
        _table(names, lines),
        tag("ul", *(tag("li", name_of(one.words)) for one in report.sizes))
        if report.sizes
        else None,
    )


def _numbers(report: EvaluationReport, strategies: Mapping[str, str]) -> Html:
    budgets = [f"recall@{budget}" for budget in report.settings["budgets"]]
    names = ("Parser", "Mean tokens", "Tokens read", *budgets, "Chunks", "Embedded")
    roles = ("own", "matched", "size", "reference")
    rows = [row for role in roles for row in report.of_role(role)]
    return tag(
        "section",
        tag("h3", "All numbers"),
        _table(names, [_number_row(report, row, budgets, strategies) for row in rows]),
        *(tag("p", name_of(one.words), cls="rn-quiet") for one in report.left_out),
        tag("p", "Recall is the share of the answers' characters that were read, in percent; "
            "embedded are tokens.",
            cls="rn-quiet"),
    )  # fmt: skip


def _number_row(
    report: EvaluationReport, row: Row, budgets: list[str], strategies: Mapping[str, str]
) -> Html:
    note = tag("small", name_of(row.note)) if row.note else None
    head = tag("th", _swatch(row, strategies), name_of(row.name), note, scope="row")
    if row.error:
        return tag("tr", head, tag("td", name_of(row.error), colspan=4 + len(budgets)))
    values = (
        f"{row.chunks['mean']:,.0f}",
        f"{row.means['tokens@' + str(report.settings['budget'])]:,.0f}",
        *(f"{100 * row.means[one]:.1f}" for one in budgets),
        *(  # of an index that only finds chunks by questions they are not known
            "" if row.cost[one] is None else f"{row.cost[one]:,.0f}"
            for one in ("chunks", "embedded")
        ),
    )
    return tag("tr", head, *(tag("td", value) for value in values))


def _kinds(report: EvaluationReport) -> Html | None:
    """The main measure by kind of question, where there are several."""
    rows, kinds = shown_rows(report), report.kinds()
    if len(kinds) < 2 or not rows:  # noqa: PLR2004 -- of one everything is said above
        return None
    lines = [
        tag(
            "tr",
            tag("th", name_of(kind.name), scope="row"),
            tag("td", f"{kind.questions:,}"),
            *(tag("td", f"{100 * kind.means[row.name]:.1f}") for row in rows),
        )
        for kind in kinds[:_MOST_KINDS]
    ]
    more = len(kinds) - _MOST_KINDS
    said = f"By kind of question: {report.measure} of {count(len(kinds), 'kind')}; few questions "
    return tag(
        "details",
        tag("summary", f"{said}in one say little."),
        _table(("Kind", "Questions", *(row.name for row in rows)), lines),
        tag("p", f"{count(more, 'kind')} more in the report.", cls="rn-quiet")
        if more > 0
        else None,
    )


def _reasons(report: EvaluationReport) -> Html | None:
    rows = shown_rows(report)
    met = [reason for reason in REMEDIES if any(reason in row.reasons for row in rows)]
    if not met:
        return None
    # Drafts show what is lost, and are no ground to change anything.
    advised = not report.by_drafts
    names = ("Reason, and what can be done" if advised else "Reason", *(row.name for row in rows))
    lines = [
        tag(
            "tr",
            tag(
                "th",
                reason,
                tag("small", REMEDIES[reason], cls="rn-remedy") if advised else None,
                scope="row",
            ),
            *(tag("td", f"{row.reasons.get(reason, 0) or ''}") for row in rows),
        )
        for reason in met
    ]
    return tag("section", tag("h3", "Why answers were missed"), _table(names, lines))


def _table(names: Iterable[str], rows: Iterable[Html]) -> Html:
    head = tag("tr", *(tag("th", name_of(name), scope="col") for name in names))
    return tag(
        "div",
        tag("table", tag("thead", head), tag("tbody", *rows), cls="rn-table"),
        cls="rn-wide",
        tabindex="0",
        role="region",
        aria_label="Table",
    )


def _swatch(row: Row, strategies: Mapping[str, str]) -> Html | None:
    return swatch(strategies[row.column]) if row.column in strategies else None


def _colours(report: EvaluationReport, strategies: Mapping[str, str]) -> str:
    """The colours of the pictures are those the parsers have everywhere on the page."""
    columns = dict.fromkeys(row.column for row in report.of_role("own"))
    colours = {line_colour(report, column)[1:]: column for column in reversed(columns)}
    return "".join(
        f"--rn-k{number}:var(--rn-{colour_of(strategies.get(column, column))[-1]});"
        for number, column in colours.items()
    )


def downloads_named(report: EvaluationReport) -> str:
    """The stem of the files that can be saved."""
    plain = "".join(one if one.isascii() and one.isalnum() else "-" for one in
                    report.dataset["name"])  # fmt: skip
    return f"evaluation-{plain[:40].strip('-') or 'questions'}"
