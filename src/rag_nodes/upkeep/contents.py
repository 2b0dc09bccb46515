"""What is wrong inside an open store: torn documents, and a ledger that says something else."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from rag_nodes.errors import (
    RagNodesError,
    StoreDamagedError,
    StoreFullError,
    StoreLockedError,
    StoreUnreachableError,
    command,
)
from rag_nodes.ledger import utc_time
from rag_nodes.store import described, is_complete
from rag_nodes.upkeep.inventory import is_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rag_nodes.ledger import FileRow, Ledger, StoredDocument
    from rag_nodes.store import QdrantStore, StoredNode

_SHOWN = 5
"""Names that are listed of many."""

FindingKind = Literal[
    "disk",
    "failed",
    "folder",
    "foreign",
    "ledger",
    "locked",
    "torn",
    "unreachable",
    "unreadable",
]
"""What it is about: free space, what an ingest could not read or store, permissions of the folder,
what is none of ours, the ledger, a folder that another process holds,
documents of which not all is there, a server that does not answer, data that cannot be read."""

_KINDS: tuple[tuple[type[Exception], FindingKind], ...] = (
    (StoreLockedError, "locked"),
    (StoreUnreachableError, "unreachable"),
    (StoreDamagedError, "unreadable"),
    (StoreFullError, "disk"),
)


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that was found.

    Attributes:
        kind: what it is about.
        where: the folder, collection, document or file.
        what: what is wrong with it.
        remedy: what to do.
        is_wrong: something has to be done; else it is only worth knowing.
        repair: mends it without a loss; None where a person has to decide.
        mended: it was.
    """

    kind: FindingKind
    where: str
    what: str
    remedy: str
    is_wrong: bool = True
    repair: Callable[[], None] | None = field(default=None, compare=False)
    mended: bool = False

    @classmethod
    def of(
        cls,
        error: Exception,
        where: str,
        otherwise: FindingKind,
        *,
        remedy: str = "",
        repair: Callable[[], None] | None = None,
    ) -> Trouble:
        """What an error tells: what is wrong and, behind a semicolon, what to do about it.

        Args:
            error: that was raised.
            where: at what.
            otherwise: its kind where the error has none.
            remedy: a better one than the error's.
            repair: mends it.
        """
        kinds = (kind for of, kind in _KINDS if isinstance(error, of))
        what, _, said = str(error).partition("; ")
        told = remedy or said or "see what it says"
        return cls(next(kinds, otherwise), where, what, told, repair=repair)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        said = {one: getattr(self, one) for one in ("kind", "where", "what", "remedy", "is_wrong")}
        return {**said, "can_be_repaired": self.repair is not None, "mended": self.mended}


def examined_contents(store: QdrantStore, ledger: Ledger | None) -> Iterator[Trouble]:
    """Look at every collection, and at what the ledger says of them.

    Raises:
        StoreError: the store does not answer any more.
    """
    with store.engine.step():
        names = sorted(store.engine.names())
    ours = [name for name in names if described(name, 0)]
    if foreign := [name for name in names if name not in ours]:
        what = f"collections of other programs: {_some(foreign)}"
        remedy = "nothing has to be done; ours are not touched by them"
        yield Trouble("foreign", store.location, what, remedy, is_wrong=False)
    for name in ours:
        try:
            yield from _Examined(store, ledger, name).findings()
        except StoreDamagedError as error:
            yield Trouble.of(error, name, "unreadable", remedy=_anew(name))
        except RagNodesError as error:
            yield Trouble.of(error, name, "unreadable")
    if ledger:
        yield from _orphans(store, ledger)
        yield from _unread(ledger)


def _orphans(store: QdrantStore, ledger: Ledger) -> Iterator[Trouble]:
    """Rows of collections that are gone."""
    for name in (one.name for one in ledger.collections() if one.documents):
        try:
            with store.engine.step(name):
                is_there = store.engine.collection(name) is not None
        except RagNodesError:
            continue  # it is there, and cannot be read
        if not is_there:
            yield Trouble(
                "ledger",
                name,
                "the ledger knows this collection, and the store has it no more",
                "--repair forgets it; ingest its documents again if it should be there",
                repair=partial(ledger.forget_collection, name),
            )


