"""The top of the page: documents, columns with their sizes, baseline, and the question bar."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from rag_nodes.apps.markup import count, file_name, in_a_line, left, render, seconds, together
from rag_nodes.apps.visitors.columns import sliders_of
from rag_nodes.apps.visitors.questions import suggested_questions
from rag_nodes.apps.visitors.turns import tally
from rag_nodes.core.metadata import display_name
from rag_nodes.embedding.report import DOING
from rag_nodes.evaluation.wording import some_of
from rag_nodes.models.prices import dollars
from rag_nodes.operations.fields import MOST_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markupsafe import Markup

    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.embedding import DocumentsReport, FileOutcome, Progress

BUDGETS = (500, 1_000, 1_500, 4_000)
"""Tokens of context that can be chosen."""
CHUNKS = (5, 10, 20)
"""Numbers of chunks that can be chosen instead."""
READINGS = {"sentences": "selected sentences", "chunks": "whole chunks"}
"""Labels of the ways to read retrieved chunks."""
_MIN_SHARE = 0.1
"""Share of the work from which the rest is estimated."""
_MAX_FILES = 5
"""Documents that stand in the line; further ones can be unfolded."""
_SUGGESTED = 3
"""Questions that are suggested."""
LOST = (
    "This server no longer has the documents and answers of this tab: it was restarted, or the tab "
    "was idle for too long. Load your documents again."
)


def show_loading(session: PageSession) -> None:
    """Show how far loading is, or what there is now that it has ended."""
    session.screen.show("documents", partial(documents_html, session))
    show_state(session)


def show_state(session: PageSession) -> None:
    """Switch on and off what the script does."""
    session.screen.show("state", partial(state_json, session))


def show_columns(session: PageSession) -> None:
    """Show what is compared."""
    session.screen.show("columns", partial(columns_html, session))


def show_reading(session: PageSession) -> None:
    """Show what is read of the chunks that are found."""
    session.screen.show("reading", partial(_reading, session))


def show_tally(session: PageSession) -> None:
    """Show how many answers of each column were helpful."""
    session.screen.show("tally", partial(_tally, session))


def show_suggestions(session: PageSession) -> None:
    """Suggest questions about the documents."""
    session.screen.show("suggestions", partial(_suggestions, session))


def state_json(session: PageSession) -> str:
    """Return what the script switches on and off."""
    state = {
        "ready": session.ready,
        "loading": session.loading,
        "asking": session.talk.asking is not None,
        "turns": bool(session.turns),
        "context": _context_of(session),
    }
    return json.dumps(state)


def _context_of(session: PageSession) -> str:
    context = session.context
    return f"chunks:{context.top_k}" if context.top_k else f"budget:{context.budget}"


def contexts(session_budget: int | None, top_k: int | None) -> list[tuple[str, str]]:
    """Return the contexts on offer, value and label, with the operator's own among them."""
    budgets = sorted({*BUDGETS, *([session_budget] if session_budget else [])})
    chunks = sorted({*CHUNKS, *([top_k] if top_k else [])})
    return [
        *((f"budget:{tokens}", f"{tokens:,} tokens") for tokens in budgets),
        *((f"chunks:{number}", count(number, "chunk")) for number in chunks),
    ]


def documents_html(session: PageSession) -> Markup:
    """Draw the documents, and how far loading is or why it failed."""
    job, report = session.last_loading, session.report
    working = None
    if session.loading and job is not None:
        working = _working(job.latest or {}, [*session.columns.ticked], job.seconds)
    return report_html(
        report,
        working=working,
        error=session.error,
        searched=_searched(session),
        lost=LOST if session.is_lost and not session.ready and not session.loading else "",
        can_remove=len(session.paths) > 1 and len(report.files if report else ()) == len(
            session.paths),
    )  # fmt: skip


def report_html(
    report: DocumentsReport | None,
    *,
    working: dict[str, Any] | None = None,
    error: str = "",
    searched: str = "",
    lost: str = "",
    can_remove: bool = False,
) -> Markup:
    """Draw what loading made, how far it is, and what went wrong.

    Args:
        report: what the last loading made; None before it.
        working: how far a loading is that has not ended; None if there is none.
        error: why the last loading failed.
        searched: sentences on documents that engines do not search, or still do.
        lost: what to say if the server lost the session of the tab.
        can_remove: documents can be taken out one by one.
    """
    view = _made(report) if report else None
    return render("documents", report=view, working=working, error=error, searched=searched,
                  lost=lost, can_remove=can_remove)  # fmt: skip


def _searched(session: PageSession) -> str:
    """Say which documents the operator's engines do not search, or still do; "" for none."""
    comparison = session.comparison
    if comparison is None or not comparison.found:
        return ""
    engines = some_of([*comparison.found])
    do, search = ("does", "searches") if len(comparison.found) == 1 else ("do", "search")
    added = [display_name(document.metadata, document.id_) for document in session.added]
    notes = []
    if added:
        was, them = _was_them(added)
        notes.append(f"{some_of(added)} {was} added here: {engines} {do} not search {them}, so no "
                     f"setting is tested on {them}.")  # fmt: skip
    if removed := session.removed:
        was, them = _was_them(removed)
        notes.append(f"{some_of(removed)} {was} removed here: {engines} still {search} {them}, and "
                     f"nothing of {them} can be shown.")  # fmt: skip
    return " ".join(notes)


