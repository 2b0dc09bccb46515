"""An evaluation for people, and the questions it is made with."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from rag_nodes.cli.views.text import Column, facts, one_line, pages, plain, table
from rag_nodes.core.spelling import argument, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.evaluation.gates import GateResult
    from rag_nodes.evaluation.report import EvaluationReport, Row
    from rag_nodes.evaluation.tables import Judgement, Rating
    from rag_nodes.operations.base import Request
    from rag_nodes.operations.labelled import Checked
    from rag_nodes.operations.measuring import Evaluated

_WIDEST = 6
"""Rows that have room side by side."""
_COLOURS = {"holds": "green", "fell": "red", "inconclusive": "yellow", "not compared": "yellow"}
"""Colours of the outcomes of gates."""
_MOST, _EXAMPLES = 60, 12
"""Concerns and drafts on a screen; all of them are in the JSON."""
_BEGINNING = 90
"""Characters of an answer that is shown to recognise it."""


def measured_view(result: Evaluated, _: Request, cli: Invocation) -> Iterator[RenderableType]:
    """The parts of the view, top to bottom."""
    yield from evaluation_view(result.report, result.gates)
    decision = result.report.decision
    if decision.parser and not result.is_written:
        ingest = _ingest(decision.preset) if decision.preset else ""
        reading = result.report.reading
        asked = f"ask with --granularity {reading}; " if ingest and reading else ""
        cli.hints.append(f"To use it: {ingest}{asked}--export FILE.py writes a script.")
        if result.report.use_in_llama_index:
            cli.hints.append(f"In LlamaIndex: {result.report.use_in_llama_index}")
    if decision.other and (other := result.report.row(decision.other)).preset:
        what = {"sentences": "selected sentences", "chunks": "whole chunks"}
        given = "chunks" if result.report.reading == "sentences" else "sentences"
        cli.hints.append(
            f"If you read {what[given]}: {_ingest(other.preset)}ask with --granularity {given}."
        )
    if result.report.dataset.probed:
        cli.hints.append(
            "To be surer, label twenty: a sheet of questions and quotes for --questions."
        )


def _ingest(preset: str) -> str:
    return f"rag-nodes ingest docs/ -p {argument(preset)}; "


def evaluation_view(
    report: EvaluationReport, gates: Sequence[GateResult] = ()
) -> Iterator[RenderableType]:
    """The verdict, the numbers behind it, and why answers were missed."""
    yield from (plain(one_line(sentence), "bold") for sentence in report.decision.said)
    yield _numbers(report)
    yield from filter(None, (_kinds(report), _reasons(report)))
    notes = [column.words for column in report.left_out] + [size.words for size in report.sizes]
    yield from (plain(one_line(words)) for words in notes)
    yield from (plain(one_line(sentence), "bold") for sentence in report.verdict)
    if report.judgement:
        yield from _judged(report.judgement)
    yield plain(_procedure(report), "dim")
    # By drafts one sentence for all columns, as all say the same.
    unclear = [gate for gate in gates if report.inconclusive and gate.outcome == "inconclusive"]
    if unclear:
        names = ", ".join(one_line(name) for name in dict.fromkeys(row.row for row in unclear))
        yield plain(f"{names}: inconclusive: {report.inconclusive}", _COLOURS["inconclusive"])
    others = {gate.words: gate.outcome for gate in gates if gate not in unclear}
    yield from (plain(one_line(words), _COLOURS[outcome]) for words, outcome in others.items())


def _numbers(report: EvaluationReport) -> Table:
    budget = report.settings.budget
    # Keywords of passages choose at a budget of their own; whole chunks stand at the same.
    at = report.measure.removeprefix("recall@")
    chosen_at = int(at) if at.isdigit() else budget
    by_sentences = any(row.granularity == "sentences" for row in report.rows)

    def decides(row: Row) -> bool:
        """True if the row was read as the compared ones, and not at another size only."""
        return not row.error and not (by_sentences and row.role != "own")

    def share(measure: str) -> Column:
        return lambda row: f"{100 * row.means[measure]:.1f}" if decides(row) else ""

    def interval(row: Row) -> str:
        bounds = row.interval if decides(row) else None
        return f"{100 * bounds.low:.0f}-{100 * bounds.high:.0f}" if bounds else ""

    def whole(row: Row) -> str:
        if row.error or row.mode == "own":
            return ""
        return f"{100 * row.means.get(f'chunks@{chosen_at}', row.means[f'recall@{chosen_at}']):.1f}"

    columns: dict[str, Column] = {
        "Column": _name,
        "mean": lambda row: "" if row.error else f"{row.chunks.mean:.0f}",
        "read": lambda row: "" if row.error else f"{row.means[f'tokens@{budget}']:.0f}",
        # In two lines, or the names have no room on a terminal of 80 characters.
        **{f"recall\n@{at}": share(f"recall@{at}") for at in report.settings.budgets},
        "95 %": interval,
    }
    if by_sentences:
        columns[f"whole\nchunks\n@{chosen_at}"] = whole
    else:
        columns["MRR"] = lambda row: "" if row.error else f"{row.means['mrr']:.2f}"
    grid = table(report.rows, columns, right=[*columns][1:])
    grid.columns[0].min_width = len("  at equal size")
    return grid


def _name(row: Row) -> Text:
    """As it is, not on one line: those below a column are indented."""
    name = one_line(f"{row.column} ({row.search})" if row.search else row.column)
    if row.error:
        from rag_nodes.evaluation.basis import NOT_MEASURABLE

        name += " (not measurable)" if row.error.startswith(NOT_MEASURABLE) else " (failed)"
    if row.nominal is not None:
        return plain(f"{'  ' if row.role == 'size' else f'{name} '}at {row.nominal}")
    if row.role == "matched":
        return plain(f"  at equal size{f' ({one_line(row.note)})' if row.note else ''}")
    return plain(name)


def _kinds(report: EvaluationReport) -> Table | None:
    """The main measure by kind of question, at the columns' own options, where there are kinds."""
    own = [row for row in report.of_role("own") if not row.error]
    groups = report.kinds()
    if not own or len(own) > _WIDEST or len(groups) < 2:  # noqa: PLR2004 -- else it is said above
        return None

    def share(name: str) -> Column:
        return lambda kind: f"{100 * kind.means[name]:.1f}"

    by_column = [(one_line(row.name), share(row.name)) for row in own]
    columns: list[tuple[str, Column]] = [("Kind", "name"), ("questions", "questions"), *by_column]
    return table(groups, columns, right=[name for name, _ in by_column])


