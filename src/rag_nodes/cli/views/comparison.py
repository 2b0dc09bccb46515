"""A comparison for people: one parser after another, then their numbers side by side."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.rule import Rule
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

    from rich.console import RenderableType
    from rich.table import Table

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.compare import Column
    from rag_nodes.operations.comparing import Compared, CompareRequest


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
    for column, colour in styled:
        yield from _section(column, colour, cli.output.width, request.chunks)
    yield _statistics(styled)
    if found.ingested:
        took = [seconds(one.seconds) for one in (found.ingested, report)]
        words = "parsers answer at the same time, so their times overlap"
        yield plain(f"Ingested in {took[0]}, answered in {took[1]}; {words}.", "dim")
        if spent := embedding_spent(found.ingested):
            yield plain(spent, "dim")


def _section(column: Column, colour: str, width: int, shown: int) -> Iterator[RenderableType]:
    """One parser: what it is, and indented what it found."""
    yield Text("")
    yield Rule(Text(one_line(column.title), style=f"bold {colour}"), align="left", style="dim")
    yield plain(configuration(column.parser), "dim")
    yield Text("")
    yield from (Padding(one, (0, 0, 0, 2)) for one in _found(column, width, shown))


def _found(column: Column, width: int, shown: int) -> Iterator[RenderableType]:
    """Answer, sources and chunks, or why there are none."""
    statistics, answer = column.statistics, column.answer
    for error in dict.fromkeys((column.error, statistics.error)):
        if error:
            yield Text.assemble(("Failed: ", "bold red"), plain(error))
    lost = recovery_in_words(statistics.unplaced, statistics.chunks)
    yield from (plain(one_line(one), "yellow") for one in (lost, statistics.size_remark) if one)
    if answer is None:
        return
    yield label("Answer", answer_kind(answer))
    if answer.kind != "retrieval":
        yield answer_text(answer)
    yield from remarks(answer)
    if answer.kind != "retrieval":
        yield from (Text(""), label("Sources"), citations(answer))
    if shown:
        yield from (Text(""), label("Chunks", chunk_facts(answer)), chunks(answer, shown, width))


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