def _unread(ledger: Ledger) -> Iterator[Trouble]:
    """Files that could not be read."""
    for corpus, files in groupby(ledger.unread(), attrgetter("corpus")):
        what = f"files that could not be read: {_some([_failure(one.path, one) for one in files])}"
        listing = command("list --state failed", corpus)
        remedy = f"mend or delete them; {listing} shows them"
        yield Trouble("failed", f"corpus {corpus}", what, remedy, is_wrong=False)


class _Examined:
    """One collection under examination."""

    def __init__(self, store: QdrantStore, ledger: Ledger | None, name: str) -> None:
        self._store, self._ledger, self._name = store, ledger, name
        self._there: dict[str, StoredDocument] = {}
        self._unlisted: set[str] = set()

    def findings(self) -> Iterator[Trouble]:
        """All about it; what the ledger says is looked at when the documents are mended."""
        yield from self._torn()
        yield from self._unfindable()
        if self._ledger:
            yield from self._unlike(self._ledger)
            yield from self._failed(self._ledger)

    def _row(self, document: str, nodes: Mapping[str, StoredNode]) -> StoredDocument:
        from rag_nodes.pipeline.collections import stored_row  # it loads LlamaIndex

        return stored_row(self._name, document, nodes)

    def _torn(self) -> Iterator[Trouble]:
        foreign = []
        # The next ingest completes these with what is there, which may have been paid for.
        rows = self._ledger.stored(self._name) if self._ledger else {}
        known = {one for one, row in rows.items() if row.error is not None}
        for document, found in self._store.each_document(self._name):
            nodes = found
            if all(not node.source_hash for node in nodes.values()):
                foreign.append(document)
            elif document not in known and (what := what_is_torn(nodes)):
                yield Trouble(
                    "torn",
                    f"{self._name}: document {document}",
                    what,
                    "ingest it again, or repeat the push that was interrupted; --repair removes "
                    "what is not whole, so that it becomes due",
                    repair=partial(self._mend, document, nodes),
                )
                nodes = self._store.stored(self._name, document)  # it may have been mended
            if nodes:
                self._there[document] = self._row(document, nodes)
            if self._ledger:
                listed = self._ledger.listed_ids(self._name, [document]).get(document, ())
                if not nodes.keys() <= {*listed}:  # an ingest would leave the others behind
                    self._unlisted.add(document)
        if foreign:
            what = f"{_documents(foreign)} that no ingest wrote: {_some(foreign)}"
            remedy = "nothing has to be done where you wrote them yourself"
            yield Trouble("foreign", self._name, what, remedy, is_wrong=False)

    def _mend(self, document: str, nodes: Mapping[str, StoredNode]) -> None:
        """Keep the version that is whole, if there is one, and delete the rest."""
        kept = _whole_version(nodes)
        if self._ledger:
            self._ledger.intend(self._name, {document: nodes})
        self._store.delete(self._name, [one for one in nodes if one not in kept])
        if self._ledger and kept:
            self._ledger.settle([self._row(document, kept)], {document: kept})
        elif self._ledger:
            self._ledger.forget_stored(self._name, [document])

    def _unfindable(self) -> Iterator[Trouble]:
        """Chunks without a vector."""
        chunks = sum(one.chunks for one in self._there.values())
        if lacking := chunks - self._store.count(self._name):
            what = f"{lacking} of {chunks} chunks have no embedding, and no search finds them"
            yield Trouble("torn", self._name, what, _anew(self._name))

    def _unlike(self, ledger: Ledger) -> Iterator[Trouble]:
        """What the ledger says otherwise."""
        if self._name not in {one.name for one in ledger.collections()}:
            what = "the ledger does not know this collection: it was written elsewhere"
            remedy = "the next ingest into it makes it known"
            yield Trouble("ledger", self._name, what, remedy, is_wrong=False)
            return
        rows = ledger.stored(self._name)
        known = {one: row for one, row in rows.items() if row.nodes or one in self._there}
        different = [
            one
            for one in {**self._there, **known}
            if one in self._unlisted or _held(known.get(one)) != _held(self._there.get(one))
        ]
        if different:
            yield Trouble(
                "ledger",
                self._name,
                f"the ledger says something else of {_documents(different)}: {_some(different)}",
                "--repair makes it say what is stored, as the next ingest does by itself",
                repair=partial(self._adopt, ledger),
            )

    def _adopt(self, ledger: Ledger) -> None:
        documents = self._store.each_document(self._name)
        rows = ((self._row(one, nodes), nodes) for one, nodes in documents)
        ledger.adopt(self._name, rows)

    def _failed(self, ledger: Ledger) -> Iterator[Trouble]:
        """What the collection could not be given, as the ingest said."""
        corpus = next((o.corpus for o in ledger.collections() if o.name == self._name), "")
        failed = {one: row for one, row in ledger.stored(self._name).items() if row.error}
        holders = ledger.documents(corpus, list(failed))
        lacking = {
            one: row for one, row in failed.items() if not is_whole(row, holders.get(one, []))
        }
        if lacking:
            names = {one: of[-1].name for one, of in holders.items()}
            said = [_failure(names.get(one, one), row) for one, row in lacking.items()]
            what = f"documents that could not be stored as they are now: {_some(said)}"
            listing = command("list --state incomplete", corpus)
            remedy = f"see to that, and ingest again; {listing} shows them"
            yield Trouble("failed", self._name, what, remedy, is_wrong=False)


