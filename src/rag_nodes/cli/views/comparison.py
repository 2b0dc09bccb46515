"""A comparison for people: side by side where there is room, one after another elsewhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from rag_nodes.cli.views.answer import (
    CHUNK_FACTS,
    answer_kind,
    answer_text,
    chunks,
    citations,
    label,
    remarks,
)
from rag_nodes.cli.views.ingest import embedding_spent, files_view
from rag_nodes.cli.views.text import (
    COLOURS,
    configuration,
    counted,
    facts,
    one_line,
    plain,
    seconds,
    table,
)
from rag_nodes.parsers.recovery import recovery_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, RenderableType

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.compare import Column
    from rag_nodes.operations.comparing import Compared, CompareRequest

LEAST_WIDTH = 46
"""Characters a column needs to be read with ease."""
_FRAME = 3
"""Characters a column loses to its border and padding."""


def compared_view(
    found: Compared, request: CompareRequest, cli: Invocation
) -> Iterator[RenderableType]:
    """The parts of the view, top to bottom."""
    report = found.report
    if report is None:
        yield from files_view(tuple(found.files))
        return
    options, console, shown = found.options, cli.output, request.chunks
    yield header_view(report.question, report.models, budget=options.budget, top_k=options.top_k)
    yield from files_view(report.files)
    styled = list(zip(report.columns, _colours(len(report.columns)), strict=True))
    across = columns_across(len(styled), console)
    if across > 1:
        for first in range(0, len(styled), across):
            yield _row(styled[first : first + across], console.width // across - _FRAME, shown)
    else:
        for column, colour in styled:
            yield from _section(column, colour, console.width, shown)
    yield _statistics(styled)
    if found.ingested:
        yield times_view(found.ingested.seconds, report.seconds)
        if spent := embedding_spent(found.ingested):
            yield plain(spent, "dim")


def header_view(
    question: str, models: str, *, budget: int | None, top_k: int | None
) -> RenderableType:
    """What is asked and what will run."""
    limits = [
        f"{counted(budget, 'token')}" if budget else "",
        counted(top_k, "chunk") if top_k else "",
    ]
    context = " and ".join(limit for limit in limits if limit) or "no limit"
    return facts([("Question", question), ("Models", models), ("Context", f"{context} per parser")])


def times_view(ingesting: float, answering: float) -> RenderableType:
    """How long it took."""
    return plain(
        f"Ingested in {seconds(ingesting)}, answered in {seconds(answering)}; parsers answer at "
        "the same time, so their times overlap.",
        "dim",
    )


def columns_across(count: int, console: Console) -> int:
    """How many columns stand side by side; rows are kept equally full.

    A file or pipe gets one, unless COLUMNS says how wide it will be shown.
    """
    if not console.is_terminal and "COLUMNS" not in os.environ:
        return 1
    room = max(1, console.width // LEAST_WIDTH)
    rows = -(-count // room)
    return -(-count // rows)


def _colours(count: int) -> list[str]:
    return [COLOURS[index % len(COLOURS)] for index in range(count)]


def _row(styled: Sequence[tuple[Column, str]], width: int, shown: int) -> Table:
    """Parsers as columns, whose answers, sources and chunks start on the same line."""
    made = _empty_row(len(styled))
    made.add_row(*(_title(column, colour) for column, colour in styled), end_section=True)
    contents = [_contents(column, width, shown) for column, _ in styled]
    made.add_row(*(Group(*parts["answer"]) for parts in contents), end_section=True)
    made.add_row(*(Group(*parts["sources"]) for parts in contents), end_section=True)
    made.add_row(*(Group(*parts["chunks"]) for parts in contents))
    return made


def _empty_row(columns: int) -> Table:
    made = Table(box=box.ROUNDED, border_style="dim", expand=True, show_header=False)
    for _ in range(columns):
        made.add_column(ratio=1, overflow="fold")
    return made


def _section(column: Column, colour: str, width: int, shown: int) -> Iterator[RenderableType]:
    """One parser on its own, for narrow terminals and pipes."""
    yield Text("")
    yield Rule(Text(one_line(column.title), style=f"bold {colour}"), align="left", style="dim")
    yield plain(configuration(column.parser), "dim")
    for part in _contents(column, width, shown).values():
        yield Text("")
        yield from (Padding(piece, (0, 0, 0, 2)) for piece in part)


def _title(column: Column, colour: str) -> Text:
    title = Text(one_line(column.title), style=f"bold {colour}")
    return title.append(f"\n{configuration(column.parser)}", style="not bold dim")


def _contents(column: Column, width: int, shown: int) -> dict[str, list[RenderableType]]:
    """Answer, sources and chunks of a parser, or why it has none."""
    problems: list[RenderableType] = [
        _problem(text) for text in dict.fromkeys((column.error, column.statistics.error)) if text
    ]
    lost = recovery_in_words(column.statistics.unplaced, column.statistics.chunks)
    if lost:
        problems.append(plain(lost, "yellow"))
    if column.statistics.size_remark:
        problems.append(plain(one_line(column.statistics.size_remark), "yellow"))
    answer = column.answer
    if answer is None:
        return {"answer": problems, "sources": [], "chunks": []}
    written = answer.kind != "retrieval"
    return {
        "answer": [
            *problems,
            label("Answer", answer_kind(answer)),
            *([answer_text(answer)] if written else []),
            *remarks(answer),
        ],
        "sources": [label("Sources"), citations(answer)] if written else [],
        "chunks": [
            label("Chunks", CHUNK_FACTS),
            chunks(answer, shown, width),
        ]
        if shown
        else [],
    }


def _problem(message: str) -> Text:
    return Text.assemble(("Failed: ", "bold red"), plain(message))


def _statistics(styled: Sequence[tuple[Column, str]]) -> Table:
    numbers = (
        "Chunks",
        "Tokens mean",
        "max",
        "Context tokens",
        "Parse",
        "Embed",
        "Store",
        "Answer",
    )
    made = table("Parser", *numbers, right=numbers)
    for column, colour in styled:
        made.add_row(Text(one_line(column.title), style=colour), *_numbers(column))
    return made


def _numbers(column: Column) -> list[str]:
    statistics = column.statistics
    times: dict[str, Any] = statistics.seconds
    return [
        f"{statistics.chunks:,}",
        f"{statistics.mean_tokens:,.0f}" if statistics.tokens else "-",
        f"{statistics.max_tokens:,}" if statistics.tokens else "-",
        f"{column.answer.context_tokens:,}" if column.answer else "-",
        *(seconds(times.get(stage)) for stage in ("parse", "embed", "store")),
        seconds(column.seconds.get("total")),
    ]
