"""Files that were moved: stored from a place that is not there any more, and from another one."""

from __future__ import annotations

import os
from bisect import bisect_left
from typing import TYPE_CHECKING

from rag_nodes.pipeline.pruning import is_below_any, is_lost
from rag_nodes.pipeline.report import Moved

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rag_nodes.ledger import Ledger


def moved_files(ledger: Ledger, corpus: str, paths: Iterable[str | Path]) -> Moved | None:
    """What is stored of files that are not there any more, and whose bytes are in ingested ones.

    None where there is nothing of the kind.

    Nothing is removed: of a disk that is not there the files look the same.

    Args:
        ledger: of the store.
        corpus: name of the document set.
        paths: files and folders that were ingested.
    """
    here = is_below_any(paths)
    copies = ledger.copies(corpus)
    found = {content for path, content in copies if here(path) and not is_lost(path)}
    lost = [path for path, content in copies if content in found and is_lost(path)]
    documents = {
        path: [row.id for row in file.documents if row.source_hash]
        for path, file in ledger.known(corpus, lost).items()
    }
    # A page of two crawls is one document, which is to stay.
    ids = [one for several in documents.values() for one in several]
    holders = (row for of in ledger.documents(corpus, ids).values() for row in of)
    kept = {row.id for row in holders if row.source_hash and row.path not in documents}
    chosen = {path: ids for path, ids in documents.items() if ids and kept.isdisjoint(ids)}
    if not chosen:
        return None
    places = _places(chosen, ledger.paths(corpus))
    return Moved(tuple(places), len({one for several in chosen.values() for one in several}))


def _places(chosen: Iterable[str], known: list[str]) -> list[str]:
    """The fewest places that hold these files and no other one that is known."""
    moved, known = set(chosen), sorted(known)
    places: list[str] = []
    for path in sorted(moved):
        if not any(_is_in(path, place) for place in places[-1:]):
            places.append(next(one for one in _missing(path) if _within(one, known) <= moved))
    return places


def _missing(path: str) -> list[str]:
    """The folders above a file that are not there any more, outermost first, and the file."""
    found = [path]
    while not os.path.lexists(above := os.path.dirname(found[-1])):  # noqa: PTH120
        found.append(above)
    return found[::-1]


def _within(place: str, known: list[str]) -> set[str]:
    """Of paths in order those that are a place, or in it."""
    inner = os.path.join(place, "")  # noqa: PTH118
    first = bisect_left(known, inner)
    last = bisect_left(known, inner + chr(0x10FFFF))
    return {*known[first:last], *({place} & set(known))}


def _is_in(path: str, place: str) -> bool:
    return path == place or path.startswith(os.path.join(place, ""))  # noqa: PTH118
