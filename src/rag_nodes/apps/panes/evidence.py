"""Evidence for a decision: the plot, the comparison with the baseline, questions, numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from rag_nodes.apps.markup import colour_of, in_a_line, render
from rag_nodes.apps.panes.top import READINGS
from rag_nodes.apps.visitors.cuts import ChunkLocation
from rag_nodes.apps.visitors.deciding import column_of
from rag_nodes.core.metadata import display_name
from rag_nodes.evaluation.diagnosis import REMEDIES
from rag_nodes.evaluation.effects import reading_of_sizes
from rag_nodes.evaluation.page import marks_of, matrix, size_curve
from rag_nodes.evaluation.wording import SAME, SELECTING, ends
from rag_nodes.text.spans import PageMap, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.evaluation.page import Cell, MatrixLine
    from rag_nodes.evaluation.report import EvaluationReport, Row

_MAX_LINES = 150
"""Questions of the table."""
_MAX_QUESTION = 120
"""Characters of a question in it."""


class Against(NamedTuple):
    """A setting of a column against the baseline.

    `points` are percentage points of the main measure, with the 95 % interval if there is one.
    `won` and `lost` count questions, or passages, that it answers better and worse.
    """

    name: str
    column: str
    points: str
    won: int
    lost: int


def against(report: EvaluationReport, baseline: str) -> list[Against]:
    """Compare the best setting of each parser with the baseline; the fewest points come first."""
    rows, _ = matrix(report)
    position = _position(rows, baseline)
    if position is None:
        return []
    base, comparisons = rows[position], []
    for row in sorted((row for row in rows if row is not base), key=lambda row: row.mean):
        gained = [
            outcome.scores[report.measure] - other.scores[report.measure]
            for outcome, other in zip(row.outcomes, base.outcomes, strict=True)
        ]
        won, lost = (sum(sign * gain > SAME for gain in gained) for sign in (1, -1))
        comparisons.append(Against(row.name, column_of(row), _points(report, row, base), won, lost))
    return comparisons


def _position(rows: Sequence[Row], baseline: str) -> int | None:
    names = {baseline, f"{baseline}{SELECTING}"}
    return next((at for at, row in enumerate(rows) if names & {row.name, row.column}), None)


def _step(cell: Cell, base: Cell) -> int:
    """Return 1 if more of an answer is found than by the baseline, -1 if less."""
    gained = cell.points - base.points
    return 0 if abs(gained) <= 100 * SAME else 1 if gained > 0 else -1


def _points(report: EvaluationReport, row: Row, base: Row) -> str:
    pair = {row.name, base.name}
    contrast = next(
        (contrast for contrast in report.contrasts if {contrast.left, contrast.right} == pair), None
    )
    if contrast is None:
        return _signed(row.mean - base.mean)
    gap = contrast.of(row.name)
    return f"{_signed(gap.mean)} ({_signed(gap.low)} to {_signed(gap.high)})"


def _signed(share: float) -> str:
    """Return a difference in percentage points with its sign; 0.0 has none."""
    words = f"{100 * share:+.1f}"
    return words if float(words) else "0.0"


def details_html(session: PageSession) -> Markup:
    """Draw the plot, the comparison with the baseline, the questions, and all numbers."""
    report = session.decider.verdict
    if report is None:
        return Markup('<p class="rn-quiet">Nothing has been measured yet.</p>')
    return Markup().join(
        [
            plot_html(report, session.decider.baseline),
            _against_html(session, report),
            table_html(session, report),
            why_html(report),
        ]
    )


def plot_html(report: EvaluationReport, baseline: str) -> Markup:
    """Draw recall by chunk size beside the baseline's; a point leads to its numbers."""
    ids = _ids(report)
    columns = {row.column: column_of(row) for row in report.rows}
    broad, slim = (
        size_curve(report, narrow=narrow, link=lambda row: f"#{ids[row.name]}", baseline=baseline,
                   colour=lambda name: colour_of(columns[name]))
        for narrow in (False, True)
    )  # fmt: skip
    if not broad:
        return Markup()
    return render(
        "plot",
        measure=report.measure,
        reading=READINGS[reading_of_sizes(report)],
        baseline=baseline if 'class="square"' in broad else "",
        taken=report.decision.take,
        broad=broad,
        slim=slim,
        columns=columns,
        marks=marks_of({name: colour_of(column) for name, column in columns.items()}),
    )


def _ids(report: EvaluationReport) -> dict[str, str]:
    return {row.name: f"rn-row-{number}" for number, row in enumerate(report.rows)}


