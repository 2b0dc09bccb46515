"""What an ingest did, for people: a row per file and a row per parser."""

from __future__ import annotations

import shlex
from collections import Counter
from math import floor
from typing import TYPE_CHECKING

from rag_nodes.cli.views.text import counted, one_line, plain, seconds, table
from rag_nodes.errors import command
from rag_nodes.models.prices import dollars
from rag_nodes.parsers.recovery import recovery_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType
    from rich.table import Table

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.operations.ingesting import Ingested, IngestRequest
    from rag_nodes.pipeline import FileColumn, FileOutcome, IngestReport

MOST_NAMES = 10
"""Documents that are named where they were removed."""
MOST_FILES = 30
"""Rows of files; of more, so many with something to say, those first that could not be read."""

_ESTIMATED = "an estimate, as its model would decide where to cut; words were compared in its place"

_STYLES = {
    "failed": "red",
    "incomplete": "red",
    "partial": "yellow",
    "unchanged": "dim",
    "read": "",
}


def ingested_view(
    found: Ingested, request: IngestRequest, _: Invocation
) -> Iterator[RenderableType]:
    """What was done, or would be."""
    yield from (_rehearsed if request.dry_run else _done)(found.report)


def _done(report: IngestReport) -> Iterator[RenderableType]:
    yield from files_view(report.files, report.omitted)
    yield _parsers(report)
    for outcome in report.columns:
        if outcome.error:
            yield plain(f"{outcome.parser}: {outcome.error}", "red")
        if said := recovery_in_words(outcome.unplaced, outcome.chunks):
            yield plain(f"{outcome.parser}: {said}", "yellow")
    yield from _untold_view(report)
    yield from _memory_view(report)
    yield from _further_view(report, "{:,} tokens read and {:,} written")
    if spent := embedding_spent(report):
        yield plain(spent, "dim")
    yield plain(f"Done in {seconds(report.seconds)}.", "dim")


def _untold_view(report: IngestReport) -> Iterator[RenderableType]:
    """What is never unchanged, and why."""
    for one in report.untold:
        yield plain(f"{one_line(one)}, so every ingest makes it anew.", "yellow")


def _further_view(report: IngestReport, tokens: str) -> Iterator[RenderableType]:
    """What LLMs wrote, and which embeddings were kept up to date though nobody named them."""
    for one in report.writers:
        requests, said = (
            counted(one.requests, "request"),
            tokens.format(one.tokens_in, one.tokens_out),
        )
        yield plain(f"{one.step}: {requests} to {one.model}, {said}: {dollars(one.cost)}.", "dim")
    if report.kept_vectors:
        names = ", ".join(report.kept_vectors)
        yield plain(
            f"Kept up to date, as they are stored: vectors {names}; --vector none stops that.",
            "dim",
        )


def _memory_view(report: IngestReport) -> Iterator[RenderableType]:
    """What was stored before: what it spared, what a new one took the place of, what is gone."""
    if report.hit_rate:
        cost = f" · {dollars(report.spared_cost)}" if report.spared_cost else ""
        tokens = counted(report.spared_tokens, "token")
        share = floor(report.hit_rate * 100)  # 100 % are all
        yield plain(f"Already embedded: {share}% ({tokens}{cost} spared).", "dim")
    for one in report.former:
        chunks, documents = counted(one.chunks, "chunk"), counted(one.documents, "document")
        yield plain(
            f"The parser's options or the model are new, and so is the collection. The former one "
            f"stays, with {chunks} of {documents}; delete it with: "
            f"`rag-nodes clear --parser {one.name} --yes`",
            "yellow",
        )
    yield from _gone(report, "Removed, as they are gone")
    if report.moved:
        files = report.moved
        words = " ".join(shlex.quote(one_line(one)) for one in files[:MOST_NAMES])
        first = "" if len(files) <= MOST_NAMES else ", the first of them"
        yield plain(
            f"{counted(len(files), 'stored file')} {'is' if len(files) == 1 else 'are'} not there "
            "any more, and the same content was read from elsewhere now; remove what is stored of "
            f"the former places{first} with: " + command(f"remove {words}", report.corpus),
            "yellow",
        )


def _gone(report: IngestReport, removed: str) -> Iterator[RenderableType]:
    if report.pruned and report.pruned.documents:
        gone = report.pruned.documents
        names = ", ".join(one_line(_last(path)) for path in gone[:MOST_NAMES])
        more = f" and {len(gone) - MOST_NAMES} more" if len(gone) > MOST_NAMES else ""
        nodes = counted(report.pruned.nodes, "chunk")
        yield plain(f"{removed}: {names}{more} ({nodes}).")
    if report.gone:
        has = "has" if report.gone == 1 else "have"
        documents = counted(report.gone, "stored document")
        yield plain(f"{documents} {has} no file any more; --prune removes them.", "yellow")


