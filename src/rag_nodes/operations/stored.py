"""What is stored, and out with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator

from rag_nodes.ledger import utc_time
from rag_nodes.operations.base import OWNER, Flag, Outcome, Request, Result
from rag_nodes.operations.fields import PARSER_WORDS
from rag_nodes.operations.run import Doing, Run
from rag_nodes.operations.stores import inventory, ledger_of, must_exist, of_parser, opened

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from rag_nodes.ledger import FileRow
    from rag_nodes.upkeep import (
        CollectionStatus,
        HeldCollection,
        ListedDocument,
        Trouble,
    )

_DOCUMENTS_NAMED = 5
"""Documents up to which all are named."""
StoredParser = Annotated[str, Flag("--parser", short="-p", metavar=PARSER_WORDS)]


class OfParser(Request):
    """What one parser cut."""

    parser: StoredParser = ""
    """Only what this parser cut: its class as `status` shows it, a preset with the options of the
    ingest, or the name of a collection."""


class StatusRequest(OfParser):
    """Show what is stored: by which parser and model, how much, and from when.

    All corpora, unless one is named. Times come from the ledger of the ingest, and are "-" where
    there is none. Ends with 3 where a collection cannot be opened, which says why.
    """

    corpus: str | None = None
    """Only this corpus; all by default."""


def _words(given: object) -> object:
    """Several words with commas, each by itself."""
    if not isinstance(given, str):
        return given
    return tuple(one.strip() for one in given.split(",") if one.strip())


class ListRequest(OfParser):
    """List the documents of a corpus, with what is stored of each.

    Incomplete ones are as they were before, or in part; the next ingest completes them. Ends with 3
    where a collection cannot be opened: then it is listed as the ledger knows it.
    """

    state: Annotated[
        tuple[Literal["stored", "incomplete", "expired", "failed"], ...],
        BeforeValidator(_words),
        Flag(metavar="STATE[,STATE...]", joined=True),
    ] = ()
    """Only documents that are so: stored, incomplete, expired (due to be read again) or failed (the
    file could not be read)."""


class RemoveRequest(Request):
    """Take documents out of every collection of the corpus.

    A path stands for all documents of that file or folder. What is still in a folder that is
    ingested again comes back with it; `ingest --prune` removes what is gone from a folder.
    """

    files: Annotated[list[str], OWNER, Flag(argument=True, metavar="FILE")]
    """Paths, URLs, names or ids, as `list` shows them."""
    dry_run: bool = False
    """Say what would go and delete nothing."""


class ClearRequest(OfParser):
    """Delete all that is stored of a corpus, or what one parser cut of it.

    A collection that --parser names as `status` does is that of any corpus. Without --yes it says
    what would go, deletes nothing and ends with 2.
    """

    yes: bool = False
    """Really delete."""


class DoctorRequest(Request):
    """Look for what is torn, foreign, orphaned or about to fail in a store, with the remedy.

    Every collection is read document by document. Ends with 4 where something is wrong that was not
    mended, else with 0.
    """

    repair: bool = False
    """Mend what can be mended without a loss: the ledger, and documents that are not whole, which
    go so that the next ingest makes them anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Result):
    """The documents of a corpus.

    Attributes:
        corpus: its name.
        shown: those that were asked for.
        total: how many there are.
        collections: of the corpus.
        foreign: collections of other programs, where there is none of ours.
    """

    corpus: str
    shown: Sequence[ListedDocument]
    total: int
    collections: Sequence[HeldCollection]
    foreign: Sequence[str]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs, times in UTC."""
        rows = [_plain(one, "stored_at", "failed_at") for one in self.shown]
        return {"corpus": self.corpus, "documents": rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone(Result):
    """What was deleted, or would be.

    Attributes:
        title: what was done, in words.
        rows: by collection.
    """

    title: str
    rows: Sequence[dict[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        return {"title": self.title, "collections": self.rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined(Result):
    """What is wrong with a store.

    Attributes:
        location: of the store.
        findings: in the order in which they were made.
    """

    location: str
    findings: Sequence[Trouble]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        return {
            "store": self.location,
            "sound": self.outcome is Outcome.DONE,
            "findings": [one.as_dict() for one in self.findings],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored(Result):
    """What is in a store.

    Attributes:
        location: of the store.
        collections: what is in each.
        unread: files that could not be read.
        foreign: collections of other programs.
    """

    location: str
    collections: Sequence[CollectionStatus]
    unread: Sequence[FileRow]
    foreign: Sequence[str]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs, times in UTC."""
        rows = [_plain(one, "first_used", "last_used", "failed_at") for one in self.collections]
        unread = [
            {
                "corpus": one.corpus,
                "path": one.path,
                "error": one.error,
                "failed_at": utc_time(one.failed_at),
            }
            for one in self.unread
        ]
        return {
            "store": self.location,
            "foreign": self.foreign,
            "collections": rows,
            "unread": unread,
        }


