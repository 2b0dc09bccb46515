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
    from rich.text import Text

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.operations.ingesting import Ingested, IngestRequest
    from rag_nodes.pipeline import FileOutcome, IngestReport, ParserOutcome

MOST_NAMES = 10
"""Documents that are named where they were removed."""
MOST_FILES = 30
"""Rows of files; of more, so many with something to say, those first that could not be read."""
_STYLES = {"failed": "red", "incomplete": "red", "partial": "yellow", "unchanged": "dim"}


def ingested_view(
    found: Ingested, request: IngestRequest, _: Invocation
) -> Iterator[RenderableType]:
    """What was done, or would be."""
    yield from (_rehearsed if request.dry_run else _done)(found.report)


def _done(report: IngestReport) -> Iterator[RenderableType]:
    yield from files_view(report.files, report.omitted)
    counts = ("Chunks", "Tokens mean", "max", "Written", "Unchanged", "Deleted")
    stages = ("parse", "embed", "store")
    numbers = (*counts, *map(str.capitalize, stages))
    rows = (
        (
            _name_of(one),
            one.chunks,
            round(one.mean_tokens),
            one.max_tokens,
            one.written,
            one.unchanged,
            one.deleted,
            *(seconds(one.seconds.get(stage)) for stage in stages),
        )
        for one in report.columns
    )
    yield table("Parser", *numbers, right=numbers, rows=rows)
    for one in report.columns:
        if one.error:
            yield plain(f"{one.parser}: {one.error}", "red")
        if said := recovery_in_words(one.unplaced, one.chunks):
            yield plain(f"{one.parser}: {said}", "yellow")
    for untold in report.untold:
        yield plain(f"{one_line(untold)}, so every ingest makes it anew.", "yellow")
    if report.embedding_cache_hit_rate:
        cost = f" · {dollars(report.saved_cost)}" if report.saved_cost else ""
        tokens = counted(report.saved_tokens, "token")
        share = floor(report.embedding_cache_hit_rate * 100)  # 100 % are all
        yield plain(f"Already embedded: {share}% ({tokens}{cost} saved).", "dim")
    yield from _superseded(report)
    yield from _gone(report, "Removed, as they are gone")
    yield from _further(report, "{:,} tokens read and {:,} written")
    if spent := embedding_spent(report):
        yield plain(spent, "dim")
    yield plain(f"Done in {seconds(report.seconds)}.", "dim")


def _rehearsed(report: IngestReport) -> Iterator[RenderableType]:
    """What an ingest would do, and what it would cost."""
    for file in report.files:
        yield from _said_lines(file)
    numbers = ("Due", "Chunks", "New", "Unchanged", "Replaced", "Tokens", "To embed", "Price")
    rows = (
        (
            _name_of(one),
            report.due[one.parser],
            one.chunks,
            one.written,
            one.unchanged,
            one.deleted,
            one.tokens,
            one.embedding_tokens,
            dollars(one.embedding_cost),
        )
        for one in report.columns
    )
    yield table("Parser", *numbers, right=numbers, rows=rows)
    yield from _gone(report, "Would be removed, as they are gone")
    yield from _further(report, "{:,} tokens to read and up to {:,} to write")
    for name in report.estimated:
        yield plain(
            f"{name}: an estimate, as its model would decide where to cut; words were compared in "
            "its place",
            "yellow",
        )
    tokens, cost = counted(report.embedding_tokens, "token"), dollars(report.embedding_cost)
    yield plain(
        f"Dry run over {counted(report.documents, 'document')}: no model was asked and nothing "
        f"stored. {tokens} to embed: {cost}."
    )


def _further(report: IngestReport, tokens: str) -> Iterator[RenderableType]:
    """What LLMs wrote, and which embeddings were kept up to date though nobody named them."""
    for one in report.writers:
        said = tokens.format(one.tokens_in, one.tokens_out)
        requests = counted(one.requests, "request")
        yield plain(f"{one.step}: {requests} to {one.model}, {said}: {dollars(one.cost)}.", "dim")
    if report.kept_vectors:
        names = ", ".join(report.kept_vectors)
        yield plain(
            f"Kept up to date, as they are stored: vectors {names}; --vector none stops that.",
            "dim",
        )


