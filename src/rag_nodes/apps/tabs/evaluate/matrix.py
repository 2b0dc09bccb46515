"""Every question in every column, and why an answer was missed, with the place in the document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.apps.view.html import Html, join, name_of, tag
from rag_nodes.apps.view.parts import count, swatch
from rag_nodes.evaluation.page import Cell, cell_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_nodes.evaluation.report import EvaluationReport, Row

MOST = 150
"""Questions on the page: the hardest ones; the others are in the report."""
_LONGEST = 200
"""Characters of a question in the matrix."""
_MARKS = {"found": "\N{CHECK MARK}", "missed": "\N{MULTIPLICATION X}"}
_WORDS = {"found": "found", "partly": "found in part", "missed": "missed"}


class AnswerPlace(NamedTuple):
    """Where an answer stands, for the tab that draws chunks.

    Attributes:
        strategy: a parser of the comparison.
        document: id.
        start: first character of the answer.
    """

    strategy: str
    document: str
    start: int


def shown_rows(report: EvaluationReport) -> list[Row]:
    """The rows that are compared, those at an equal size last."""
    own = [row for row in report.of_role("own") if not row.error]
    return own + [row for row in report.of_role("matched") if not row.error]


def matrix(report: EvaluationReport, strategies: Mapping[str, str]) -> Html:
    """A table of buttons, one per question and column, the hardest questions first.

    Args:
        report: of the run.
        strategies: column to the parser of the comparison, for its colour.
    """
    rows = shown_rows(report)
    if not rows or not report.questions:
        return Html("")
    order = _hardest_first(report, rows)
    more = len(order) - MOST
    head = tag(
        "tr",
        tag("th", "Question", scope="col"),
        *(tag("th", _title(row, strategies), scope="col") for row in rows),
    )
    body = [_line(report, rows, number) for number in order[:MOST]]
    return tag(
        "section",
        tag("h3", "Question by question"),
        tag(
            "p",
            *(
                tag("span", tag("span", _MARKS.get(grade, "50"), cls=f"rn-cell rn-{grade}",
                                aria_hidden="true"), said)
                for grade, said in _WORDS.items()
            ),
            " The hardest questions first. Choose a cell to see why.",
            cls="rn-legend rn-quiet",
        ),
        tag(
            "div",
            tag("table", tag("thead", head), tag("tbody", *body), cls="rn-matrix"),
            cls="rn-wide rn-tall",
            tabindex="0",
            role="region",
            aria_label="Questions and columns",
        ),
        tag("p", f"{count(more, 'easier question')} can be found in the report.", cls="rn-quiet")
        if more > 0
        else None,
    )  # fmt: skip


def cell_at(report: EvaluationReport, question: int, row: int) -> tuple[dict[str, Any], Row] | None:
    """The question and the row of a cell; None where there is no such cell."""
    rows = shown_rows(report)
    if not (0 <= question < len(report.questions) and 0 <= row < len(rows)):
        return None
    return report.questions[question], rows[row]


def explained(report: EvaluationReport, question: Mapping[str, Any], row: Row, link: Html) -> Html:
    """Why a question came out as it did, and the text with the boundaries of the chunks.

    Args:
        report: of the run.
        question: of the report.
        row: of the report.
        link: leads to the place in the document.
    """
    cell = _cells(report, row)[question["id"]]
    names = {one["id"]: one["name"] for one in report.documents}
    budget = f"{report.settings['budget']:,}"
    why = (
        tag("p", ": ".join(filter(None, (cell.reason, cell.remedy))), cls="rn-why-missed")
        if cell.reason
        else tag("p", f"Read whole within {budget} tokens.", cls="rn-quiet")
    )
    answers = [
        tag("blockquote", *(tag("mark", one["text"]) for one in answer), dir="auto")
        for answer in question["gold"]
    ]
    return tag(
        "section",
        tag("h3", "Why: ", name_of(question["text"])),
        tag(
            "p",
            tag("span", _WORDS[cell.grade], cls=f"rn-grade rn-{cell.grade}"),
            f" {cell.points:.0f} % of the answer was read within {budget} tokens: ",
            tag("strong", name_of(row.name)),
            ", ",
            name_of(names[question["document"]]),
        ),
        why,
        tag("p", "The answer:", cls="rn-quiet"),
        *answers,
        _around(cell),
        link,
        cls="rn-explained-miss",
        tabindex="-1",
        role="status",
    )


def link_to(place: AnswerPlace, title: str, *, same: bool) -> Html:
    """A button that opens the place in the tab that draws chunks.

    Args:
        place: where the answer stands.
        title: of the column.
        same: whether the chunks that are drawn there are those of the row.
    """
    opens = tag(
        "button",
        "Open it in Chunks",
        type="button",
        cls="rn-open",
        data_strategy=place.strategy,
        data_document=place.document,
        data_start=place.start,
        aria_label=f"Open the place of the answer in the chunks of {title}",
    )
    if same:
        return opens
    note = " There it is drawn as compared in this app, in chunks of another size."
    return join([opens, tag("span", note, cls="rn-quiet")])


def _around(cell: Cell) -> Html | None:
    """The place; a bar stands where a chunk begins."""
    if not cell.pieces:
        return None
    bar = tag("span", cls="rn-begins", title="A chunk begins here", role="img",
              aria_label="A chunk begins here")  # fmt: skip
    pieces: list[str] = []
    for piece in cell.pieces:
        text = tag("mark", piece.text) if piece.gold else piece.text
        pieces += [bar, text] if piece.starts else [text]
    return join(
        [
            tag("p", "Where it stands; a bar is where a chunk that holds some of it begins:",
                cls="rn-quiet"),
            tag("blockquote", *pieces, dir="auto"),
        ]
    )  # fmt: skip


def _hardest_first(report: EvaluationReport, rows: Sequence[Row]) -> list[int]:
    name = f"recall@{report.settings['budget']}"
    means = [
        sum(row.outcomes[number].scores[name] for row in rows) / len(rows)
        for number in range(len(report.questions))
    ]
    return sorted(range(len(means)), key=lambda number: means[number])


def _line(report: EvaluationReport, rows: Sequence[Row], number: int) -> Html:
    question = report.questions[number]
    text = question["text"]
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    kind = " · ".join(one for one in (question["kind"][:40], "draft" if question["draft"] else "")
                      if one)  # fmt: skip
    cells = [
        _cell(cell_of(report, row.outcomes[number], question), number, at, row.name, shown)
        for at, row in enumerate(rows)
    ]
    small = tag("small", kind, cls="rn-quiet") if kind else None
    return tag("tr", tag("th", name_of(shown), small, scope="row", dir="auto"), *cells)


def _cell(cell: Cell, question: int, row: int, name: str, asked: str) -> Html:
    label = f"{_WORDS[cell.grade]}, {cell.points:.0f} %: {name}, {asked}"
    return tag(
        "td",
        tag(
            "button",
            _MARKS.get(cell.grade, f"{cell.points:.0f}"),
            type="button",
            cls=f"rn-cell rn-{cell.grade}",
            data_question=question,
            data_row=row,
            title=f"{name}: {_WORDS[cell.grade]}",
            aria_label=label,
        ),
    )


def _title(row: Row, strategies: Mapping[str, str]) -> Html:
    extra = tag("small", "at equal size") if row.role == "matched" else None
    strategy = strategies.get(row.column)
    return join([swatch(strategy) if strategy else None, name_of(row.column), extra])


def _cells(report: EvaluationReport, row: Row) -> dict[str, Cell]:
    by_id = {one["id"]: one for one in report.questions}
    return {one.question: cell_of(report, one, by_id[one.question]) for one in row.outcomes}