def asked_of(report: EvaluationReport) -> str:
    """Return the noun for what was asked."""
    return "passage" if report.dataset.probed else "question"


def _against_html(session: PageSession, report: EvaluationReport) -> Markup:
    rows = against(report, session.decider.baseline)
    return render("against", baseline=session.decider.baseline, rows=rows,
                  asked=f"{asked_of(report)}s", has_intervals=bool(report.contrasts),
                  measure=report.measure) if rows else Markup()  # fmt: skip


def table_html(session: PageSession, report: EvaluationReport) -> Markup:
    """Draw the questions, or the passages, whose outcome differs; each opens its place."""
    rows, lines = matrix(report)
    base = _position(rows, session.decider.baseline)
    differing = [line for line in lines if line.differs]
    if base is not None:
        differing.sort(key=lambda line: sum(_step(cell, line.cells[base]) for cell in line.cells))
    asked = asked_of(report)
    return render(
        "questions",
        asked=asked,
        said="" if differing or not lines else f"Every {asked} came out alike.",
        heading=f"{asked.capitalize()}s that differ: {len(differing):,} of {len(lines):,}",
        rows=[{"name": row.name, "column": column_of(row)} for row in rows],
        budget=f"{report.settings.budget:,} tokens",
        baseline=session.decider.baseline if base is not None else "",
        lines=[
            {
                "number": line.number,
                "asked": _asked(report, line),
                "where": _where(session, line),
                "cells": [
                    (_sign(cell, line.cells[base]) if base is not None else "", _word(cell))
                    for cell in line.cells
                ],
            }
            for line in differing[:_MAX_LINES]
        ],
    )


def _sign(cell: Cell, base: Cell) -> str:
    return ("", "+", "\N{MINUS SIGN}")[_step(cell, base)]


def _asked(report: EvaluationReport, line: MatrixLine) -> str:
    """Return the question; of a passage, whose keywords nobody asks, how it begins."""
    text = line.question.text
    if report.dataset.probed:
        text = line.question.gold[0][0].text
    text = in_a_line(text)
    return text if len(text) <= _MAX_QUESTION else f"{text[:_MAX_QUESTION]}…"


def _where(session: PageSession, line: MatrixLine) -> str:
    first = line.question.gold[0][0]
    document = next(
        (document for document in session.documents if document.id_ == first.document), None
    )
    pages = PageMap.of(document.metadata) if document else None
    page = f"p. {pages.page_of(first.start)}" if pages else ""
    name = display_name(document.metadata, document.id_) if document else None
    several = len(session.documents) > 1
    return " ".join(filter(None, (name if several or not page else "", page)))


def _word(cell: Cell) -> str:
    """Return sign and word of an outcome."""
    if cell.grade == "found":
        return "✓ found"
    if cell.grade == "missed":
        return "✗ missed"
    share = f"{cell.points:.0f} %"
    return f"✂ split, {share}" if cell.is_cut else f"◐ {share}"


def place_of(report: EvaluationReport, number: int) -> ChunkLocation | None:
    """Return where the answer of a line of the table stands; None if there is no such line."""
    line = next((line for line in matrix(report).lines if line.number == number), None)
    if line is None:
        return None
    answer = line.question.gold[0]
    document = answer[0].document
    gold = tuple(
        Span(passage.start, passage.end) for passage in answer if passage.document == document
    )
    return ChunkLocation(document=document, gold=gold)


def why_html(report: EvaluationReport) -> Markup:
    """Draw what the decision rests on, in sentences and numbers."""
    return render(
        "why",
        said=report.verdict,
        rows=[_row(report, row) for row in report.rows],
        missed=[] if report.by_drafts else [
            f"{reason}: {REMEDIES[reason]}"
            for reason in REMEDIES
            if any(reason in row.reasons for row in report.rows)
        ],
        left_out=[question.words for question in report.left_out],
    )  # fmt: skip


def _row(report: EvaluationReport, row: Row) -> dict[str, Any]:
    plain = {"id": _ids(report)[row.name], "name": row.name, "note": row.note, "error": row.error,
             "column": column_of(row), "taken": row.name == report.decision.take}  # fmt: skip
    if row.error:
        return plain
    cost, size = row.cost, row.cost.bytes
    values = (
        f"{100 * row.mean:.1f}",
        ends(row.interval) if row.interval else "",
        f"{row.chunks.mean:,.0f}",
        *("" if total is None else f"{total:,}" for total in (cost.chunks, cost.tokens)),
        "" if size is None else f"{size / 1_000_000:,.1f}",
        f"{cost.search_ms:,.1f}" if cost.search_ms else "",
    )
    return {**plain, "numbers": values}
