"""Checks of a store: what is torn, foreign or orphaned in it, and what to do about it."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rag_nodes.core.errors import (
    LedgerError,
    RagNodesError,
    StoreDamagedError,
    StoreError,
    StoreForeignError,
    StoreFullError,
    StoreLockedError,
    StoreUnreachableError,
)
from rag_nodes.core.metadata import FILE_PATH, SOURCE
from rag_nodes.core.spelling import counted
from rag_nodes.pipeline.ledger import Ledger, StoredDocument
from rag_nodes.store import lack_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rag_nodes.store import Store, StoredNode

    StoredDocuments = dict[str, dict[str, StoredNode]]

_SHOWN = 5
"""Documents that are listed of many."""
_ANEW = "`rag-nodes clear --parser {} --yes` deletes it; then ingest again, or restore a copy"

FindingKind = Literal[
    "disk", "folder", "foreign", "ledger", "locked", "torn", "unreachable", "unreadable"
]
"""Subject of a finding; "torn" are documents of which not all is there."""
_KINDS: tuple[tuple[type[Exception], FindingKind], ...] = (
    (StoreForeignError, "foreign"),
    (StoreLockedError, "locked"),
    (StoreUnreachableError, "unreachable"),
    (StoreDamagedError, "unreadable"),
    (StoreFullError, "disk"),
)


@dataclass(frozen=True, slots=True)
class Trouble:
    """A finding: where it is, what is wrong, and what to do.

    A finding that is not `is_wrong` is only worth knowing.
    """

    kind: FindingKind
    where: str
    what: str
    remedy: str
    is_wrong: bool = True

    @classmethod
    def of(cls, error: Exception, where: str, otherwise: FindingKind, remedy: str = "") -> Trouble:
        """Return the finding for an error: the damage and, behind a semicolon, the remedy."""
        kinds = (kind for error_class, kind in _KINDS if isinstance(error, error_class))
        what, _, advice = str(error).partition("; ")
        return cls(next(kinds, otherwise), where, what, remedy or advice or "see what it says")

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return asdict(self)


def examined(
    location: str,
    opened: Callable[[], Store],
    ledger_path: Callable[[str], Path | None],
) -> Iterator[Trouble]:
    """Check a store and yield each finding as it is made.

    Args:
        location: folder or URL of the store.
        opened: opens it; whoever gives this closes it.
        ledger_path: gives the path of the ledger for the location of an open store; None if it has
            no ledger.
    """
    try:
        yield from _folder(location)
        store = opened()
    except (StoreError, OSError) as error:
        yield Trouble.of(error, location, "folder")
        return
    ledger, path = None, ledger_path(store.location)
    with ExitStack() as cleanup:
        if path and path.is_file():
            try:
                ledger = cleanup.enter_context(Ledger(path))
                ledger.check()
            except LedgerError as error:
                ledger = None
                cleanup.close()
                yield Trouble.of(error, str(path), "ledger")
        names = [info.name for info in store.collections()]
        for name in names:
            try:
                yield from _collection(store, ledger, name)
            except RagNodesError as error:
                remedy = _ANEW.format(name) if isinstance(error, StoreDamagedError) else ""
                yield Trouble.of(error, name, "unreadable", remedy)
        for collection in ledger.collections() if ledger else ():
            # Of a collection that is gone nothing is counted and no error raised.
            with suppress(RagNodesError):
                if (
                    ledger
                    and collection.documents
                    and collection.name not in names
                    and not store.count(collection.name)
                ):
                    what = "the ledger lists this collection, and the store no longer has it"
                    remedy = "ingest its documents again if it should be there"
                    yield Trouble("ledger", collection.name, what, remedy)


def _folder(location: str) -> Iterator[Trouble]:
    """Collections of a folder of which not even the name can be read."""
    from rag_nodes.store.edge.folder import contents_of

    if "://" not in location:
        path = Path(location).expanduser().resolve()
        for unread in contents_of(path).unread.values():
            yield Trouble.of(unread, str(path), "unreadable")


def _collection(store: Store, ledger: Ledger | None, name: str) -> Iterator[Trouble]:
    """Yield what is wrong with a collection, and where its ledger disagrees with the store."""
    stored = store.documents(name)
    yield from _torn(store, ledger, name, stored)
    chunks = sum(not node.is_parent for nodes in stored.values() for node in nodes.values())
    if lacking := chunks - store.count(name):
        what = f"{lacking} of {chunks} chunks have no embedding, and no search finds them"
        yield Trouble("torn", name, what, _ANEW.format(name))
    if ledger and not ledger.stored(name):
        what = "the ledger does not know what is in this collection: it was written elsewhere"
        remedy = "the next ingest into it makes it known"
        yield Trouble("ledger", name, what, remedy, is_wrong=False)
    elif ledger and (different := _different(ledger, name, stored)):
        count = counted(len(different), "document")
        rest = f" and {len(different) - _SHOWN} more" if len(different) > _SHOWN else ""
        paths = [_path(store, ledger, name, key, stored.get(key, {})) for key in different[:_SHOWN]]
        yield Trouble(
            "ledger",
            name,
            f"ledger and store disagree about {count}: {', '.join(paths)}{rest}",
            "ingest again: the ledger is then made from what is stored",
        )


def _path(
    store: Store,
    ledger: Ledger | None,
    name: str,
    document_id: str,
    nodes: Mapping[str, StoredNode],
) -> str:
    """Return the path or URL of a document, as its nodes or the ledger have it; else its id."""
    facts = next((node.metadata for node in store.fetch(name, [*nodes][:1]).values()), {})
    path = facts.get(SOURCE) or facts.get(FILE_PATH)
    if ledger and not path:
        for held in ledger.collections():
            if held.name == name:
                rows = ledger.documents(held.corpus, [document_id]).get(document_id, ())
                path = next((row.path for row in rows), None)
    return str(path or document_id)


def _torn(
    store: Store, ledger: Ledger | None, name: str, stored: StoredDocuments
) -> Iterator[Trouble]:
    """Yield a finding for each document of which chunks are missing or versions are mixed."""
    rows = ledger.stored(name) if ledger else {}
    for document, nodes in stored.items():
        # What no ingest wrote cannot be judged; what failed the next ingest completes with what is
        # there, which may have been paid for.
        is_judged = any(node.source_hash for node in nodes.values())
        has_failed = document in rows and rows[document].error is not None
        if is_judged and not has_failed and (what := lack_of(nodes)):
            yield Trouble(
                "torn",
                f"{name}: document {_path(store, ledger, name, document, nodes)}",
                what,
                "ingest it again, or repeat the push that was interrupted",
            )


def _different(ledger: Ledger, name: str, stored: StoredDocuments) -> list[str]:
    """Documents that are stored in another version than the ledger says, or that it lacks."""
    actual = {
        document_id: StoredDocument.of(name, document_id, nodes).version
        for document_id, nodes in stored.items()
    }
    expected = {document_id: row.version for document_id, row in ledger.stored(name).items()}
    return [
        key
        for key in dict.fromkeys([*actual, *expected])
        if expected.get(key, "") != actual.get(key, "") or (key in actual and key not in expected)
    ]
