"""View of an ingest: a row per file and a row per parser."""

from __future__ import annotations

from collections import Counter
from math import floor
from typing import TYPE_CHECKING

from rag_nodes.cli.views.text import by_parser, near, one_line, plain, seconds, table
from rag_nodes.core.spelling import counted
from rag_nodes.models.prices import dollars
from rag_nodes.parsers.recovery import recovery_in_words
from rag_nodes.readers import Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType
    from rich.text import Text

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.embedding import DocumentsReport, FileOutcome, ParserOutcome
    from rag_nodes.operations.ingesting import Ingested, IngestRequest
    from rag_nodes.pipeline import IngestReport

MOST_NAMES = 10
"""Documents that are named where they were removed."""
MOST_FILES = 30
"""Rows of files; of more, so many with something to say, those first that could not be read."""
_STYLES = {"failed": "red", "incomplete": "red", "partial": "yellow", "unchanged": "dim"}


def ingested_view(
    result: Ingested, request: IngestRequest, _: Invocation
) -> Iterator[RenderableType]:
    """Yield the outcome of an ingest, or the estimate of a dry run."""
    report, dry = result.report, request.dry_run
    yield from _rehearsed(report) if dry else _done(report)
    yield from left_out_view(report)
    if keys := report.removed_keys:
        done = "Would remove" if dry else "Removed"
        more = f" and {len(keys) - MOST_NAMES} more" if len(keys) > MOST_NAMES else ""
        names = ", ".join(map(one_line, keys[:MOST_NAMES])) + more
        documents = counted(report.without_keys, "document")
        named = f"the key{'s' if len(keys) > 1 else ''} {names} from {documents}"
        yield plain(f"{done} {named}, which this run did not give.", "yellow")
    if report.pruned and report.pruned.documents:
        gone = report.pruned.documents
        names = ", ".join(one_line(_last(path)) for path in gone[:MOST_NAMES])
        more = f" and {len(gone) - MOST_NAMES} more" if len(gone) > MOST_NAMES else ""
        why = "gone or excluded" if report.excluded else "gone"
        chunks = counted(report.pruned.nodes, "chunk")
        yield plain(f"Removed, as they are {why}: {names}{more} ({chunks}).")
    if report.gone:
        documents = counted(report.gone, "stored document")
        has, are = ("has", "is") if report.gone == 1 else ("have", "are")
        excluded = f" or {are} excluded" if report.excluded else ""
        sentence = f"{documents} {has} no file any more{excluded}"
        yield plain(f"{sentence}; --prune removes them.", "yellow")
    yield from _concluded(report) if dry else _spent(report)


def left_out_view(report: IngestReport) -> Iterator[RenderableType]:
    """A line about files that no reader takes or that are excluded, and one about blank pages."""
    if words := str(Skipped(Counter(report.skipped), report.excluded)):
        yield plain(f"{words[0].upper()}{words[1:]}.", "dim")
    if blank := report.blank_pages:
        names = "; ".join(map(one_line, blank[:MOST_NAMES]))
        more = f" and {len(blank) - MOST_NAMES:,} more" if len(blank) > MOST_NAMES else ""
        yield plain(f"{counted(len(blank), 'blank page')} left out: {names}{more}.", "dim")


def _done(report: IngestReport) -> Iterator[RenderableType]:
    yield from files_view(report.files, report.omitted)
    changes = (
        {"Unchanged": "unchanged"} if any(column.unchanged for column in report.columns) else {}
    )
    yield table(
        report.columns,
        {
            "Parser": _name_of,
            "Chunks": "chunks",
            "Tokens\nmean": lambda column: round(column.mean_tokens),
            "Tokens\nmax": "max_tokens",
            "Written": "written",
            **changes,
            **{stage.capitalize(): f"seconds.{stage}" for stage in ("parse", "embed", "store")},
        },
    )
    for column in report.columns:
        if column.error:
            yield plain(f"{column.parser}: {column.error}", "red")
        if recovery := recovery_in_words(column.not_located, column.chunks):
            yield plain(f"{column.parser}: {recovery}", "yellow")
    for reason in report.unhashable:
        again = "so every ingest processes its documents again."
        yield plain(f"{one_line(reason)}, {again}", "yellow")
    if report.other_engine:
        files = counted(report.other_engine, "PDF file")
        yield plain(f"Read again because another PDF engine had read it: {files}.", "dim")
    if report.embedding_cache_hit_rate:
        cost = f" · {dollars(report.saved_cost)}" if report.saved_cost else ""
        tokens = counted(report.saved_tokens, "token")
        share = floor(report.embedding_cache_hit_rate * 100)  # 100 % are all
        yield plain(f"Already embedded: {share}% ({tokens}{cost} saved).", "dim")
    for collection in report.superseded:
        chunks = counted(collection.chunks, "chunk")
        documents = counted(collection.documents, "document")
        yield plain(
            "The parser's options or the model are new, and so is the collection. The superseded "
            f"one stays, with {chunks} of {documents}; delete it with: "
            f"`rag-nodes clear --parser {collection.name} --yes`",
            "yellow",
        )