def _was_them(names: Sequence[str]) -> tuple[str, str]:
    return ("was", "it") if len(names) == 1 else ("were", "them")


def _working(
    steps: Mapping[str, Progress], parsers: Sequence[str], elapsed: float
) -> dict[str, Any]:
    """Describe a run that has not ended.

    Args:
        steps: the last step of each parser, and of the reader under "".
        parsers: all parsers of the run, in order.
        elapsed: seconds since it began to read, or to split.
    """
    splitting = [steps.get(name) for name in parsers]
    share = sum(map(_share, splitting)) / max(len(parsers), 1)
    reading, what = None if any(splitting) else steps.get(""), "Processing"
    if reading and reading.total:
        share = (reading.done + reading.share) / reading.total
        what = f"Reading {reading.name}"
    elif any(splitting):
        name, step = next(((name, step) for name, step in zip(parsers, splitting, strict=True)
                           if step and _share(step) < 1), ("", None))  # fmt: skip
        what = f"{name}: {DOING[step.stage]} {step.done:,}" if step else what
    rest = left(elapsed * (1 - share) / share) if share > _MIN_SHARE else ""
    return {"what": f"{what}{rest}", "share": f"{share:.2f}"}


def _share(step: Progress | None) -> float:
    """Return how much of a parser's work is done."""
    return step.done / step.total if step and step.stage == "store" and step.total else 0.0


def _made(report: DocumentsReport) -> dict[str, Any]:
    """Describe a report; of many documents, those that went well are folded."""
    read = sum(file.status != "failed" for file in report.files)
    files = [
        {
            "number": number,
            "name": file.name or file_name(file.path),
            "pages": count(file.pages, "page") if file.pages else "",
            "news": list(_news(file)),
        }
        for number, file in enumerate(report.files)
    ]
    folded = [file for file in files if not file["news"]][_MAX_FILES:]
    hidden = {file["number"] for file in folded}
    spent = ""
    if report.embedding_tokens:
        tokens = count(report.embedding_tokens, "token")
        spent = f"{tokens} embedded · {dollars(report.embedding_cost)}"
    facts = [
        count(read, "document") if read > 1 else "",
        count(sum(file.characters for file in report.files), "character"),
        seconds(report.seconds),
        spent,
        report.models,
    ]
    return {
        "is_read": read > 0,
        "facts": " · ".join(fact for fact in facts if fact),
        "files": [file for file in files if file["number"] not in hidden],
        "folded": folded,
        "more": count(len(folded), "more document"),
        "errors": together(_faults(report)),
    }


def _faults(report: DocumentsReport) -> Iterator[tuple[str, str]]:
    """Yield the columns that lack chunks, with the reasons of their documents if there are any."""
    for column in report.columns:
        files = (file.columns.get(column.parser) for file in report.files)
        errors = [row.error for row in files if row and row.error]
        reasons = errors or ([column.error] if column.error else [])
        yield from ((column.parser, reason) for reason in dict.fromkeys(reasons))


def _news(outcome: FileOutcome) -> Iterator[tuple[str, str]]:
    """Yield what did not go well."""
    if outcome.error:
        yield ("error" if outcome.status == "failed" else "warning"), outcome.error
    lacks = ((name, column.lack) for name, column in outcome.columns.items() if column.lack)
    for names, lack in together(lacks):
        yield "warning", f"{names}: {lack}"


def columns_html(session: PageSession) -> Markup:
    """Draw the columns: which are compared, the baseline, and the numbers of the chosen one."""
    columns, report = session.columns, session.report
    by_name = {column.parser: column for column in report.columns} if report else {}
    names = [*columns.ticked, *(name for name in columns.offer if name not in columns.ticked)]
    sliders = sliders_of(columns.offer[columns.chosen]) if columns.chosen else []
    return render(
        "columns",
        rows=[
            {
                "name": name,
                "summary": in_a_line(columns.offer[name].summary),
                "ticked": name in columns.ticked,
                "changed": bool(columns.options.get(name)),
                "chunks": f"{by_name[name].chunks:,}" if name in by_name else "",
            }
            for name in names
        ],
        most=MOST_COLUMNS,
        own_left=len({*columns.own} - {*columns.ticked}),
        baseline=columns.baseline,
        chosen=columns.chosen,
        sliders=[
            {
                "field": option.field,
                "label": option.label,
                "minimum": f"{option.minimum:g}",
                "maximum": f"{option.maximum:g}",
                "step": f"{option.step:g}",
                "value": f"{columns.value_of(columns.chosen, option):g}",
            }
            for option in sliders
        ],
    )


def _reading(session: PageSession) -> Markup:
    context = session.context
    offer = READINGS if context.top_k is None else {"chunks": READINGS["chunks"]}
    return render("reading", offer=offer.items(), reading=context.granularity)


def _tally(session: PageSession) -> Markup:
    return render("tally", rows=tally(session.turns))


def _suggestions(session: PageSession) -> Markup:
    documents = session.documents
    return render("suggestions", questions=suggested_questions(documents, _SUGGESTED))