def status(request: StatusRequest, run: Run) -> Stored:
    """Look into each collection."""
    held = inventory(run)
    known = [*held.collections(request.corpus), *held.never_stored(request.corpus)]
    collections = of_parser(known, request.parser)
    return Stored(
        outcome=_opened(collections),
        location=held.store.location,
        collections=[held.status(one) for one in collections],
        unread=held.unread(request.corpus),
        foreign=held.store.foreign(),
    )


def list_documents(request: ListRequest, run: Run) -> Listed:
    """Look at every document."""
    held, corpus = inventory(run), run.settings.corpus
    collections = of_parser(held.collections(corpus), request.parser)
    documents = held.documents(corpus, collections)
    for one in collections:
        if one.info.trouble:
            run.warn(f"{one.info.name} is shown as the ledger knows it: {one.info.trouble}")
    return Listed(
        outcome=_opened(collections),
        corpus=corpus,
        shown=[one for one in documents if not request.state or one.state in request.state],
        total=len(documents),
        collections=collections,
        foreign=[] if collections else held.store.foreign(),
    )


def remove(request: RemoveRequest, run: Run) -> Gone:
    """Delete what is stored of some documents."""
    from rag_nodes.upkeep import documents_named, removed

    held, corpus = inventory(run, must_know=True), run.settings.corpus
    collections = held.collections(corpus)
    chosen = documents_named(corpus, request.files, held.documents(corpus, collections))
    if request.dry_run:
        ids = {one.id for one in chosen}
        gone, title = [held.size_of(one, ids) for one in collections], "Would remove"
    else:
        gone, title = removed(held, corpus, chosen, collections), "Removed"
    many = len(chosen) > _DOCUMENTS_NAMED
    names = f"{len(chosen):,} documents" if many else ", ".join(one.name for one in chosen)
    return Gone(title=f"{title} {names}", rows=[one._asdict() for one in gone if one.nodes])


def clear(request: ClearRequest, run: Run) -> Gone:
    """Delete whole collections."""
    from rag_nodes.upkeep import cleared

    held, parser = inventory(run, must_know=True), request.parser
    # Messages of an ingest and of `doctor` name a collection, and need not name its corpus.
    known = [*held.collections(), *held.never_stored()]
    own = [one for one in known if one.info.name == parser]
    corpus = own[0].corpus if own else run.settings.corpus
    collections = own or of_parser([one for one in known if one.is_of(corpus)], parser)
    if request.yes:
        rows = [one._asdict() for one in cleared(held, collections)]
        return Gone(title=f"Cleared corpus {corpus!r}", rows=rows)
    aliases = held.store.aliases()
    rows = [
        {
            **held.size_of(one)._asdict(),
            "aliases": sorted(alias for alias, of in aliases.items() if of == one.info.name),
        }
        for one in collections
    ]
    run.warn("Nothing was deleted; say --yes to do it.")
    title = f"Would clear corpus {corpus!r}"
    return Gone(outcome=Outcome.UNCONFIRMED, title=title, rows=rows)


def doctor(request: DoctorRequest, run: Run) -> Examined:
    """Read everything."""
    from rag_nodes.upkeep import examined

    settings = run.settings
    must_exist(settings.store)
    run.emit(Doing("Looking at the store"))
    examination = examined(
        settings.store,
        lambda: opened(run),
        lambda location: ledger_of(settings, location),
        repair=request.repair,
    )
    found = list(examination)
    wrong = any(one.is_wrong and not one.mended for one in found)
    outcome = Outcome.FELL if wrong else Outcome.DONE
    return Examined(outcome=outcome, location=settings.store, findings=found)


def _opened(collections: Sequence[HeldCollection]) -> Outcome:
    """Tell programs that not all could be looked at."""
    troubled = any(one.info.trouble for one in collections)
    return Outcome.PARTLY if troubled else Outcome.DONE


def _plain(row: DataclassInstance, *times: str) -> dict[str, Any]:
    """A row for programs, its times in UTC."""
    data = asdict(row)
    return data | {name: utc_time(data[name]) for name in times}
