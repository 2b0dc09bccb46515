"""What the header says: how far loading is, what it made, and what each parser does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.apps.markup import (
    Html,
    count,
    file_name,
    join,
    name_of,
    notice,
    seconds,
    swatch,
    tag,
    title_of,
)
from rag_nodes.models.prices import dollars
from rag_nodes.pipeline.report import DOING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_nodes.parsers import Preset
    from rag_nodes.pipeline import FileOutcome, IngestReport, ParserOutcome, Progress

_TOLD = 0.1
"""Share of the work from which the rest is estimated."""
MOST_FILES = 5
"""Documents that stand in the list; further ones can be unfolded, so that a crawl of many pages
does not push what can be set out of sight."""


def idle() -> Html:
    """Before anything was uploaded."""
    return _panel(tag("p", "No document yet.", cls="rn-quiet"))


def failed(message: str, report: IngestReport | None) -> Html:
    """Nothing new could be processed."""
    before = done(report) if report else None
    return join([_panel(notice("error", message)), before])


def cancelled(report: IngestReport | None) -> Html:
    """Loading was ended before it was done."""
    if report is None:
        return _panel(notice("info", "Cancelled; nothing was kept. Upload a document to go on."))
    said = notice("info", "Cancelled. What was loaded before is unchanged.")
    return join([_panel(said), done(report)])


def working(steps: Mapping[str, Progress], parsers: Sequence[str], elapsed: float = 0.0) -> Html:
    """A run that has not ended.

    Args:
        steps: the last step of each parser, and of the reader under "".
        parsers: all parsers of the run, in order.
        elapsed: seconds since it began.
    """
    share = sum(_share(steps.get(one)) for one in parsers) / max(len(parsers), 1)
    said = "Processing"
    if share > _TOLD:
        said += f", about {seconds(elapsed * (1 - share) / share)} left"
    reading = steps.get("")
    rows = [_step(name, steps.get(name)) for name in parsers]
    return _panel(
        tag(
            "p",
            tag("span", cls="rn-spinner", aria_hidden="true"),
            said,
            cls="rn-state",
        ),
        tag("p", "Reading ", name_of(reading.name), cls="rn-quiet") if reading else None,
        tag("ul", *rows, cls="rn-steps-list") if len(steps) > 1 else None,
        busy=True,
    )


def done(report: IngestReport) -> Html:
    """What the last run made."""
    if len(report.failed) == len(report.files):
        return _panel(
            tag("p", "Nothing could be read", cls="rn-state"), _files(report.files, pages=False)
        )
    read = sum(one.status != "failed" for one in report.files)
    documents = f"{count(read, 'document')} · " if read > 1 else ""
    pages = f"{count(report.pages, 'page')} · " if report.pages else ""
    characters = sum(outcome.characters for outcome in report.files)
    return _panel(
        tag("p", tag("span", cls="rn-dot", aria_hidden="true"), "Ready", cls="rn-state"),
        tag(
            "p",
            f"{documents}{pages}{count(characters, 'character')} · {seconds(report.seconds)}",
            cls="rn-quiet",
        ),
        _files(report.files, pages=len(report.files) > 1),
        _table(report.columns),
        *(
            notice("error", f"{title_of(one.parser)}: {one.error}")
            for one in report.columns
            if one.error
        ),
        *(
            tag("p", title_of(one.parser), ": ", name_of(one.size_remark), cls="rn-quiet")
            for one in report.columns
            if one.size_remark
        ),
        _spent(report),
        tag("p", report.models, cls="rn-models"),
    )


def _spent(report: IngestReport) -> Html | None:
    """What embedding took; nothing where it ran offline."""
    if not report.embedding_tokens:
        return None
    tokens = count(report.embedding_tokens, "token")
    said = f"{tokens} embedded · {dollars(report.embedding_cost)}"
    return tag("p", said, cls="rn-quiet")


def _panel(*children: str | None, busy: bool = False) -> Html:
    return tag("div", *children, cls="rn-status", role="status", aria_busy="true" if busy else None)


def _step(name: str, step: Progress | None) -> Html:
    doing = "waiting"
    if step is not None:
        doing = "sizing"
        if step.stage in DOING:
            doing = f"{DOING[step.stage]} {step.done:,}"
        if step.stage == "store" and step.done == step.total:
            doing = count(step.done, "chunk")
    bar = tag("progress", max="1", value=f"{_share(step):.2f}", aria_label=title_of(name))
    return tag(
        "li",
        swatch(name),
        tag("span", title_of(name)),
        tag("span", doing, cls="rn-quiet"),
        bar,
    )


def _share(step: Progress | None) -> float:
    """How much of a parser's work is done."""
    return step.done / step.total if step and step.stage == "store" and step.total else 0.0


def _files(files: Sequence[FileOutcome], *, pages: bool) -> Html:
    """A row per document; of more than `MOST_FILES` those that went well are folded."""
    well = [one for one in files if not _news(one)]
    hidden = {id(one) for one in well[MOST_FILES:]}
    shown = [one for one in files if id(one) not in hidden]
    folded = [one for one in files if id(one) in hidden]
    return join(
        [
            _rows(shown, pages=pages),
            tag(
                "details",
                tag("summary", f"and {count(len(folded), 'more document')}"),
                _rows(folded, pages=pages),
            )
            if folded
            else None,
        ]
    )


def _rows(files: Sequence[FileOutcome], *, pages: bool) -> Html:
    return tag("ul", *(_file(outcome, pages=pages) for outcome in files), cls="rn-files")


def _file(outcome: FileOutcome, *, pages: bool) -> Html:
    facts = count(outcome.pages, "page") if pages and outcome.pages else None
    return tag(
        "li",
        tag("span", name_of(outcome.name or file_name(outcome.path)), cls="rn-file"),
        tag("span", facts, cls="rn-quiet") if facts else None,
        *_news(outcome),
    )


def _news(outcome: FileOutcome) -> list[Html]:
    """What did not go well."""
    severity = "error" if outcome.status == "failed" else "warning"
    lacks = ((name, column.lack) for name, column in outcome.columns.items())
    return [
        *([notice(severity, outcome.error)] if outcome.error else []),
        *(notice("warning", f"{title_of(name)}: {lack}") for name, lack in lacks if lack),
    ]


def _table(columns: Sequence[ParserOutcome]) -> Html:
    head = tag(
        "tr",
        tag("th", "Parser", scope="col"),
        tag("th", "Chunks", scope="col"),
        tag("th", "Tokens", tag("small", "mean / largest"), scope="col"),
    )
    rows = [
        tag(
            "tr",
            tag(
                "th",
                swatch(one.parser),
                title_of(one.parser),
                scope="row",
            ),
            tag("td", f"{one.chunks:,}"),
            tag("td", f"{one.mean_tokens:.0f} / {one.max_tokens}"),
        )
        for one in columns
    ]
    return tag("table", tag("thead", head), tag("tbody", *rows), cls="rn-table")


def parsers_explained(offer: Mapping[str, Preset]) -> Html:
    """All that can be chosen with its summary, in the order it is offered."""
    return tag(
        "dl",
        *(
            tag(
                "div",
                tag(
                    "dt",
                    swatch(name),
                    name_of(preset.title),
                ),
                tag("dd", name_of(preset.summary)),
            )
            for name, preset in offer.items()
        ),
        cls="rn-explained",
    )
