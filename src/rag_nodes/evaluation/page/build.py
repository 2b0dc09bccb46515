"""The page: what the report says, laid out so that the most important comes first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from rag_nodes.evaluation.diagnosis import REMEDIES
from rag_nodes.evaluation.page.plots import colour_of, interval_plot, size_curve
from rag_nodes.evaluation.scoring import FOUND
from rag_nodes.evaluation.wording import LEGEND

if TYPE_CHECKING:
    from jinja2 import Template

    from rag_nodes.evaluation.judging import JudgedAnswer, Judgement
    from rag_nodes.evaluation.report import Contrast, EvaluationReport, Outcome, SizeShare

    Pair = Contrast | SizeShare

_FEW = 3
"""Pairs of columns that are all read one by one."""
_HALF = 0.5
"""Recall from which an answer counts as found in part."""


class Piece(NamedTuple):
    """Characters of a document that look alike.

    Attributes:
        text: the characters.
        gold: they answer the question.
        starts: a chunk begins here.
    """

    text: str
    gold: bool
    starts: bool


class Cell(NamedTuple):
    """One question in one row of the matrix.

    Attributes:
        grade: "found", "partly" or "missed".
        points: recall, in points.
        why: the reason in words; "" where it was found.
        pieces: the place of the answer with the boundaries of the chunks that hold it.
    """

    grade: str
    points: float
    why: str
    pieces: tuple[Piece, ...]


def html_of(report: EvaluationReport) -> str:
    """The report as one HTML file without a script and without a request to anywhere.

    Everything out of documents and questions is escaped.
    """
    rows = [row for row in report.rows if row.role in ("own", "matched")]
    shown = [row for row in rows if not row.error]
    outcomes = {row.name: {one.question: one for one in row.outcomes} for row in shown}
    return template("page").render(
        report=report,
        rows=rows,
        shown=shown,
        curve=size_curve(report),
        intervals={role: interval_plot(report, role) for role in ("matched", "own")},
        counted=counted,
        legend=LEGEND,
        told_apart=told_apart,
        colour=lambda column: colour_of(report, column),
        cell=lambda row, question: cell_of(report, outcomes[row.name][question["id"]], question),
        remedies=REMEDIES,
        groups={by: report.groups(by) for by in report.breakdown},
        reasons=[reason for reason in REMEDIES if any(reason in row.reasons for row in shown)],
        names={one["id"]: one["name"] for one in report.documents},
        judged=_judged(report.judgement),
        budgets=[f"recall@{budget}" for budget in report.settings["budgets"]],
    )


def counted(number: int, thing: str) -> str:
    """`1 question`, `1,200 questions`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def told_apart(pairs: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Pairs that are read one by one, and those of which none shows a difference.

    Up to `_FEW` are all read one by one: more sentences that say nothing hide those that do.
    """
    if len(pairs) <= _FEW:
        return list(pairs), []
    shown = [one for one in pairs if one.shows_a_gap]
    return shown, [one for one in pairs if not one.shows_a_gap]


def _judged(judgement: Judgement | None) -> dict[str, list[JudgedAnswer]]:
    """The judged answers by the id of their question."""
    found: dict[str, list[JudgedAnswer]] = defaultdict(list)
    for one in judgement.answers if judgement else ():
        found[one.question].append(one)
    return found


@cache
def template(name: str) -> Template:
    """A page of this folder; everything put into it is escaped.

    Args:
        name: of its file, without suffixes.
    """
    environment = Environment(
        loader=PackageLoader("rag_nodes.evaluation.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(f"{name}.html.j2")


def cell_of(report: EvaluationReport, outcome: Outcome, question: Mapping[str, Any]) -> Cell:
    """What one question came to in one row.

    Args:
        report: of the run.
        outcome: of the row.
        question: of `report.questions`, the one the outcome is of.
    """
    recall = outcome.scores[f"recall@{report.settings['budget']}"]
    grade = "found" if recall >= FOUND else "partly" if recall >= _HALF else "missed"
    why = ""
    if outcome.reason:
        rank = f" (rank {outcome.rank})" if outcome.rank else ""
        # Drafts show what is lost, and are no ground to change anything.
        advice = "" if report.by_drafts else f": {REMEDIES[outcome.reason]}"  # type: ignore[index] # one of them
        why = f"{outcome.reason}{rank}{advice}"
    pieces = tuple(_pieces(outcome, question)) if outcome.reason else ()
    return Cell(grade, 100 * recall, why, pieces)


def _pieces(outcome: Outcome, question: Mapping[str, Any]) -> Iterator[Piece]:
    """The text around the first passage of the gold, cut where chunks begin and gold changes."""
    around = question["around"]
    first, text, document = around["start"], around["text"], around["document"]
    last = first + len(text)
    gold = [
        (one["start"], one["end"])
        for answer in question["gold"]
        for one in answer
        if one["document"] == document
    ]
    begins = {start for where, start, _ in outcome.chunks if where == document}
    marks = {first, last, *begins, *(at for span in gold for at in span)}
    places = sorted(at for at in marks if first <= at <= last)
    for start, end in pairwise(places):
        is_gold = any(low <= start and end <= high for low, high in gold)
        yield Piece(text[start - first : end - first], is_gold, start in begins)