def _rehearsed(report: IngestReport) -> Iterator[RenderableType]:
    """What an ingest would do, and what it would cost."""
    for file in report.files:
        yield from _said_lines(file)
    numbers = ("Due", "Chunks", "New", "Unchanged", "Replaced", "Tokens", "To embed", "Price")
    made = table("Parser", *numbers, right=numbers)
    for outcome in report.columns:
        made.add_row(
            plain(outcome.parser.replace(",", ", "), "red" if outcome.error else ""),
            f"{report.due[outcome.parser]:,}",
            f"{outcome.chunks:,}",
            f"{outcome.written:,}",
            f"{outcome.unchanged:,}",
            f"{outcome.deleted:,}",
            f"{outcome.tokens:,}",
            f"{outcome.embedding_tokens:,}",
            dollars(outcome.embedding_cost),
        )
    yield made
    yield from _gone(report, "Would be removed, as they are gone")
    yield from _further_view(report, "{:,} tokens to read and up to {:,} to write")
    for name in report.estimated:
        yield plain(f"{name}: {_ESTIMATED}", "yellow")
    tokens = counted(report.embedding_tokens, "token")
    total = f"{tokens} to embed: {dollars(report.embedding_cost)}."
    yield plain(
        f"Dry run over {counted(report.documents, 'document')}: no model was asked and nothing "
        f"stored. {total}"
    )


def embedding_spent(report: IngestReport) -> str:
    """What embedding took, by parser and together; "" where nothing was embedded by a server."""
    if not report.embedding_tokens:
        return ""
    each = ", ".join(
        f"{outcome.parser} {outcome.embedding_tokens:,}"
        for outcome in report.columns
        if outcome.embedding_tokens
    )
    tokens = counted(report.embedding_tokens, "token")
    return f"Embedded {tokens} ({each}) · {dollars(report.embedding_cost)}."


def files_view(files: tuple[FileOutcome, ...], omitted: int = 0) -> Iterator[RenderableType]:
    """A row per file, of many some that need attention; then what is to be said of them.

    That is what was wrong with them, and what a parser chose that decides per document.

    "Stored" counts the chunks of the file in the collection of each parser, in the order of the
    parsers, and says of how many where some are missing.

    Args:
        files: how each ended.
        omitted: further documents, which ended well.
    """
    to_tell = files
    if len(files) > MOST_FILES:
        to_tell = tuple(sorted(filter(_said, files), key=lambda file: file.status != "failed"))
    shown = to_tell[:MOST_FILES]
    made = table(
        "Document",
        "Status",
        "Pages",
        "Characters",
        "Time",
        "Stored",
        right=("Pages", "Characters", "Time", "Stored"),
    )
    for file in shown:
        made.add_row(
            plain(_name(file)),
            plain(file.status, _STYLES.get(file.status, "")),
            "-" if file.pages is None else f"{file.pages:,}",
            f"{file.characters:,}" if file.characters else "-",
            seconds(file.seconds),
            " · ".join(_stored(column) for column in file.columns.values()) or "-",
        )
    yield made
    if rest := len(files) - len(to_tell) + omitted:
        yield plain(f"{counted(rest, 'other document')}, all well", "dim")
    for file in shown:
        yield from _said_lines(file)
        for column in file.columns.values():
            if column.choice:
                yield plain(f"{_name(file)}: {one_line(column.choice)}", "dim")
    if more := len(to_tell) - len(shown):
        said = Counter(file.status for file in to_tell[MOST_FILES:])
        states = ", ".join(f"{number:,} {status}" for status, number in said.items())
        yield plain(f"and {more:,} more to be told of ({states}): --json has all", "yellow")


def _said_lines(file: FileOutcome) -> Iterator[RenderableType]:
    """The same as lines; the error of a file that failed names it already."""
    named = "" if file.status == "failed" else f"{_name(file)}: "
    for said in _said(file):
        yield plain(f"{named}{one_line(said)}", _STYLES.get(file.status, ""))


def _said(file: FileOutcome) -> list[str]:
    """What there is to say about a file: of reading it, and of storing it by each parser."""
    reading = [file.error] if file.error else []
    lacks = ((name, column.lack) for name, column in file.columns.items())
    return [*reading, *(f"{name}: {lack}" for name, lack in lacks if lack)]


def _stored(column: FileColumn) -> str:
    missing = f" of {column.chunks:,}" if column.stored < column.chunks else ""
    return f"{column.stored:,}{missing}"


def _name(file: FileOutcome) -> str:
    return one_line(file.name or _last(file.path))


def _last(path: str) -> str:
    """File name of a path; a URL as it is."""
    return path if "://" in path else path.replace("\\", "/").rsplit("/", maxsplit=1)[-1]


def _parsers(report: IngestReport) -> Table:
    numbers = (
        "Chunks",
        "Tokens mean",
        "max",
        "Written",
        "Unchanged",
        "Deleted",
        "Parse",
        "Embed",
        "Store",
    )
    made = table("Parser", *numbers, right=numbers)
    for outcome in report.columns:
        made.add_row(
            plain(outcome.parser.replace(",", ", "), "red" if outcome.error else ""),
            f"{outcome.chunks:,}",
            f"{outcome.mean_tokens:,.0f}",
            f"{outcome.max_tokens:,}",
            f"{outcome.written:,}",
            f"{outcome.unchanged:,}",
            f"{outcome.deleted:,}",
            *(seconds(outcome.seconds.get(stage)) for stage in ("parse", "embed", "store")),
        )
    return made
