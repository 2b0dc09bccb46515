"""Answers, what they cite and the chunks behind them, of one parser or of several."""

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

from rag_nodes.cli.views.boxes import cited_boxes
from rag_nodes.cli.views.cited import also_at, label, numbered, sources_of
from rag_nodes.cli.views.ingest import embedding_spent, files_view
from rag_nodes.cli.views.text import (
    COLOURS,
    clean,
    configuration,
    facts,
    heading,
    one_line,
    pages,
    plain,
    seconds,
    shortened,
    table,
)
from rag_nodes.core.metadata import HEADING_PATH, PAGE_END, PAGE_START, TOKEN_COUNT, display_name
from rag_nodes.core.spelling import counted
from rag_nodes.models.prices import dollars
from rag_nodes.parsers.recovery import recovery_in_words
from rag_nodes.query.cited import OtherPlace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, RenderableType

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.evaluation.compare import Column
    from rag_nodes.operations.asking import Asked, AskRequest
    from rag_nodes.operations.comparing import Compared, CompareRequest
    from rag_nodes.query import Answer, Hit

KINDS = {
    "generated": "written by {model}",
    "extract": "sentences quoted from the documents",
    "retrieval": "retrieval only",
    "nothing": "nothing found",
}
"""Kinds of answers, in words."""
LEAST_WIDTH = 46
"""Characters a column needs to be read with ease."""
_STAGES = ("embed", "retrieve", "answer")
"""Stages whose times add up; others are parts of them."""
_FRAME, _NAME, _RAGGED = 3, 32, 12
"""Characters that a column loses to its border, of a file's name that fit beside the numbers, and
that two lines lose because words are not broken."""


def asked_view(asked: Asked, request: AskRequest, cli: Invocation) -> Iterator[RenderableType]:
    """One answer with everything behind it, top to bottom; what has grown is there already."""
    answer = asked.answer
    if not asked.grown:
        yield header_of(request.question, answer.question, asked.models)
        yield label("Answer")
        if answer.kind != "retrieval":
            yield answer_text(answer)
    took = seconds(sum(answer.seconds.get(stage, 0) for stage in _STAGES))
    sources = counted(len(answer.sources), "source")
    context = f"{counted(answer.context_tokens, 'token')} in {sources}"
    searched = f"{answer.mode} search" if answer.mode else ""
    yield plain(" · ".join(filter(None, (_kind(answer), searched, context, took))), "dim")
    yield from _remarks(answer)
    for part in filter(
        None, (sources_of(answer), _chunks(answer, request.chunks, cli.output.width))
    ):
        yield from (Text(""), *part)
    if asked.boxes is not None:
        yield from (Text(""), *cited_boxes(answer.citations, asked.boxes))
    if asked.reduction is not None and asked.reduction > 0:
        read = f"{answer.context_tokens:,} of the {counted(asked.document_tokens, 'token')}"
        cli.note(
            f"Read {read} in the documents of these sources, {asked.reduction:.0%} less.", "dim"
        )


def header_of(question: str, searched: str, models: str) -> RenderableType:
    """Return the lines above an answer: the question, what is searched for, and the models."""
    return Group(facts([*_question_facts(question, searched), ("Models", models)]), Text(""))


def _question_facts(question: str, searched: str) -> list[tuple[str, str]]:
    """Return the question, and what is searched for if that is another text."""
    condensed = [("Searched for", searched)] if searched != question else []
    return [("Question", question), *condensed]


