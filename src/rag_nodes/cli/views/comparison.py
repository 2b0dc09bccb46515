"""A comparison for people: side by side where there is room, one after another elsewhere."""

from __future__ import annotations

import os
from itertools import cycle
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from rag_nodes.cli.views.answer import (
    answer_kind,
    answer_text,
    chunk_facts,
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
    limits = {"token": found.options.budget, "chunk": found.options.top_k}
    context = " and ".join(counted(number, thing) for thing, number in limits.items() if number)
    yield facts(
        [
            ("Question", report.question),
            ("Models", report.models),
            ("Context", f"{context or 'no limit'} per parser"),
        ]
    )
    yield from files_view(report.files)
    colours = cycle(COLOURS)
    styled = [(column, next(colours)) for column in report.columns]
    width, across = cli.output.width, _columns_across(len(styled), cli.output)
    for first in range(0, len(styled), across):
        some = styled[first : first + across]
        if across > 1:
            yield _side_by_side(some, width // across - _FRAME, request.chunks)
        else:
            yield from _section(*some[0], width, request.chunks)
    yield _statistics(styled)
    if found.ingested:
        took = [seconds(one.seconds) for one in (found.ingested, report)]
        words = "parsers answer at the same time, so their times overlap"
        yield plain(f"Ingested in {took[0]}, answered in {took[1]}; {words}.", "dim")
        if spent := embedding_spent(found.ingested):
            yield plain(spent, "dim")


def _columns_across(count: int, console: Console) -> int:
    """How many columns stand side by side; rows are kept equally full.

    A file or pipe gets one, unless COLUMNS says how wide it will be shown.
    """
    if not console.is_terminal and "COLUMNS" not in os.environ:
        return 1
    room = max(1, console.width // LEAST_WIDTH)
    rows = -(-count // room)
    return -(-count // rows)


def _side_by_side(styled: Sequence[tuple[Column, str]], width: int, shown: int) -> Table:
    """Parsers as columns, whose answers, sources and chunks start on the same line."""
    made = Table(box=box.ROUNDED, border_style="dim", expand=True, show_header=False)
    for _ in styled:
        made.add_column(ratio=1, overflow="fold")
    made.add_row(*(_title(*one) for one in styled), end_section=True)
    for part in zip(*(_parts(column, width, shown) for column, _ in styled), strict=True):
        made.add_row(*(Group(*one) for one in part), end_section=True)
    return made


def _title(column: Column, colour: str) -> Text:
    title = Text(one_line(column.title), style=f"bold {colour}")
    return title.append(f"\n{configuration(column.parser)}", style="not bold dim")


def _section(column: Column, colour: str, width: int, shown: int) -> Iterator[RenderableType]:
    """One parser: what it is, and indented what it found."""
    yield Text("")
    yield Rule(Text(one_line(column.title), style=f"bold {colour}"), align="left", style="dim")
    yield plain(configuration(column.parser), "dim")
    for part in filter(None, _parts(column, width, shown)):
        yield Text("")
        yield from (Padding(one, (0, 0, 0, 2)) for one in part)


def _parts(column: Column, width: int, shown: int) -> tuple[list[RenderableType], ...]:
    """Answer, sources and chunks, or why there are none."""
    statistics, answer = column.statistics, column.answer
    said: list[RenderableType] = [
        Text.assemble(("Failed: ", "bold red"), plain(error))
        for error in dict.fromkeys((column.error, statistics.error))
        if error
    ]
    lost = recovery_in_words(statistics.unplaced, statistics.chunks)
    said += [plain(one_line(one), "yellow") for one in (lost, statistics.size_remark) if one]
    if answer is None:
        return said, [], []
    is_written = answer.kind != "retrieval"
    said += [label("Answer", answer_kind(answer)), *([answer_text(answer)] if is_written else [])]
    return (
        [*said, *remarks(answer)],
        [label("Sources"), citations(answer)] if is_written else [],
        [label("Chunks", chunk_facts(answer)), chunks(answer, shown, width)] if shown else [],
    )


def _statistics(styled: Sequence[tuple[Column, str]]) -> Table:
    sizes = ("Chunks", "Tokens mean", "max", "Context tokens")
    numbers = (*sizes, "Parse", "Embed", "Store", "Answer")
    return table("Parser", *numbers, right=numbers, rows=(_row(*one) for one in styled))


def _row(column: Column, colour: str) -> tuple[object, ...]:
    found = column.statistics
    return (
        Text(one_line(column.title), style=colour),
        found.chunks,
        round(found.mean_tokens) if found.tokens else None,
        found.max_tokens if found.tokens else None,
        column.answer.context_tokens if column.answer else None,
        *(seconds(found.seconds.get(stage)) for stage in ("parse", "embed", "store")),
        seconds(column.seconds.get("total")),
    )
