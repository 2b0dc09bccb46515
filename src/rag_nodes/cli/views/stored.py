"""Views of a store: a block per collection, a row per document, copies."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from typing import TYPE_CHECKING

from rag_nodes.cli.views.text import (
    MOST_PARSERS,
    Column,
    by_parser,
    configuration,
    facts,
    moment,
    near,
    one_line,
    plain,
    seconds,
    shortened,
    since,
    size_of,
    table,
)
from rag_nodes.core.spelling import command, counted
from rag_nodes.operations.places import foreign_words
from rag_nodes.operations.stored import engines_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.operations.base import Request
    from rag_nodes.operations.copying import Copied
    from rag_nodes.operations.stored import Examined, Gone, Listed, Stored
    from rag_nodes.pipeline.upkeep import CollectionStatus, DocumentState, ListedDocument

_STYLES: Mapping[DocumentState, str] = {
    "stored": "",
    "incomplete": "red",
    "failed": "red",
    "expired": "yellow",
    "gone": "yellow",
}
"""Colour of each state of a document."""
_NAME_CHARACTERS = 60
_MOST_DUPLICATES = 10
"""Files stored more than once that `status` names."""


def status_view(stored: Stored, _: Request, __: Invocation) -> Iterator[RenderableType]:
    """The collections of a store, what could not be read of each corpus, and all together."""
    collections, unread = stored.collections, stored.unread
    for collection in collections:
        yield plain(f"{collection.corpus}: {collection.parser}", "bold")
        yield facts((f"  {name}", value) for name, value in _facts(collection) if value)
        yield ""
    for corpus, number in Counter(failed.corpus for failed in unread).items():
        times = [
            failed.failed_at for failed in unread if failed.corpus == corpus and failed.failed_at
        ]
        words = f"{counted(number, 'file')} could not be read{since(min(times, default=None))}"
        why = command("list --state failed", corpus)
        yield plain(f"{corpus}: {words}; {why} says why", "red")
    for corpus, paths in stored.duplicates[:_MOST_DUPLICATES]:
        names = ", ".join(map(near, paths))
        remove = command(f"remove {shlex.quote(paths[-1])}", corpus)
        yield plain(f"{corpus}: duplicates: {names}. To keep fewer: {remove}", "yellow")
    if (rest := len(stored.duplicates) - _MOST_DUPLICATES) > 0:
        yield plain(f"and {counted(rest, 'other file')} stored more than once", "yellow")
    if stored.pdf_engines:
        read = (f"{engine} ({counted(n, 'file')})" for engine, n in stored.pdf_engines.items())
        yield plain(f"PDF files were read by {', '.join(read)}", "dim")
    sizes = [collection.size for collection in collections if collection.size is not None]
    size = f", {size_of(sum(sizes))}" if sizes else ""
    chunks = counted(sum(collection.chunks for collection in collections), "chunk")
    what = f"{counted(len(collections), 'collection')}, {chunks}{size}"
    words = what if collections else f"nothing is stored{one_line(foreign_words(stored.foreign))}"
    yield plain(f"{near(stored.store)}: {words}", "dim")


def _facts(collection: CollectionStatus) -> Iterator[tuple[str, str]]:
    yield "Collection", collection.name
    yield "Trouble", one_line(collection.trouble or "")
    numbers = f", {collection.dimension} numbers" if collection.dimension else ""
    yield "Options", configuration(json.loads(collection.options or "{}"))
    yield "Model", f"{one_line(collection.model)}{numbers}"
    yield "Ignored", f"vectors {names}" if (names := ", ".join(collection.ignored_vectors)) else ""
    parents = f" and {counted(collection.parents, 'parent')}" if collection.parents else ""
    documents = counted(collection.documents, "document")
    remark = ", says the ledger" if collection.trouble else ""
    yield "Stored", f"{counted(collection.chunks, 'chunk')}{parents} of {documents}{remark}"
    due = {
        "incomplete": collection.incomplete - collection.interrupted,
        "of an ingest that was interrupted or is still running": collection.interrupted,
        "expired": collection.expired,
    }
    wrong = [f"{counted(number, 'document')} {what}" for what, number in due.items() if number]
    yield "Due", f"{', '.join(wrong)}: run the ingest again" if wrong else ""
    if collection.failed:
        failed = counted(collection.failed, "document")
        yield "Reason", f"{failed}{since(collection.failed_at)}: {one_line(collection.error or '')}"
    if collection.first_used:  # a copy that nothing was ingested into has no times
        yield (
            "Ingested",
            f"first {moment(collection.first_used)}, last {moment(collection.last_used)}",
        )
    yield "On disk", size_of(collection.size)


def listed_view(result: Listed, _: Request, __: Invocation) -> Iterator[RenderableType]:
    """A row per document, and what is wrong with those that something is wrong with."""
    shown, collections = result.documents, result.collections

    def chunks(document: ListedDocument) -> str | None:
        counts = [document.chunks.get(name, 0) for name in collections]
        return by_parser(zip(counts, counts, strict=True)) if any(counts) else None

    if shown:
        columns: dict[str, Column] = {
            "Document": lambda document: shortened(
                document.name.removesuffix(f" ({document.source})"), _NAME_CHARACTERS
            ),
            "From": _origin,
            "Pages": "pages",
            "Chunks": chunks,
            "Stored": "stored_at",
            "State": lambda document: plain(document.state, _STYLES[document.state]),
        }
        yield table(shown, columns, right=("Pages", "Chunks"))
    if shown and len(collections) > MOST_PARSERS:
        yield plain(f"Chunks: in {len(collections)} collections together", "dim")
    elif shown and len(collections) > 1:
        several = Counter(collections.values())
        names = (name if several[parser] > 1 else parser for name, parser in collections.items())
        yield plain(f"Chunks: {' · '.join(names)}", "dim")
    for document in shown:
        if document.error:
            words = one_line(document.error.removeprefix(f"{document.path}: "))
            yield plain(
                f"{one_line(document.name)}{since(document.failed_at)}: {words}",
                _STYLES[document.state],
            )
    states = Counter(document.state for document in shown)
    words = ", ".join(f"{number:,} {state}" for state, number in states.items())
    total = f"{len(shown):,} of {counted(result.total, 'document')}"
    yield plain(f"corpus {result.corpus}: {total}{': ' + words if words else ''}", "dim")
    if result.foreign:
        yield plain(f"nothing is stored{one_line(foreign_words(result.foreign))}", "dim")


def _origin(document: ListedDocument) -> str:
    """Return the origin of a document: its folder, if the name is that of the file."""
    place = near(document.source or document.path or "-")
    folder, _, last = place.rpartition("/")
    return folder if folder and last == document.name else place


def gone_view(result: Gone, _: Request, __: Invocation) -> Iterator[RenderableType]:
    """Yield the chunks that went, or would go, by collection."""
    title, rows = one_line(result.title), result.collections
    yield plain(f"{title}:" if rows else f"{title}: nothing is stored of it")
    for row in rows:
        nodes, documents = counted(row.nodes, "node"), counted(row.documents, "document")
        yield plain(f"  {nodes} of {documents} in {row.collection}")


def examined_view(result: Examined, _: Request, __: Invocation) -> Iterator[RenderableType]:
    """Show each finding with its remedy, and how many there are."""
    for finding in result.findings:
        word, style = (finding.kind, "red") if finding.is_wrong else ("note", "dim")
        yield plain(f"{word}: {one_line(finding.where)}", style)
        # Our messages begin with the place, which stands above already.
        yield plain(f"  {one_line(finding.what.removeprefix(f'{finding.where}: '))}")
        yield plain(f"  {one_line(finding.remedy)}", "dim")
    for language, answered in result.languages.items():
        verb = "knows" if answered.is_enough else "does not know"
        count = f"{answered.right} of {answered.asked} answers found"
        yield plain(f"{result.embedding} {verb} {language}: {count}")
    if result.languages:
        return
    yield plain(engines_line(result.pdf_engines), "dim")
    wrong = sum(finding.is_wrong for finding in result.findings)
    yield plain(f"{near(result.store)}: {f'{wrong} wrong' if wrong else 'nothing is wrong'}", "dim")


def copied_view(result: Copied, _: Request, __: Invocation) -> Iterator[RenderableType]:
    """Yield the outcome of each collection that was copied."""
    for collection in result.collections:
        points = f"  {counted(collection.points, 'point')}"
        yield plain(collection.collection, "bold")
        gone = f", {collection.deleted:,} previous ones deleted" if collection.deleted else ""
        sent = f"{collection.sent:,} sent, {collection.unchanged:,} there already{gone}"
        yield plain(f"{points}: {sent}, in {seconds(collection.seconds)}")
        yield plain("  both sides are equal", "dim")
        if collection.extra:
            kept = counted(collection.extra, "point")
            yield plain(f"  {kept} of other documents stay there; --prune deletes them", "yellow")
    yield plain(f"From {near(result.source)} to {near(result.target)}.", "dim")
