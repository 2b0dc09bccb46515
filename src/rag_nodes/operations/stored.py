"""Contents of a store, and their removal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.spelling import command
from rag_nodes.operations import ExitCode
from rag_nodes.operations.base import OWNER, Flag, Request, Result, Typed
from rag_nodes.operations.fields import PARSER_WORDS, words
from rag_nodes.operations.places import exists, inventory, ledger_of, must_exist, of_parser, opened
from rag_nodes.operations.run import Doing, Run

if TYPE_CHECKING:
    from rag_nodes.pipeline.upkeep import (
        CollectionStatus,
        Inventory,
        ListedDocument,
        Removed,
        Trouble,
    )
    from rag_nodes.query.similarity import Answered

_DOCUMENTS_NAMED = 5
"""Documents up to which all are named."""


OF_PARSER = Flag("--parser", short="-p", metavar=PARSER_WORDS)
"""Spelling of a parser whose chunks are stored."""


class OfParser(Request):
    """Filter by parser."""

    parser: Annotated[str, OF_PARSER] = ""
    """Only chunks of this parser: a preset with its options, a class, or a collection."""


class StatusRequest(OfParser):
    """Show each collection: its parser, model, size and age.

    Shows all corpora unless you name one. Times come from the ledger of the ingest; without a
    ledger they are "-". Ends with 3 if a collection cannot be opened, and says why.
    """

    corpus: str | None = None
    """Only this corpus; all by default."""


class ListRequest(OfParser):
    """List the documents of a corpus, with what is stored of each.

    Of an incomplete document the store has the old version or parts of the new one; the next ingest
    completes it. Ends with 3 if a collection cannot be opened; its documents are then listed as the
    ledger knows them.
    """

    state: Annotated[
        tuple[Literal["stored", "incomplete", "expired", "failed", "gone"], ...],
        Typed(words),
        Flag(metavar="STATE[,STATE...]", joined=True),
    ] = ()
    """Only documents that are stored, incomplete, expired, failed or gone."""


class RemoveRequest(Request):
    """Remove documents from every collection of the corpus.

    A path stands for all documents of that file or folder. A file that is still in a folder comes
    back when you ingest the folder again; `ingest --prune` removes documents whose files are gone.
    """

    files: Annotated[list[str], OWNER, Flag(argument=True, metavar="FILE")]
    """Paths, URLs, names or ids, as `list` shows them."""
    dry_run: bool = False
    """Show what would be deleted, and delete nothing."""


class ClearRequest(OfParser):
    """Delete a corpus, or the chunks that one parser made of it.

    With the name of a collection from `status`, --parser deletes it in whichever corpus it is.
    Without --yes the command shows what it would delete, deletes nothing and ends with 2.
    """

    yes: bool = False
    """Delete; without it nothing is deleted."""


class DoctorRequest(Request):
    """Check a store for damage and suggest fixes.

    Every collection is read document by document; nothing is changed. Ends with 4 if something is
    wrong, with 5 if another process has the folder open or the server does not answer, else with 0.
    """

    languages: bool = False
    """Show which languages the embedding model knows, by 16 short texts each, and no store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored(Result):
    """Contents of a store, files that could not be read, and collections of other programs.

    `duplicates` are stored files with the same bytes.
    `pdf_engines` says how many PDF files each engine has read, such as {"pdfium 5": 12}.
    """

    store: str
    collections: Sequence[CollectionStatus]
    unread: Sequence[Unread]
    foreign: Sequence[str]
    pdf_engines: Mapping[str, int]
    duplicates: Sequence[Duplicates] = ()


class Unread(NamedTuple):
    """A file that could not be read, why, and since when."""

    corpus: str
    path: str
    error: str | None
    failed_at: float | None