def compared_view(
    outcome: Compared, request: CompareRequest, cli: Invocation
) -> Iterator[RenderableType]:
    """All parsers: side by side where there is room, one after another elsewhere."""
    report = outcome.report
    if report is None:
        yield from files_view(tuple(outcome.files))
        return
    limits = {"token": outcome.options.budget, "chunk": outcome.options.top_k}
    context = " and ".join(counted(number, thing) for thing, number in limits.items() if number)
    details = dict(_question_facts(request.question, report.question)) | {"Models": report.models}
    yield facts((details | {"Context": f"{context or 'no limit'} per parser"}).items())
    if report.files:
        yield from files_view(report.files)
    styled = list(zip(report.columns, cycle(COLOURS)))
    width, across = cli.output.width, _columns_across(len(styled), cli.output)
    for first in range(0, len(styled), across):
        row = styled[first : first + across]
        if across > 1:
            yield _side_by_side(row, width // across - _FRAME, request.chunks)
        else:
            yield from _section(*row[0], width, request.chunks)
    yield _statistics(styled)
    if outcome.loaded:
        took = [seconds(result.seconds) for result in (outcome.loaded, report)]
        words = "parsers answer at the same time, so their times overlap"
        yield plain(f"Split and embedded in {took[0]}, answered in {took[1]}; {words}.", "dim")
        if spent := embedding_spent(outcome.loaded):
            yield plain(spent, "dim")


def _columns_across(count: int, console: Console) -> int:
    """Return the number of columns side by side; rows are kept equally full.

    A file or pipe gets one, unless COLUMNS says how wide it will be shown.
    """
    if not console.is_terminal and "COLUMNS" not in os.environ:
        return 1
    rows = -(-count // max(1, console.width // LEAST_WIDTH))
    return -(-count // rows)


def _side_by_side(styled: Sequence[tuple[Column, str]], width: int, shown: int) -> Table:
    """Parsers as columns, whose answers, sources and chunks start on the same line."""
    grid = Table(box=box.ROUNDED, border_style="dim", expand=True, show_header=False)
    for _ in styled:
        grid.add_column(ratio=1, overflow="fold")
    titles = (
        Text(one_line(column.title), f"bold {colour}").append(
            f"\n{configuration(column.parser)}", "not bold dim"
        )
        for column, colour in styled
    )
    grid.add_row(*titles, end_section=True)
    for part in zip(*(_parts(column, width, shown) for column, _ in styled), strict=True):
        grid.add_row(*(Group(*lines) for lines in part), end_section=True)
    return grid


def _section(column: Column, colour: str, width: int, shown: int) -> Iterator[RenderableType]:
    """One parser: what it is, and indented what it found."""
    yield Text("")
    yield Rule(Text(one_line(column.title), style=f"bold {colour}"), align="left", style="dim")
    yield plain(configuration(column.parser), "dim")
    for part in filter(None, _parts(column, width, shown)):
        yield Text("")
        yield from (Padding(line, (0, 0, 0, 2)) for line in part)


def _parts(column: Column, width: int, shown: int) -> tuple[list[RenderableType], ...]:
    """Answer, sources and chunks, or why there are none."""
    statistics, answer = column.statistics, column.answer
    blocks: list[RenderableType] = [
        Text.assemble(("Failed: ", "bold red"), plain(error))
        for error in dict.fromkeys((column.error, statistics.error))
        if error
    ]
    lost = recovery_in_words(statistics.not_located, statistics.chunks)
    if lost:
        blocks.append(plain(one_line(lost), "yellow"))
    if answer is None:
        if column.partial:
            blocks += [label("Answer", "broke off"), plain(column.partial)]
        return blocks, [], []
    blocks.append(label("Answer", _kind(answer)))
    if answer.kind != "retrieval":
        blocks.append(answer_text(answer))
    return [*blocks, *_remarks(answer)], sources_of(answer), _chunks(answer, shown, width)


def _statistics(styled: Sequence[tuple[Column, str]]) -> Table:
    return table(
        styled,
        {
            "Parser": lambda pair: Text(one_line(pair[0].title), style=pair[1]),
            "Chunks": lambda pair: pair[0].statistics.chunks,
            "Tokens mean": lambda pair: round(pair[0].statistics.mean_tokens) or None,
            "max": lambda pair: pair[0].statistics.max_tokens or None,
            "Context tokens": lambda pair: pair[0].answer and pair[0].answer.context_tokens,
            "Parse": lambda pair: seconds(pair[0].statistics.seconds.get("parse")),
            "Embed": lambda pair: seconds(pair[0].statistics.seconds.get("embed")),
            "Store": lambda pair: seconds(pair[0].statistics.seconds.get("store")),
            "Answer": lambda pair: seconds(pair[0].seconds.get("total")),
        },
        right=("Parse", "Embed", "Store", "Answer"),
    )


# --- parts of an answer -------------------------------------------------------------------------


def answer_text(answer: Answer) -> Text:
    """The answer itself; its sources stand out from numbers in brackets that documents have."""
    text, reached = Text(), 0
    for mark in answer.marks:
        text.append(clean(answer.text[reached : mark.start]))
        text.append(clean(answer.text[mark.start : mark.end]), "bold")
        reached = mark.end
    text.append(clean(answer.text[reached:]))
    if answer.kind == "nothing":
        text.stylize("dim")
    return text


def _kind(answer: Answer) -> str:
    """Return the writer of the answer."""
    return KINDS.get(answer.kind, answer.kind).format(model=one_line(answer.answer_model))


def _remarks(answer: Answer) -> Iterator[RenderableType]:
    """Yield remarks: more was searched, something did not fit, the cost."""
    remarks = [answer.widening]
    if answer.truncated:
        remarks.append("the answer is incomplete: the LLM reached --max-output-tokens")
    if answer.left_out:
        tokens = counted(answer.left_out_tokens, "token")
        remarks.append(f"{counted(answer.left_out, 'chunk')} ({tokens}) did not fit")
    if answer.context_truncated:
        remarks.append("the last chunk was truncated to fit the token budget")
    if answer.tokens_in:
        about = "about " if answer.tokens_estimated else ""
        tokens = f"{about}{counted(answer.tokens_in, 'token')} read, {answer.tokens_out:,} written"
        remarks.append(f"{tokens} · {dollars(answer.cost)}")
    if answer.embedding_tokens:
        tokens = counted(answer.embedding_tokens, "token")
        remarks.append(f"question embedded: {tokens} · {dollars(answer.embedding_cost)}")
    yield from (plain(words, "dim") for words in remarks if words)
    if answer.unsearched:
        chunks = counted(answer.unsearched, "chunk")
        yield plain(
            f"Not searched: {chunks} that another program stored without a keyword vector; "
            "--mode hybrid searches them too",
            "yellow",
        )


def _chunks(answer: Answer, shown: int, width: int) -> list[RenderableType]:
    """The best hits: rank, similarity, page, tokens, and how it begins.

    Words alone give scores, and embeddings similarities. Only the first chunk of a cited source
    has its number: a source can be made of several chunks.
    """
    if not shown:
        return []
    by_meaning = any(hit.similarity is not None for hit in answer.hits)
    first = "similarity (distance)" if by_meaning else "score"
    title = label("Chunks", f"{first} · file · page · tokens")
    if not answer.hits:
        return [title, plain("no chunk found", "dim")]
    numbers = {
        hit.rank: source.number
        for source in answer.sources
        for hit in (*source.copies, *source.hits)
    }
    unnamed: set[int | None] = {citation.number for citation in answer.citations}
    line = max(20, width - 4)
    grid = numbered()
    for hit in answer.hits[:shown]:
        number = numbers.get(hit.rank)
        use = "over budget" if number is None else f"source [{number}]" * (number in unnamed)
        unnamed.discard(number)
        above = heading(hit.found.metadata.get(HEADING_PATH) or ())
        lines: list[RenderableType] = [_facts_of(hit, use)]
        lines += [plain(shortened(above, line), "italic")] if above else []
        lines.append(plain(shortened(hit.found.text, 2 * line - _RAGGED), "dim"))
        if also := also_at(OtherPlace.of(node, 0, len(node.text)) for node in hit.also):
            lines.append(plain(also, "dim"))
        if hit.surroundings and hit.found is hit.node:
            lines.append(plain(shortened(_read(answer, hit), 2 * line - _RAGGED)))
        grid.add_row(str(hit.rank), Group(*lines))
    if rest := len(answer.hits) - shown:
        grid.add_row("", plain(f"and {rest} more" if rest > 0 else "", "dim"))
    return [title, grid]


def _read(answer: Answer, hit: Hit) -> str:
    """Return the size and the text of the excerpts that were read because of a hit."""
    excerpts = answer.read_of(hit)
    if not excerpts:
        return "read with it: nothing that is not read already"
    tokens = counted(sum(excerpt.tokens for excerpt in excerpts), "token")
    return f"read with it, {tokens}: {' … '.join(excerpt.text for excerpt in excerpts)}"


def _facts_of(hit: Hit, use: str) -> Text:
    metadata = hit.found.metadata
    if hit.similarity is None:
        line = Text(f"score {hit.score:.2f}", style="bold")
    else:
        similarity = round(hit.similarity, 2)
        line = Text(f"{similarity:.2f}", style="bold")
        line.append(f" ({1 - similarity:.2f})", style="not bold")
    tokens = metadata.get(TOKEN_COUNT)
    for fact in (
        shortened(display_name(metadata, hit.found.ref_doc_id or ""), _NAME),
        pages(metadata.get(PAGE_START), metadata.get(PAGE_END)),
        f"{tokens:,} tokens" if tokens is not None else "",
        use,
    ):
        if fact:
            line.append(f" · {fact}", style="not bold")
    return line
