"""Removal of stored documents, and copies of stores."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rag_nodes.core.errors import (
    AmbiguousDocumentError,
    CollectionMissingError,
    DocumentMissingError,
)
from rag_nodes.core.spelling import command
from rag_nodes.pipeline.pruning import Removed, taken_out
from rag_nodes.store.copying import copy_collection, one_by_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rag_nodes.pipeline.upkeep.inventory import HeldCollection, Inventory, ListedDocument
    from rag_nodes.store import Store
    from rag_nodes.store.copying import CopyFailure, CopyReport, CopyStep

_CANDIDATES = 10
"""Documents that are listed where several fit."""


def documents_named(
    corpus: str, words: Sequence[str], listed: Sequence[ListedDocument]
) -> list[ListedDocument]:
    """The documents that are meant: by id, by path or source, or by name.

    A path stands for all documents of the file, that of a folder for all of the files in it; a name
    only for those of one file.

    Args:
        corpus: for messages.
        words: as typed, each for one file or document.
        listed: the documents of the corpus.

    Raises:
        DocumentMissingError: one of the words means none.
        AmbiguousDocumentError: one means documents of several files.
    """
    documents = {
        document.id or document.path: document
        for word in words
        for document in _meant(corpus, word, listed)
    }
    return list(documents.values())


def removed(
    inventory: Inventory,
    corpus: str,
    documents: Iterable[ListedDocument],
    collections: Iterable[HeldCollection],
) -> list[Removed]:
    """Delete documents from collections, then from the ledger, see `taken_out`.

    Raises:
        StoreError: the store or the ledger failed.
    """
    ledger, chosen = inventory.ledger, list(documents)
    ids = [document.id for document in chosen if document.id]
    names = [held.info.name for held in collections]
    gone = taken_out(inventory.store, ledger, corpus, ids, names)
    ledger.forget_files(
        corpus, [document.path for document in chosen if not document.id and document.path]
    )
    return gone


def cleared(inventory: Inventory, collections: Iterable[HeldCollection]) -> list[Removed]:
    """Drop collections, and forget the files of a corpus that has none any more.

    What is forgotten goes first: whoever repeats a call that was killed still finds the collection.

    Raises:
        StoreError: the store or the ledger failed.
    """
    chosen, ledger = list(collections), inventory.ledger
    gone = list(map(inventory.size_of, chosen))
    names = dict.fromkeys(held.info.name for held in chosen)
    for corpus in {held.corpus for held in chosen}:
        is_all = all(held.info.name in names for held in inventory.collections(corpus))
        if is_all:
            ledger.forget_files(corpus, ledger.paths(corpus))
    for name in names:
        ledger.forget_collection(name)
        with suppress(CollectionMissingError):  # the ledger alone knew it
            inventory.store.drop(name)
    return gone


def copied(
    source: Store,
    target: Inventory,
    collections: Iterable[HeldCollection],
    progress: Callable[[CopyStep], None] | None = None,
    *,
    prune: bool = False,
) -> Iterator[CopyReport | CopyFailure]:
    """Copy collections one after another; see `rag_nodes.store.copying.copy_collection`.

    The ledger of the target forgets each before it is written: the next ingest asks the store.

    Raises:
        StoreError: see `rag_nodes.store.copying.one_by_one`, as for `CredentialsError`.
    """

    def copy(name: str) -> CopyReport:
        target.ledger.forget_collection(name)
        return copy_collection(name, source, target.store, progress, prune=prune)

    return one_by_one((held.info.name for held in collections), copy)


def _meant(corpus: str, word: str, listed: Sequence[ListedDocument]) -> list[ListedDocument]:
    place = Path(word).expanduser().resolve()
    places = {word, word.rstrip("/"), str(place)}
    for exactly in (
        [document for document in listed if document.id and document.id == word],
        [document for document in listed if document.path in places or document.source in places],
    ):
        if exactly:
            return exactly
    named = [document for document in listed if word in _names(document)]
    if len({document.path or document.source or document.id for document in named}) > 1:
        shown = [
            f"{document.path or document.source or document.name} ({document.id})"
            for document in named[:_CANDIDATES]
        ]
        more = f"; and {len(named) - _CANDIDATES} more" if len(named) > _CANDIDATES else ""
        raise AmbiguousDocumentError(
            f"{word}: {len(named)} documents of corpus '{corpus}' have this name; name one by its "
            f"path or id: {'; '.join(shown)}{more}"
        )
    inside = [
        document
        for document in listed
        if document.path and document.path.startswith(os.path.join(place, ""))  # noqa: PTH118
    ]
    if named or inside:
        return named or inside
    raise DocumentMissingError(
        f"{word}: corpus '{corpus}' has no such document; {command('list', corpus)} shows its "
        f"documents"
    )


def _names(document: ListedDocument) -> set[str]:
    """Return the names of a document: its own name and that of its file."""
    places = (document.path, document.source)
    return {
        document.name,
        *(place.replace("\\", "/").rsplit("/", 1)[-1] for place in places if place),
    }
