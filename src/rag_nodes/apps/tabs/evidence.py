"""What a decision rests on: the plot, the questions that differ, the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr
from markupsafe import Markup

from rag_nodes.apps.markup import in_a_line, render
from rag_nodes.apps.tabs.document import ChunkLocation
from rag_nodes.core.metadata import display_name
from rag_nodes.evaluation.diagnosis import REMEDIES
from rag_nodes.evaluation.page import line_colour, matrix, size_curve
from rag_nodes.evaluation.wording import ends
from rag_nodes.text.spans import PageMap, Span

if TYPE_CHECKING:
    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.evaluation.page import Cell, MatrixLine
    from rag_nodes.evaluation.report import EvaluationReport, Row

_MOST = 150
"""Questions of the table; the others are in the report."""
_DIFFER = Markup(
    '<h3>{}<small class="rn-quiet">Select a line to see its passage on the page.</small></h3>'
)
_LONGEST = 120
"""Characters of a question in it."""


def plot(report: EvaluationReport) -> Markup | str:
    """Recall by chunk size; a point leads to its numbers."""
    ids = _ids(report)
    broad, slim = (size_curve(report, narrow=one, link=lambda row: f"#{ids[row.name]}")
                   for one in (False, True))  # fmt: skip
    if not broad:
        return ""
    columns = dict.fromkeys(row.column for row in report.rows)
    return render(
        "plot",
        flat="curve flat" in broad,
        taken=report.decision.take,
        broad=broad,
        slim=slim,
        columns=[{"name": one, "colour": line_colour(report, one)} for one in columns],
    )


def _ids(report: EvaluationReport) -> dict[str, str]:
    return {row.name: f"rn-row-{number}" for number, row in enumerate(report.rows)}


def table(session: PageSession, report: EvaluationReport) -> tuple[Any, Any]:
    """Heading and table of the questions, or of the passages, whose outcome differs."""
    rows, lines = matrix(report)
    differing = [one for one in lines if one.differs][:_MOST]
    asked = "passage" if report.dataset.probed else "question"
    if not differing:
        said = f"Every {asked} came out alike." if lines else ""
        line = Markup('<p class="rn-quiet">{}</p>').format(said) if said else ""
        return line, gr.Dataframe(visible=False)
    heading = f"{asked.capitalize()}s that differ: {len(differing):,} of {len(lines):,}"
    values = [
        [one.number, _asked(report, one), _where(session, one), *map(_word, one.cells)]
        for one in differing
    ]
    names = ["No.", asked.capitalize(), "Place", *(row.name for row in rows)]
    widths: list[str | int] = ["48px", "300px", "80px", *["120px"] * len(rows)]
    shown = gr.Dataframe(value=values, headers=names, column_widths=widths, visible=True)
    return _DIFFER.format(heading), shown


def _asked(report: EvaluationReport, line: MatrixLine) -> str:
    """The question; of a passage, whose keywords nobody asks, how it begins."""
    text = line.question.text
    if report.dataset.probed:
        text = line.question.gold[0][0].text
    text = in_a_line(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _where(session: PageSession, line: MatrixLine) -> str:
    first = line.question.gold[0][0]
    document = next((one for one in session.documents if one.id_ == first.document), None)
    pages = PageMap.of(document.metadata) if document else None
    page = f"p. {pages.page_of(first.start)}" if pages else ""
    name = display_name(document.metadata) if document else None
    several = len(session.documents) > 1
    return " ".join(filter(None, (name if several or not page else "", page)))


def _word(cell: Cell) -> str:
    """Sign and word of an outcome."""
    if cell.grade == "found":
        return "✓ found"
    share = f"{cell.points:.0f} %"
    if share == "0 %":
        return "✗ missed"
    return f"✂ cut, {share}" if cell.is_cut else f"◐ {share}"


def place_of(line: MatrixLine) -> ChunkLocation:
    """Where the answer of a question stands."""
    answer = line.question.gold[0]
    document = answer[0].document
    gold = tuple(Span(one.start, one.end) for one in answer if one.document == document)
    return ChunkLocation(document=document, gold=gold)


def why(report: EvaluationReport) -> Markup:
    """What the decision rests on, in sentences and numbers."""
    return render(
        "why",
        said=report.verdict,
        rows=[_row(report, row) for row in report.rows],
        missed=[] if report.by_drafts else [
            f"{reason}: {REMEDIES[reason]}"
            for reason in REMEDIES
            if any(reason in row.reasons for row in report.rows)
        ],
        left_out=[one.words for one in report.left_out],
    )  # fmt: skip


def _row(report: EvaluationReport, row: Row) -> dict[str, Any]:
    plain = {"id": _ids(report)[row.name], "name": row.name, "note": row.note, "error": row.error,
             "taken": row.name == report.decision.take}  # fmt: skip
    if row.error:
        return plain
    cost, size = row.cost, row.cost.bytes
    values = (
        f"{100 * row.mean:.1f}",
        ends(row.interval) if row.interval else "",
        f"{row.chunks.mean:,.0f}",
        *("" if one is None else f"{one:,}" for one in (cost.chunks, cost.tokens)),
        "" if size is None else f"{size / 1_000_000:,.1f}",
        f"{cost.search_ms:,.1f}" if cost.search_ms else "",
    )
    return {**plain, "numbers": values}