def _held(row: StoredDocument | None) -> tuple[str, int, int] | None:
    """What a ledger is to say as the store does."""
    return (row.version, row.chunks, row.parents) if row else None


def what_is_torn(nodes: Mapping[str, StoredNode]) -> str:
    """What is not whole about the stored nodes of a document; "" where all of it is."""
    hashes = Counter(node.source_hash for node in nodes.values())
    if len(hashes) > 1:
        return f"chunks of {len(hashes)} versions of it are mixed"
    lost = {one.parent for one in nodes.values() if one.parent} - nodes.keys()
    if lost:
        return f"{len(lost)} parents are missing, and their children are there"
    parents = {one for one, node in nodes.items() if node.is_parent}
    if childless := parents - {node.parent for node in nodes.values()}:
        return f"{len(childless)} parents have none of their children"
    if not is_complete(nodes, next(iter(hashes))):
        levels = Counter(node.is_parent for node in nodes.values())
        wanted = max(node.total_chunks for node in nodes.values() if not node.is_parent)
        return f"{levels[False]} of {wanted} chunks are there"
    return ""


def _whole_version(nodes: Mapping[str, StoredNode]) -> dict[str, StoredNode]:
    """The nodes of the version of a document that is whole; of several the larger one."""
    versions: dict[str, dict[str, StoredNode]] = {}
    for one, node in nodes.items():
        versions.setdefault(node.source_hash, {})[one] = node
    whole = [found for found in versions.values() if not what_is_torn(found)]
    return max(whole, key=len, default={})


def _documents(names: list[str]) -> str:
    return "1 document" if len(names) == 1 else f"{len(names):,} documents"


def _some(names: list[str]) -> str:
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _failure(name: str, row: StoredDocument | FileRow) -> str:
    since = utc_time(row.failed_at)
    said = (row.error or "").removeprefix(f"{name}: ")
    return f"{name} ({f'since {since}: ' if since else ''}{said})"


def _anew(collection: str) -> str:
    clear = f"`rag-nodes clear --parser {collection} --yes`"
    return f"{clear} deletes it; then ingest again, or restore a copy"