class Duplicates(NamedTuple):
    """Files of a corpus with the same bytes, each stored as a document of its own.

    The paths of files that are gone come last.
    """

    corpus: str
    paths: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Result):
    """Documents of a corpus that were asked for, of `total`.

    `collections` are those looked at, each with its parser; `foreign` those of other programs,
    where there are none of ours.
    """

    corpus: str
    documents: Sequence[ListedDocument]
    total: int
    collections: Mapping[str, str]
    foreign: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone(Result):
    """Chunks of each collection that went or would go; the title says which of the two."""

    title: str
    collections: Sequence[Removed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined(Result):
    """Findings in a store; it is `sound` if nothing is wrong.

    `pdf_engines` has the version of each PDF engine that is installed, the preferred one first.
    If languages were tested instead, the result of each language, by the name of the `embedding`.
    """

    store: str
    sound: bool
    findings: Sequence[Trouble]
    pdf_engines: Mapping[str, str] = field(default_factory=dict)
    embedding: str = ""
    languages: Mapping[str, Answered] = field(default_factory=dict)


def status(request: StatusRequest, run: Run) -> Stored:
    """Look into each collection."""
    from rag_nodes.pipeline.pruning import file_loss

    held, is_lost = inventory(run), file_loss()
    candidates = [*held.collections(request.corpus), *held.never_stored(request.corpus)]
    collections = of_parser(candidates, request.parser)
    unread = held.ledger.unread(request.corpus or "")
    statuses = [held.status(collection) for collection in collections]
    return Stored(
        outcome=_opened(held),
        store=held.store.location,
        collections=statuses,
        unread=[Unread(file.corpus, file.path, file.error, file.failed_at) for file in unread],
        foreign=held.store.foreign(),
        duplicates=[
            Duplicates(name, sorted(paths, key=is_lost))
            for name, paths in held.ledger.copies(request.corpus or "")
        ],
        pdf_engines=held.ledger.pdf_engines(request.corpus or ""),
    )


def list_documents(request: ListRequest, run: Run) -> Listed:
    """Look for each document in each collection."""
    corpus, held = run.settings.corpus, inventory(run)
    collections = of_parser(held.collections(corpus), request.parser)
    documents = held.documents(corpus, collections)
    for name, trouble in held.troubles.items():
        run.warn(f"{name} is shown as the ledger knows it: {trouble}")
    if "gone" in request.state:
        from rag_nodes.pipeline.pruning import file_loss

        is_lost = file_loss()
        documents = [
            _as_gone(document) if document.path and is_lost(document.path) else document
            for document in documents
        ]
    return Listed(
        outcome=_opened(held),
        corpus=corpus,
        documents=[
            document
            for document in documents
            if not request.state or document.state in request.state
        ],
        total=len(documents),
        collections={collection.info.name: collection.parser for collection in collections},
        foreign=[] if collections else held.store.foreign(),
    )


def _as_gone(document: ListedDocument) -> ListedDocument:
    """Return a document whose file is gone, with the command that removes what is stored of it."""
    remedy = command(f"remove {shlex.quote(document.path or document.id)}", document.corpus)
    return replace(
        document, state="gone", error=f"the file is gone; remove its chunks with {remedy}"
    )


def remove(request: RemoveRequest, run: Run) -> Gone:
    """Remove them, or say what would go."""
    from rag_nodes.pipeline.upkeep import documents_named, removed

    corpus, held = run.settings.corpus, inventory(run, must_know=True)
    collections = held.collections(corpus)
    chosen = documents_named(corpus, request.files, held.documents(corpus, collections))
    if request.dry_run:
        ids = {document.id for document in chosen}
        gone = [held.size_of(collection, ids) for collection in collections]
    else:
        gone = removed(held, corpus, chosen, collections)
    names = ", ".join(document.name for document in chosen)
    which = names if len(chosen) <= _DOCUMENTS_NAMED else f"{len(chosen):,} documents"
    return Gone(
        title=f"{'Would remove' if request.dry_run else 'Removed'} {which}",
        collections=[collection for collection in gone if collection.nodes],
    )


def clear(request: ClearRequest, run: Run) -> Gone:
    """Drop the collections, or say which would go."""
    from rag_nodes.pipeline.upkeep import cleared

    held = inventory(run, must_know=True)
    # Messages of an ingest and of `doctor` name a collection, and need not name its corpus.
    candidates = [*held.collections(), *held.never_stored()]
    own = [collection for collection in candidates if collection.info.name == request.parser]
    corpus = own[0].corpus if own else run.settings.corpus
    chosen = own or of_parser(
        [collection for collection in candidates if collection.is_of(corpus)], request.parser
    )
    which = f"collection '{request.parser}'" if own else f"corpus '{corpus}'"
    if request.parser and not own:
        which = f"parser '{request.parser}' in {which}"
    if not request.yes:
        run.warn("Nothing was deleted; say --yes to do it.")
    return Gone(
        outcome=ExitCode.DONE if request.yes else ExitCode.USAGE,
        title=f"{'Cleared' if request.yes else 'Would clear'} {which}",
        collections=cleared(held, chosen) if request.yes else list(map(held.size_of, chosen)),
    )


def doctor(request: DoctorRequest, run: Run) -> Examined:
    """Check everything in the store, or the languages of the embedding model."""
    from rag_nodes.pipeline.upkeep import examined
    from rag_nodes.readers import pdf_engines

    store = run.settings.store
    if request.languages:
        return _languages(run)
    engines = pdf_engines()
    if not exists(store):
        run.note(engines_line(engines))
    must_exist(store)
    run.emit(Doing("Looking at the store"))
    findings = []
    for finding in examined(store, lambda: opened(run), partial(ledger_of, run)):
        run.check()
        findings.append(finding)
    sound = not any(finding.is_wrong for finding in findings)
    outcome = ExitCode.DONE if sound else ExitCode.GATE
    if any(finding.kind in {"locked", "unreachable"} for finding in findings):
        outcome = ExitCode.UNAVAILABLE  # nothing could be looked at
    return Examined(
        outcome=outcome, store=store, sound=sound, findings=findings, pdf_engines=engines
    )


def engines_line(engines: Mapping[str, str]) -> str:
    """Return a line that names the installed PDF engines with their versions."""
    named = [f"{name} {version}" for name, version in engines.items()]
    return f"PDF engines: {', '.join(named) or 'none is installed'}"


def _languages(run: Run) -> Examined:
    """Test the embedding model of the settings in each language."""
    from rag_nodes.models import choose_models
    from rag_nodes.query.preparing import translated
    from rag_nodes.query.similarity import NAMES, tested

    models = choose_models(run.settings.model_copy(update={"llm": "extractive"}))
    name = models.embedding_name
    if not models.embeds_meaning:
        raise ConfigurationError(
            f"{name} compares words and knows no language; name a neural model with --embedding"
        )
    run.emit(Doing("Testing the embedding model"))
    try:
        languages = {word: tested(models, language) for language, word in NAMES.items()}
    except Exception as error:
        raise translated(error, models.embedding, name) from error
    return Examined(store="", sound=True, findings=(), embedding=name, languages=languages)


def _opened(held: Inventory) -> ExitCode:
    """Tell programs that not all could be looked at."""
    return ExitCode.PARTIAL if held.troubles else ExitCode.DONE
