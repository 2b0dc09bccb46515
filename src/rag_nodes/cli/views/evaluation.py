"""An evaluation for people: the verdict, the numbers behind it, and why answers were missed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.cli.views.text import one_line, plain, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType
    from rich.table import Table

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.evaluation.gates import GateResult
    from rag_nodes.evaluation.report import EvaluationReport, Row
    from rag_nodes.evaluation.tables import Judgement, Rating
    from rag_nodes.operations.measuring import Evaluated, EvaluateRequest, RecommendRequest

_WIDEST = 6
"""Rows that have room side by side."""
_COLOURS = {"holds": "green", "fell": "red", "cannot tell": "yellow", "not compared": "yellow"}
"""Of the outcomes of gates."""


def measured_view(
    found: Evaluated, _: EvaluateRequest | RecommendRequest, cli: Invocation
) -> Iterator[RenderableType]:
    """The parts of the view, top to bottom."""
    yield from evaluation_view(found.report, found.gates)
    if found.report.decision.preset and not found.is_written:
        cli.note("To use it: --save FILE.toml writes a preset, --export FILE.py a script.")
    if found.report.decision.grade == "likely":
        cli.note("To be surer, label twenty: a sheet of questions and quotes for --questions.")


def evaluation_view(
    report: EvaluationReport, gates: Sequence[GateResult] = ()
) -> Iterator[RenderableType]:
    """The parts of the view, top to bottom."""
    for sentence in report.decision.said:
        yield plain(one_line(sentence), "bold")
    yield _numbers(report)
    yield from (one for one in (_kinds(report), _reasons(report)) if one)
    said = [one.words for one in report.left_out] + [one.words for one in report.sizes]
    yield from (plain(one_line(words)) for words in said)
    for sentence in report.verdict:
        yield plain(one_line(sentence), "bold")
    if report.judgement:
        yield from _judged(report.judgement)
    yield plain(_procedure(report), "dim")
    yield from _gates(gates, report)


def _gates(gates: Sequence[GateResult], report: EvaluationReport) -> Iterator[RenderableType]:
    """What came of the gates; by drafts one sentence for all columns, as all say the same."""
    untold = [one for one in gates if report.untold and one.outcome == "cannot tell"]
    if untold:
        names = ", ".join(one_line(name) for name in dict.fromkeys(one.row for one in untold))
        yield plain(f"{names}: cannot tell: {report.untold}", _COLOURS["cannot tell"])
    others = {one.words: one.outcome for one in gates if one not in untold}
    for words, outcome in others.items():
        yield plain(one_line(words), _COLOURS[outcome])


def _numbers(report: EvaluationReport) -> Table:
    budgets = [f"recall@{budget}" for budget in report.settings.budgets]
    # In two lines, or the names have no room on a terminal of 80 characters.
    shares = [name.replace("@", "\n@") for name in budgets]
    right = ["mean", "read", *shares, "95 %", "MRR"]
    rows = table("Column", *right, right=right)
    rows.columns[0].min_width = len("  at equal size")
    for row in report.rows:
        if row.error:
            rows.add_row(_name(row), *[""] * len(right))
            continue
        interval = row.interval
        rows.add_row(
            _name(row),
            f"{row.chunks.mean:.0f}",
            f"{row.means['tokens@' + str(report.settings.budget)]:.0f}",
            *(f"{100 * row.means[name]:.1f}" for name in budgets),
            f"{100 * interval.low:.0f}-{100 * interval.high:.0f}" if interval else "",
            f"{row.means['mrr']:.2f}",
        )
    return rows


def _name(row: Row) -> str:
    name = one_line(row.column)
    if row.nominal is not None:
        return f"{'  ' if row.role == 'size' else f'{name} '}at {row.nominal}"
    if row.role == "matched":
        return f"  at equal size{f' ({one_line(row.note)})' if row.note else ''}"
    return name


def _kinds(report: EvaluationReport) -> Table | None:
    """The main measure by kind of question, at the columns' own options, where there are kinds."""
    own = [row for row in report.of_role("own") if not row.error]
    groups = report.kinds()
    if not own or len(own) > _WIDEST or len(groups) < 2:  # noqa: PLR2004 -- else it is said above
        return None
    names = ["questions", *(one_line(row.name) for row in own)]
    rows = table("Kind", *names, right=names)
    for kind in groups:
        shares = (f"{100 * kind.means[row.name]:.1f}" for row in own)
        rows.add_row(one_line(kind.name), str(kind.questions), *shares)
    return rows


def _reasons(report: EvaluationReport) -> Table | None:
    """How many answers were missed why, at the columns' own options."""
    own = [row for row in report.of_role("own") if not row.error]
    names = list(dict.fromkeys(reason for row in own for reason in row.reasons))
    if not names or len(own) > _WIDEST:
        return None
    rows = table("Missed because", *(one_line(row.name) for row in own))
    for reason in names:
        rows.add_row(reason, *(str(row.reasons.get(reason, "")) for row in own))
    return rows


def _judged(judgement: Judgement) -> Iterator[RenderableType]:
    """What the answers are worth, and what it took to find out."""
    if not judgement.error:
        right = ["faithful", "95 %", "correct", "95 %", "judged", "not judged"]
        rows = table("Answers from", *right, right=right)
        for one in judgement.columns:
            faithful, correct = one.faithfulness, one.correctness
            rows.add_row(
                one_line(one.name),
                *_rated(faithful, 100, "{:.0f} %"),
                *_rated(correct, 1, "{:.1f} of 5"),
                f"{faithful.judged}, {correct.judged}",
                f"{faithful.not_judged}, {correct.not_judged}",
            )
        yield rows
    for words in judgement.verdict:
        yield plain(one_line(words))
    yield plain(one_line(judgement.words), "yellow" if judgement.error else "dim")


def _rated(rating: Rating, scale: float, words: str) -> tuple[str, str]:
    found = rating.interval
    if found is None:
        return "", ""
    ends = (words.partition("}")[0] + "}").format
    low, high = (ends(scale * one) for one in (found.low, found.high))
    return words.format(scale * found.mean), f"{low}-{high}"


def _procedure(report: EvaluationReport) -> str:
    """What the intervals rest on."""
    from rag_nodes.evaluation.wording import LEGEND

    settings = report.settings
    words = f"{settings.models}, {report.search}; mean and read are tokens; "
    words += f"intervals of {settings.measure}."
    if not report.by_drafts:
        words += f" {LEGEND}; {settings.draws:,} random swaps, seed {settings.seed}."
    return words