def _superseded(report: IngestReport) -> Iterator[RenderableType]:
    """What was stored before, from elsewhere or by other options, and how to be rid of it."""
    for one in report.superseded:
        chunks, documents = counted(one.chunks, "chunk"), counted(one.documents, "document")
        yield plain(
            "The parser's options or the model are new, and so is the collection. The superseded "
            f"one stays, with {chunks} of {documents}; delete it with: "
            f"`rag-nodes clear --parser {one.name} --yes`",
            "yellow",
        )
    if report.moved:
        words = " ".join(shlex.quote(one_line(one)) for one in report.moved[:MOST_NAMES])
        first = ", the first of them" if len(report.moved) > MOST_NAMES else ""
        yield plain(
            f"Stored files that are not there any more: {len(report.moved):,}. The same content "
            "was read from elsewhere now; remove what is stored of the former "
            f"places{first} with: " + command(f"remove {words}", report.corpus),
            "yellow",
        )


def _gone(report: IngestReport, removed: str) -> Iterator[RenderableType]:
    if report.pruned and report.pruned.documents:
        gone = report.pruned.documents
        names = ", ".join(one_line(_last(path)) for path in gone[:MOST_NAMES])
        more = f" and {len(gone) - MOST_NAMES} more" if len(gone) > MOST_NAMES else ""
        yield plain(f"{removed}: {names}{more} ({counted(report.pruned.nodes, 'chunk')}).")
    if report.gone:
        has = "has" if report.gone == 1 else "have"
        documents = counted(report.gone, "stored document")
        yield plain(f"{documents} {has} no file any more; --prune removes them.", "yellow")


def embedding_spent(report: IngestReport) -> str:
    """What embedding took, by parser and together; "" where nothing was embedded by a server."""
    if not report.embedding_tokens:
        return ""
    columns = [one for one in report.columns if one.embedding_tokens]
    each = ", ".join(f"{one.parser} {one.embedding_tokens:,}" for one in columns)
    tokens = counted(report.embedding_tokens, "token")
    return f"Embedded {tokens} ({each}) · {dollars(report.embedding_cost)}."


def files_view(files: tuple[FileOutcome, ...], omitted: int = 0) -> Iterator[RenderableType]:
    """A row per file, of many some that need attention; then what is to be said of them.

    That is what was wrong with them, and what a parser chose that decides per document. "Stored"
    counts the chunks of the file in the collection of each parser, in the order of the parsers, and
    says of how many where some are missing.

    Args:
        files: how each ended.
        omitted: further documents, which ended well.
    """
    to_tell = files
    if len(files) > MOST_FILES:
        to_tell = tuple(sorted(filter(_said, files), key=lambda file: file.status != "failed"))
    shown = to_tell[:MOST_FILES]
    numbers = ("Pages", "Characters", "Time", "Stored")
    yield table("Document", "Status", *numbers, right=numbers, rows=map(_row, shown))
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


def _row(file: FileOutcome) -> tuple[object, ...]:
    stored = (
        f"{one.stored:,} of {one.chunks:,}" if one.stored < one.chunks else f"{one.stored:,}"
        for one in file.columns.values()
    )
    return (
        _name(file),
        plain(file.status, _STYLES.get(file.status, "")),
        file.pages,
        file.characters or None,
        seconds(file.seconds),
        " · ".join(stored) or None,
    )


def _said_lines(file: FileOutcome) -> Iterator[RenderableType]:
    """The same as lines; the error of a file that failed names it already."""
    named = "" if file.status == "failed" else f"{_name(file)}: "
    for said in _said(file):
        yield plain(f"{named}{one_line(said)}", _STYLES.get(file.status, ""))


def _said(file: FileOutcome) -> list[str]:
    """What there is to say about a file: of reading it, and of storing it by each parser."""
    reading = [file.error] if file.error else []
    return reading + [f"{name}: {one.lack}" for name, one in file.columns.items() if one.lack]


def _name(file: FileOutcome) -> str:
    return one_line(file.name or _last(file.path))


def _name_of(column: ParserOutcome) -> Text:
    return plain(column.parser.replace(",", ", "), "red" if column.error else "")


def _last(path: str) -> str:
    """File name of a path; a URL as it is."""
    return path if "://" in path else path.replace("\\", "/").rsplit("/", maxsplit=1)[-1]
