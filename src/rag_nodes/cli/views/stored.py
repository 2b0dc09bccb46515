"""What is stored, for people: a block per collection, a row per document, what was copied."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rag_nodes.cli.views.text import counted, facts, one_line, plain, seconds, shortened, table
from rag_nodes.errors import command
from rag_nodes.metadata import USUAL
from rag_nodes.operations.stores import foreign_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import RenderableType

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.operations.base import Request
    from rag_nodes.operations.copying import Aliases, Copied
    from rag_nodes.operations.stored import (
        DoctorRequest,
        Examined,
        Gone,
        Listed,
        ListRequest,
        StatusRequest,
        Stored,
    )
    from rag_nodes.upkeep import CollectionStatus, ListedDocument

_STYLES = {"stored": "", "incomplete": "red", "failed": "red", "expired": "yellow"}
_KILO = 1000
_NAME_WIDTH = 60


def status_view(stored: Stored, _: StatusRequest, __: Invocation) -> Iterator[RenderableType]:
    """The collections of a store, what could not be read of each corpus, and all together."""
    found, unread = stored.collections, stored.unread
    for one in found:
        yield plain(f"{one.corpus}: {one.parser}", "bold")
        yield facts(_facts(one))
        yield ""
    for corpus, number in Counter(one.corpus for one in unread).items():
        known = [one.failed_at for one in unread if one.corpus == corpus and one.failed_at]
        said = f"{counted(number, 'file')} could not be read{_since(min(known, default=None))}"
        why = command("list --state failed", corpus)
        yield plain(f"{corpus}: {said}; {why} says why", "red")
    chunks = sum(one.chunks for one in found)
    sizes = [one.size for one in found if one.size is not None]
    size = f", {size_of(sum(sizes))}" if sizes else ""
    what = f"{counted(len(found), 'collection')}, {counted(chunks, 'chunk')}{size}"
    said = what if found else f"nothing is stored{one_line(foreign_words(stored.foreign))}"
    yield plain(f"{near(stored.store)}: {said}", "dim")


def _facts(one: CollectionStatus) -> Iterator[tuple[str, str]]:
    yield "  Collection", one.name
    if one.trouble:
        yield "  Trouble", one_line(one.trouble)
    if one.aliases:
        yield "  Aliases", ", ".join(map(one_line, one.aliases))
    numbers = f", {one.dimension} numbers" if one.dimension else ""
    yield "  Model", f"{one_line(one.model)}{numbers}"
    yield "  Search", one.mode
    if one.vectors not in {(), (USUAL,)}:
        yield "  Vectors", ", ".join(one.vectors)
    parents = f" and {counted(one.parents, 'parent')}" if one.parents else ""
    documents = counted(one.documents, "document")
    said = ", says the ledger" if one.trouble else ""
    yield "  Stored", f"{counted(one.chunks, 'chunk')}{parents} of {documents}{said}"
    wrong = [
        counted(one.incomplete, "document") + " not whole" if one.incomplete else "",
        counted(one.expired, "document") + " expired" if one.expired else "",
    ]
    if any(wrong):
        yield "  Due", f"{', '.join(filter(None, wrong))}: run the ingest again"
    if one.failed:
        failed = counted(one.failed, "document")
        yield "  Failed", f"{failed}{_since(one.failed_at)}: {one_line(one.error or '')}"
    if one.first_used:  # a copy that nothing was ingested into has no times
        yield "  Ingested", f"first {moment(one.first_used)}, last {moment(one.last_used)}"
    yield "  On disk", "-" if one.size is None else size_of(one.size)


def listed_view(found: Listed, _: ListRequest, __: Invocation) -> Iterator[RenderableType]:
    """A row per document, and what is wrong with those that something is wrong with."""
    shown, collections = found.documents, found.collections
    if shown:
        numbers = ("Pages", "Chunks")
        rows = (_row(one, collections) for one in shown)
        yield table("Document", "From", *numbers, "Stored", "State", right=numbers, rows=rows)
    if shown and len(collections) > 1:
        several = Counter(collections.values())
        told = (name if several[parser] > 1 else parser for name, parser in collections.items())
        yield plain(f"Chunks: {' · '.join(told)}", "dim")
    for one in shown:
        if one.error:
            said = one_line(one.error.removeprefix(f"{one.path}: "))
            yield plain(f"{one_line(one.name)}{_since(one.failed_at)}: {said}", _STYLES[one.state])
    states = Counter(one.state for one in shown)
    said = ", ".join(f"{number:,} {state}" for state, number in states.items())
    total = f"{len(shown):,} of {counted(found.total, 'document')}"
    yield plain(f"corpus {found.corpus}: {total}{': ' + said if said else ''}", "dim")
    if found.foreign:
        yield plain(f"nothing is stored{one_line(foreign_words(found.foreign))}", "dim")


def _row(one: ListedDocument, collections: Iterable[str]) -> tuple[object, ...]:
    there = [one.chunks.get(name, 0) for name in collections]
    chunks = " · ".join(f"{number:,}" if number else "-" for number in there)
    return (
        shortened(one.name.removesuffix(f" ({one.source})"), _NAME_WIDTH),
        _origin(one),
        one.pages,
        chunks if any(there) else "-",
        moment(one.stored_at),
        plain(one.state, _STYLES[one.state]),
    )


def _origin(one: ListedDocument) -> str:
    """Where it is from: the folder, where the name is that of the file."""
    place = near(one.source or one.path or "-")
    folder, _, last = place.rpartition("/")
    return folder if folder and last == one.name else place


def gone_view(found: Gone, _: Request, __: Invocation) -> Iterator[RenderableType]:
    """What went, or would go, by collection."""
    title, rows = one_line(found.title), found.collections
    yield plain(f"{title}:" if rows else f"{title}: nothing is stored of it")
    for row in rows:
        nodes, documents = counted(row.nodes, "node"), counted(row.documents, "document")
        names = (one_line(name) for name, of in found.aliases.items() if of == row.collection)
        meaning = ", ".join(sorted(names))
        said = f", which {meaning} means" if meaning else ""
        yield plain(f"  {nodes} of {documents} in {row.collection}{said}")


def examined_view(found: Examined, _: DoctorRequest, __: Invocation) -> Iterator[RenderableType]:
    """What was found, what to do about it, and how many findings there are of each kind."""
    for one in found.findings:
        style = "yellow" if one.mended else "red" if one.is_wrong else "dim"
        word = "mended" if one.mended else one.kind if one.is_wrong else "note"
        yield plain(f"{word}: {one_line(one.where)}", style)
        # Our messages begin with the place, which stands above already.
        yield plain(f"  {one_line(one.what.removeprefix(f'{one.where}: '))}")
        if not one.mended:
            yield plain(f"  {one_line(one.remedy)}", "dim")
    mended = sum(one.mended for one in found.findings)
    wrong = sum(one.is_wrong and not one.mended for one in found.findings)
    by_repair = sum(one.repair is not None and not one.mended for one in found.findings)
    said = [f"{wrong} wrong" if wrong else "nothing is wrong"]
    said += [f"{mended} mended"] if mended else []
    said += [f"{by_repair} of them can be mended by --repair"] if by_repair else []
    yield plain(f"{near(found.store)}: {', '.join(said)}", "dim")


def copied_view(found: Copied, _: Request, __: Invocation) -> Iterator[RenderableType]:
    """What became of each collection that was copied."""
    for one in found.collections:
        yield plain(one.collection, "bold")
        points = f"  {counted(one.points, 'point')}"
        if isinstance(one, tuple):  # of another program
            yield plain(points)
            if one.left_out:
                names = ", ".join(map(repr, one.left_out))
                left_out = f"  vectors that cannot be ranked here were left out: {names}"
                yield plain(left_out, "yellow")
            continue
        gone = f", {one.deleted:,} former ones deleted" if one.deleted else ""
        sent = f"{one.sent:,} sent, {one.unchanged:,} there already{gone}"
        yield plain(f"{points}: {sent}, in {seconds(one.seconds)}")
        yield plain("  both sides are equal", "dim")
        if one.extra:
            kept = counted(one.extra, "point")
            yield plain(f"  {kept} of other documents stay there; --prune deletes them", "yellow")
    yield plain(f"From {near(found.source)} to {near(found.target)}.", "dim")


def aliases_view(found: Aliases, _: Request, __: Invocation) -> Iterator[RenderableType]:
    """What each alias means."""
    if found.aliases:
        yield table("Alias", "Collection", rows=sorted(found.aliases.items()))
    else:
        yield plain(f"{found.store} has no aliases.", "dim")


def near(place: str) -> str:
    """A path below the folder where one is, as one would type it; everything else as it is."""
    with suppress(ValueError, OSError):
        return str(Path(place).relative_to(Path.cwd()))
    return place


def _since(time: float | None) -> str:
    return "" if time is None else f", since {moment(time)}"


def moment(time: float | None) -> str:
    """A time as people of this place read it; "-" where it is not known."""
    if time is None:
        return "-"
    return datetime.fromtimestamp(time, tz=UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def size_of(size: float) -> str:
    """Bytes as people read them."""
    for unit in ("bytes", "KB", "MB"):
        if size < _KILO:
            return f"{size:,.0f} {unit}"
        size /= _KILO
    return f"{size:,.1f} GB"
