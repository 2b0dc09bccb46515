"""What the header says: how far loading is, and what it made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_nodes.apps.markup import count, file_name, left, render, seconds, title_of
from rag_nodes.embedding.report import DOING
from rag_nodes.models.prices import dollars

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markupsafe import Markup

    from rag_nodes.embedding import DocumentsReport, FileOutcome, Progress

_TOLD = 0.1
"""Share of the work from which the rest is estimated."""
MOST_FILES = 5
"""Documents that stand in the list; further ones can be unfolded, so that a crawl of many pages
does not push what can be set out of sight."""


def idle() -> Markup:
    """Before anything was uploaded."""
    return _status(None)


def lost() -> Markup:
    """The tab had a session before, of which the server knows nothing any more."""
    return _status(
        None,
        "info",
        "This server no longer has the documents and answers of this tab: it was restarted, or "
        "the tab was idle for too long. Load your documents again.",
    )


def failed(message: str, report: DocumentsReport | None) -> Markup:
    """Nothing new could be processed; `report` is what was before and still answers."""
    return _status(report, "error", message)


def cancelled(report: DocumentsReport | None) -> Markup:
    """Loading was ended before it was done; `report` is what was before and still answers."""
    if report is None:
        said = "Cancelled; nothing was kept. Upload a document to go on."
    else:
        said = "Cancelled. What was loaded before is unchanged."
    return _status(report, "info", said)


def done(report: DocumentsReport) -> Markup:
    """What the last run made."""
    return _status(report)


def working(steps: Mapping[str, Progress], parsers: Sequence[str], elapsed: float = 0.0) -> Markup:
    """A run that has not ended.

    Args:
        steps: the last step of each parser, and of the reader under "".
        parsers: all parsers of the run, in order.
        elapsed: seconds since it began to read, or to cut.
    """
    cutting = [steps.get(one) for one in parsers]
    share = sum(map(_share, cutting)) / max(len(parsers), 1)
    reading, said = None if any(cutting) else steps.get(""), "Processing"
    if reading and reading.total:
        share = (reading.done + reading.share) / reading.total
    if share > _TOLD:
        said += left(elapsed * (1 - share) / share)
    rows = [
        {"parser": one, "doing": _doing(step), "share": f"{_share(step):.2f}"}
        for one, step in zip(parsers, cutting, strict=True)
    ]
    name, read = reading.name if reading else None, f"{share:.2f}"
    return render("working", said=said, reading=name, read=read, steps=rows if any(cutting) else [])


def _doing(step: Progress | None) -> str:
    if step is None:
        return "waiting"
    if step.stage == "store" and step.done == step.total:
        return count(step.done, "chunk")
    return f"{DOING[step.stage]} {step.done:,}"


def _share(step: Progress | None) -> float:
    """How much of a parser's work is done."""
    return step.done / step.total if step and step.stage == "store" and step.total else 0.0


def _status(report: DocumentsReport | None, kind: str = "", message: str = "") -> Markup:
    made = _made(report) if report else None
    return render("status", kind=kind, message=message, report=made)


def _made(report: DocumentsReport) -> dict[str, Any]:
    """A report as it is shown; a row per document, of many those that went well are folded."""
    read = sum(one.status != "failed" for one in report.files)
    files = [_file(one, pages=read > 0 and len(report.files) > 1) for one in report.files]
    folded = [one for one in files if not one["news"]][MOST_FILES:]
    hidden = {id(one) for one in folded}
    facts = [
        count(read, "document") if read > 1 else "",
        count(report.pages, "page") if report.pages else "",
        count(sum(one.characters for one in report.files), "character"),
        seconds(report.seconds),
    ]
    spent = ""
    if report.embedding_tokens:
        tokens = count(report.embedding_tokens, "token")
        spent = f"{tokens} embedded · {dollars(report.embedding_cost)}"
    return {
        "facts": " · ".join(one for one in facts if one) if read else "",
        "files": [one for one in files if id(one) not in hidden],
        "folded": folded,
        "more": count(len(folded), "more document"),
        "columns": [
            {
                "parser": one.parser,
                "chunks": f"{one.chunks:,}",
                "tokens": f"{one.mean_tokens:.0f} / {one.max_tokens}",
                "error": one.error,
            }
            for one in report.columns
        ],
        "spent": spent,
        "models": report.models,
    }


def _file(outcome: FileOutcome, *, pages: bool) -> dict[str, Any]:
    return {
        "name": outcome.name or file_name(outcome.path),
        "pages": count(outcome.pages, "page") if pages and outcome.pages else "",
        "news": list(_news(outcome)),
    }


def _news(outcome: FileOutcome) -> Iterator[tuple[str, str]]:
    """What did not go well."""
    if outcome.error:
        yield ("error" if outcome.status == "failed" else "warning"), outcome.error
    for name, column in outcome.columns.items():
        if column.lack:
            yield "warning", f"{title_of(name)}: {column.lack}"