def _reasons(report: EvaluationReport) -> Table | None:
    """Return a table of missed answers by reason, at the columns' own options."""
    own = [row for row in report.of_role("own") if not row.error]
    names = list(dict.fromkeys(reason for row in own for reason in row.reasons))
    if not names or len(own) > _WIDEST:
        return None

    def count(row: Row) -> Column:
        return lambda reason: str(row.reasons.get(reason, ""))

    by_column = [(one_line(row.name), count(row)) for row in own]
    return table(names, [("Missed because", str), *by_column])


def _judged(judgement: Judgement) -> Iterator[RenderableType]:
    """Yield the grades of the answers, and their cost."""
    columns: dict[str, Column] = {
        "Answers from": "name",
        "faithful": lambda row: _mean(row.faithfulness, "{:.0%}"),
        "correct": lambda row: _mean(row.correctness, "{:.1f} of 5"),
        "judged": lambda row: f"{row.faithfulness.judged}, {row.correctness.judged}",
        "not judged": lambda row: f"{row.faithfulness.not_judged}, {row.correctness.not_judged}",
    }
    if not judgement.error:
        yield table(judgement.columns, columns, right=[*columns][1:])
    yield plain(one_line(judgement.words), "yellow" if judgement.error else "dim")


def _mean(rating: Rating, form: str) -> str:
    """Return the mean; "" if nothing was judged."""
    return "" if rating.mean is None else form.format(rating.mean)


def _procedure(report: EvaluationReport) -> str:
    """Return the method behind the intervals, in words."""
    from rag_nodes.evaluation.effects import reading_of
    from rag_nodes.evaluation.wording import LEGEND

    settings = report.settings
    words = f"{settings.models}, {report.search}; mean and read are tokens; "
    words += f"intervals of {settings.measure}."
    if reading := reading_of(report):
        words += f" {reading}"
    if any(row.nominal is not None for row in report.rows):
        words += ' A size after "at" is in tokens; --html and --output give the -p of each row.'
    if not report.by_drafts:
        words += f" {LEGEND}; {settings.draws:,} random sign flips, seed {settings.seed}."
    return words


# --- questions ----------------------------------------------------------------------------------


def check_view(result: Checked, _: Request, __: Invocation) -> Iterator[RenderableType]:
    """Yield the faults of questions."""
    from rag_nodes.evaluation.checks import LEAKED
    from rag_nodes.evaluation.dataset import called

    check = result.check
    drafts = f", {check.drafts} of them drafts" if check.drafts else ""
    leakage = (
        f"{check.leakage:.0%} of their content words are in the answers, on average. Questions "
        f"with {LEAKED:.0%} or more are listed: keyword search alone finds their answers."
    )
    shown = [
        ("Questions", f"{check.questions:,}{drafts}"),
        ("Documents", f"{check.documents:,}"),
        ("Leakage", leakage),
    ]
    yield facts(shown if check.questions else shown[:-1])
    if not check.concerns:
        yield plain("Nothing to look at.", "green")
        return
    asked: list[Any] = [*result.dataset.questions, *result.dataset.not_located]
    names = {question.id: called(question.id, question.text) for question in asked}
    columns: dict[str, Column] = {
        "Question": lambda concern: names[concern.question],
        "What": "problem",
        "Detail": "detail",
    }
    yield table(check.concerns[:_MOST], columns)
    if (more := len(check.concerns) - _MOST) > 0:
        yield plain(f"and {counted(more, 'more concern')}: see --json", "dim")


def drafts_view(result: Checked, _: Request, __: Invocation) -> Iterator[RenderableType]:
    """Some of the drafts with the beginnings of their answers, and what is to be known of all."""
    from rag_nodes.core.metadata import display_name
    from rag_nodes.evaluation.checks import ACCEPT, DRAFTED
    from rag_nodes.text.spans import PageMap

    def answer(question: Any) -> str:
        return textwrap.shorten(one_line(result.dataset.quote(question.gold[0][0])), _BEGINNING)

    metadata = {document.id_: document.metadata for document in result.dataset.documents}

    def place(question: Any) -> str:
        document, span = question.gold[0][0]
        name, on = display_name(metadata[document], document), PageMap.of(metadata[document])
        return f"{name}, {pages(on.page_of(span.start), None)}" if on else name

    questions = result.dataset.questions
    columns: dict[str, Column] = {"Kind": "kind", "Draft": "text", "Answer": answer}
    if len(metadata) > 1:
        columns["Document"] = place
    yield table(questions[:_EXAMPLES], columns)
    if (more := len(questions) - _EXAMPLES) > 0:
        yield plain(f"and {counted(more, 'more draft')}", "dim")
    yield plain(
        f"{result.check.leakage:.0%} of their words are in their answers. {DRAFTED.capitalize()} a "
        f"parser or a size: {ACCEPT}."
    )
