"""An evaluation as one HTML file that asks nothing of any server.

What to take, one picture, the questions that differ; all other numbers are folded.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.core.spelling import counted
from rag_nodes.evaluation.diagnosis import REMEDIES
from rag_nodes.evaluation.effects import reading_of, reading_of_sizes
from rag_nodes.evaluation.page.plots import line_colour, marks_of, size_curve, templates
from rag_nodes.evaluation.report import Outcome
from rag_nodes.evaluation.scoring import FOUND
from rag_nodes.evaluation.wording import LEGEND, SAME, ends, found_alike, points

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rag_nodes.evaluation.report import EvaluationReport, Row
    from rag_nodes.evaluation.tables import GoldQuote, ReportQuestion

__all__ = ["Cell", "Matrix", "MatrixLine", "html_of", "marks_of", "matrix", "size_curve"]

_NOTHING = 0.005
"""Recall that rounds to 0 percent: below it an answer counts as missed."""
_MOST = 30
"""Questions of the matrix that are seen before it is opened."""


class TextPiece(NamedTuple):
    """Characters of a document that look alike.

    `gold` answers the question, a chunk `starts` here, `read` was read as far as it answers.
    """

    text: str
    gold: bool
    starts: bool
    read: bool


class Cell(NamedTuple):
    """One question in one row: "found", "partly" or "missed", and recall in percent.

    `reason` says why it was missed and at which rank it is, `remedy` what helps; both "" where it
    was found. `pieces` are the place of the answer with the boundaries of the chunks that hold it.
    """

    grade: str
    points: float
    reason: str
    remedy: str
    pieces: tuple[TextPiece, ...]

    @property
    def is_cut(self) -> bool:
        """Return True if a chunk begins inside the answer, or a part of the answer was read."""
        inside = any(a.gold and b.gold and b.starts for a, b in pairwise(self.pieces))
        return inside or any(piece.read for piece in self.pieces)


class MatrixLine(NamedTuple):
    """One question, by its number from 1, and its cells in all rows that are compared."""

    number: int
    question: ReportQuestion
    cells: tuple[Cell, ...]

    @property
    def differs(self) -> bool:
        """Return True if a row finds more of this answer than another, as rows win questions."""
        found = [cell.points for cell in self.cells]
        return max(found) - min(found) > 100 * SAME

    @property
    def place(self) -> tuple[TextPiece, ...]:
        """Return the answer in its document, without chunk boundaries."""
        return tuple(_pieces(Outcome("", {}), self.question))

    @property
    def others(self) -> Sequence[Sequence[GoldQuote]]:
        """Answers as quotes, where one passage does not show all there is."""
        gold = self.question.gold
        return gold if len(gold) > 1 or len(gold[0]) > 1 else []

    @property
    def hardness(self) -> tuple[float, float]:
        """Least for what parts the rows most, then for what they find least."""
        scores = [cell.points for cell in self.cells]
        return min(scores) - max(scores), sum(scores)


class Matrix(NamedTuple):
    """The best row of each strategy, what is taken first of its own, and all questions in them.

    `lines` begin with what parts the rows most.
    """

    rows: tuple[Row, ...]
    lines: tuple[MatrixLine, ...]


def matrix(report: EvaluationReport) -> Matrix:
    """Return what each strategy found, question by question."""
    own = [row for row in report.of_role("own") if not row.error]
    ranked = sorted(own, key=lambda row: (row.name == report.decision.take, row.mean))
    # Of each strategy in each search, or the one that is taken.
    best = {(row.column, row.search): row.name for row in ranked}
    rows = [row for row in own if row.name in best.values()]
    rows.sort(key=lambda row: row.name != report.decision.take)
    outcomes = [{outcome.question: outcome for outcome in row.outcomes} for row in rows]
    lines = [
        MatrixLine(number, question, tuple(_cell_of(report, by_question[question.id], question)
                                           for by_question in outcomes))
        for number, question in enumerate(report.questions, 1) if rows
    ]  # fmt: skip
    return Matrix(tuple(rows), tuple(sorted(lines, key=lambda line: line.hardness)))


def html_of(report: EvaluationReport) -> str:
    """The report as one HTML file without a script and without a request to anywhere.

    Everything out of documents and questions is escaped.
    """
    rows, lines = matrix(report)
    differing = [line for line in lines if line.differs]
    return (
        templates()
        .get_template("page.html.j2")
        .render(
            report=report,
            rows=rows,
            pictures=[size_curve(report), size_curve(report, narrow=True)],
            differing=[differing[:_MOST], differing[_MOST:]],
            missed=[line for line in lines if not line.differs and line.cells[0].grade != "found"],
            found=sum({cell.grade for cell in line.cells} == {"found"} for line in lines),
            reasons=[reason for reason in REMEDIES if any(reason in row.reasons for row in rows)],
            remedies=REMEDIES,
            kinds=report.kinds(),
            names={document.id: document.name for document in report.documents},
            texts={question.id: question.text for question in report.questions},
            budgets=[f"recall@{budget}" for budget in report.settings.budgets],
            whole=[f"chunks@{budget}" for budget in report.settings.budgets],
            by_sentences=any(row.granularity == "sentences" for row in report.rows),
            reading=reading_of(report),
            sizes_by_sentences=reading_of_sizes(report) == "sentences",
            legend=LEGEND,
            counted=counted,
            found_alike=found_alike,
            points=points,
            ends=ends,
            colour=lambda column: line_colour(report, column),
        )
    )


def _cell_of(report: EvaluationReport, outcome: Outcome, question: ReportQuestion) -> Cell:
    """Return the cell of a question and a row."""
    recall = outcome.scores[f"recall@{report.settings.budget}"]
    grade = "found" if recall >= FOUND else "partly" if recall >= _NOTHING else "missed"
    if not outcome.reason:
        return Cell(grade, 100 * recall, "", "", ())
    rank = f" (rank {outcome.rank})" if outcome.rank else ""
    remedy = "" if report.by_drafts else REMEDIES[outcome.reason]  # type: ignore[index] # one of them
    pieces = tuple(_pieces(outcome, question))
    return Cell(grade, 100 * recall, f"{outcome.reason}{rank}", remedy, pieces)


def _pieces(outcome: Outcome, question: ReportQuestion) -> Iterator[TextPiece]:
    """The text around the first passage of the gold, split where chunks begin and gold changes."""
    around = question.around
    first, text, document = around.start, around.text, around.document
    last = first + len(text)
    gold = [
        (passage.start, passage.end)
        for answer in question.gold
        for passage in answer
        if passage.document == document
    ]
    begins = {start for where, start, _ in outcome.chunks if where == document}
    read = [(start, end) for where, start, end in outcome.read if where == document]
    marks = {first, last, *begins, *(at for span in (*gold, *read) for at in span)}
    places = sorted(at for at in marks if first <= at <= last)
    for start, end in pairwise(places):
        is_gold, is_read = (
            any(low <= start and end <= high for low, high in spans) for spans in (gold, read)
        )
        yield TextPiece(text[start - first : end - first], is_gold, start in begins, is_read)