def _rehearsed(report: IngestReport) -> Iterator[RenderableType]:
    for file in report.files:
        yield from _said_lines(file, _name(file))
    yield table(
        report.columns,
        {
            "Parser": _name_of,
            "Due": lambda column: report.due[column.parser],
            "Chunks": "chunks",
            "New": "written",
            "Unchanged": "unchanged",
            "Tokens": "tokens",
            "To embed": "embedding_tokens",
            "Price": lambda column: dollars(column.embedding_cost),
        },
        right=("Price",),
    )


def _concluded(report: IngestReport) -> Iterator[RenderableType]:
    for name in report.estimated:
        yield plain(
            f"{name}: an estimate, as its model would decide where to split; words were compared "
            "in its place",
            "yellow",
        )
    tokens, cost = counted(report.embedding_tokens, "token"), dollars(report.embedding_cost)
    yield plain(
        f"Dry run over {counted(report.documents, 'document')}: no model was asked and nothing "
        f"stored. {tokens} to embed: {cost}."
    )


def _spent(report: IngestReport) -> Iterator[RenderableType]:
    if spent := embedding_spent(report):
        yield plain(spent, "dim")
    yield plain(f"Done in {seconds(report.seconds)}.", "dim")


def embedding_spent(report: DocumentsReport) -> str:
    """Return the cost of embedding, by parser and together; "" if no server embedded anything."""
    if not report.embedding_tokens:
        return ""
    columns = [column for column in report.columns if column.embedding_tokens]
    each = ", ".join(f"{column.parser} {column.embedding_tokens:,}" for column in columns)
    tokens = counted(report.embedding_tokens, "token")
    return f"Embedded {tokens} ({each}) · {dollars(report.embedding_cost)}."


def files_view(files: tuple[FileOutcome, ...], omitted: int = 0) -> Iterator[RenderableType]:
    """A row per file, of many some that need attention; then what is to be said of them.

    "Stored" counts the chunks of the file in the collection of each parser, in the order of the
    parsers, of many parsers together, and says of how many where some are missing.

    Args:
        files: how each ended.
        omitted: further documents, which ended well.
    """
    to_tell = files
    if len(files) > MOST_FILES:
        to_tell = tuple(sorted(filter(_said, files), key=lambda file: file.status != "failed"))
    shown = to_tell[:MOST_FILES]
    names = Counter(map(_name, files))

    def named(file: FileOutcome) -> str:
        folder = near(file.path).rpartition("/")[0] if names[_name(file)] > 1 else ""
        return f"{one_line(folder)}/{_name(file)}" if folder else _name(file)

    yield table(
        shown,
        {
            "Document": named,
            "Status": lambda file: plain(file.status, _STYLES.get(file.status, "")),
            "Pages": "pages",
            "Characters": lambda file: file.characters or None,
            "Time": "seconds",
            "Stored": lambda file: by_parser(
                (column.stored, column.chunks) for column in file.columns.values()
            ),
        },
        right=("Stored",),
    )
    if rest := len(files) - len(to_tell) + omitted:
        yield plain(f"{counted(rest, 'other document')}, all well", "dim")
    for file in shown:
        yield from _said_lines(file, named(file))
        choices = (column.choice for column in file.columns.values() if column.choice)
        yield from (plain(f"{named(file)}: {one_line(choice)}", "dim") for choice in choices)
    if more := len(to_tell) - len(shown):
        counts = Counter(file.status for file in to_tell[MOST_FILES:])
        states = ", ".join(f"{number:,} {status}" for status, number in counts.items())
        yield plain(f"and {more:,} more with messages ({states}): --json has all", "yellow")


def _said_lines(file: FileOutcome, name: str) -> Iterator[RenderableType]:
    """The same as lines; the error of a file that failed names it already."""
    named = "" if file.status == "failed" else f"{name}: "
    for message in _said(file):
        yield plain(f"{named}{one_line(message)}", _STYLES.get(file.status, ""))


def _said(file: FileOutcome) -> list[str]:
    """Return the remarks about a file: of reading it, and of storing it by each parser."""
    reading = [file.error] if file.error else []
    return reading + [
        f"{name}: {column.lack}" for name, column in file.columns.items() if column.lack
    ]


def _name(file: FileOutcome) -> str:
    return one_line(file.name or _last(file.path))


def _name_of(column: ParserOutcome) -> Text:
    return plain(column.parser.replace(",", ", "), "red" if column.error else "")


def _last(path: str) -> str:
    """File name of a path; a URL as it is."""
    return path if "://" in path else path.replace("\\", "/").rsplit("/", maxsplit=1)[-1]
