"""Which files an ingest has to open: those that are not stored as they are, by every parser."""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import LedgerError, StoreError
from rag_nodes.ledger import FileRow, version_of
from rag_nodes.pipeline.units import DueFile, in_brief
from rag_nodes.readers import COLLECTIONS, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rag_nodes.ledger import DocumentRow, FileState, KnownFile, Ledger, StoredDocument
    from rag_nodes.pipeline.columns import IngestColumn
    from rag_nodes.pipeline.units import DocumentRead
    from rag_nodes.readers import FileShard, Limits, ListedFile

_BLOCK = 500
"""Files that are looked up at once."""
_UNSETTLED_NS = 2 * 10**9
"""Nanoseconds for which a file that was changed may change again within one tick of its clock."""
_PIECE = 1 << 20
"""Bytes of a file that are hashed at once."""


def documents_in(paths: Sequence[Path], shard: FileShard | None = None) -> int | None:
    """How many documents files and folders hold; None where only reading them tells."""
    if any(path.suffix.lower() in COLLECTIONS for path in paths):
        return None
    return sum(1 for _ in listed(paths, shard))


class UnchangedDocument(NamedTuple):
    """A document of a file that is not opened, and what is stored of it by each parser, in order.

    `position` is that of the file in the listing, `path` as it was found.
    """

    position: int
    path: str
    row: DocumentRow
    stored: tuple[StoredDocument, ...]


class DueFiles:
    """Looks up in a ledger which files of a corpus are due for some columns."""

    def __init__(
        self,
        ledger: Ledger,
        columns: Sequence[IngestColumn],
        corpus: str,
        limits: Limits,
        identities: Sequence[str],
    ) -> None:
        self._ledger, self._columns = ledger, columns
        self._corpus, self._most = corpus, limits.file_bytes
        # Changes with whatever decides what becomes of the bytes of a file, parsers apart.
        facts = json.dumps([asdict(limits), *identities])
        self._reading = hashlib.sha256(facts.encode()).hexdigest()[:16]

    def of(self, files: Iterable[ListedFile]) -> Iterator[DueFile | UnchangedDocument]:
        """What is to be done about files, in their order.

        A file of known size and time is not opened; one of which only the time changed is hashed.
        """
        listing = enumerate(files)
        while block := list(islice(listing, _BLOCK)):
            known = self._known(file for _, file in block)
            stored = self._stored(known.values())
            touched: list[KnownFile] = []
            for position, file in block:
                yield from self._seen(position, file, known.get(file.place), stored, touched)
            if touched:
                with self._ledger.transaction():
                    for one in touched:
                        self._ledger.record(*one)

    def _known(self, files: Iterable[ListedFile]) -> dict[str, KnownFile]:
        return self._ledger.known(self._corpus, [one.place for one in files if is_text(one)])

    def _stored(self, files: Iterable[KnownFile]) -> list[dict[str, StoredDocument]]:
        """What each collection is known to hold whole of the documents of files."""
        ids = [one.id for known in files for one in known.documents]
        found = []
        for column in self._columns:
            try:
                found.append(column.whole(ids))
            except LedgerError:
                raise
            except StoreError:
                found.append({})  # whoever writes to it will say so
        return found

    def _seen(
        self,
        position: int,
        file: ListedFile,
        known: KnownFile | None,
        stored: Sequence[dict[str, StoredDocument]],
        touched: list[KnownFile],
    ) -> Iterator[DueFile | UnchangedDocument]:
        if file.size is None or not is_text(file):
            yield DueFile(position, file)
            return
        unchanged: list[UnchangedDocument] = []
        if known and known.file.size == file.size:
            unchanged = self._unchanged(position, file, known, stored)
        if known and unchanged and file.mtime_ns == known.file.mtime_ns:
            yield from unchanged
            return
        row = self._row(file, file.size)
        if known and unchanged and row.content_hash == known.file.content_hash:
            touched.append(known._replace(file=known.file._replace(mtime_ns=row.mtime_ns)))
            yield from unchanged
            return
        is_new = known is None and row.content_hash
        twins = self._ledger.twins(self._corpus, row.content_hash) if is_new else ()
        yield DueFile(position, file, row=row, twins=tuple(twins))

    def _unchanged(
        self,
        position: int,
        listed: ListedFile,
        known: KnownFile,
        stored: Sequence[dict[str, StoredDocument]],
    ) -> list[UnchangedDocument]:
        """The documents of a file whose bytes are the same; none where it is due all the same."""
        file, documents = known.file, known.documents
        was_read = file.state in {"read", "partial"} and file.reading == self._reading
        if not was_read or len(documents) != file.documents:
            return []
        now = self._ledger.clock()
        unchanged = []
        for one in documents:
            pairs = zip(self._columns, stored, strict=True)
            rows = [(column.code, of.get(one.id)) for column, of in pairs]
            whole = tuple(row for code, row in rows if row and self._is_of(one, row, code))
            if len(whole) < len(rows) or (one.expires_at is not None and one.expires_at <= now):
                return []
            unchanged.append(UnchangedDocument(position, str(listed.path), one, whole))
        return unchanged

    def _is_of(self, document: DocumentRow, stored: StoredDocument, code: str) -> bool:
        """Whether what is stored is as a file has the document, be it another that was read later.

        It has to be made by the same code.

        Two crawls with versions of one page would else be stored in turn by every ingest.
        """
        if stored.version == version_of(document.source_hash, code):
            return True
        others = self._ledger.documents(self._corpus, [document.id]).get(document.id, [])
        same = [o.path for o in others if version_of(o.source_hash, code) == stored.version]
        files = self._ledger.known(self._corpus, same).values()
        return any(_is_as_known(one.file) for one in files)

    def _row(self, file: ListedFile, size: int) -> FileRow:
        is_settled = time.time_ns() - file.mtime_ns > _UNSETTLED_NS
        return FileRow(
            self._corpus,
            file.place,
            size,
            file.mtime_ns if is_settled else 0,
            _content_hash(file) if size <= self._most else "",
            self._reading,
            "read",
            0,
        )


def concluded(
    file: FileRow, documents: Sequence[DocumentRow], reads: Sequence[DocumentRead]
) -> FileRow:
    """A file as it is written down once all of it was read."""
    unread = [one for one in reads if one.error is not None]
    if unread:
        said = in_brief("; ".join(one.error or "" for one in unread))
        is_empty = not documents and all(one.is_empty for one in unread)
        state: FileState = "empty" if is_empty else "failed"
        return file._replace(state=state, documents=len(documents), error=said or state)
    is_partial = any(one.warnings for one in documents)
    return file._replace(state="partial" if is_partial else "read", documents=len(documents))


def is_text(file: ListedFile) -> bool:
    """Whether its name can be written down; some systems have names of any bytes."""
    try:
        file.place.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_as_known(file: FileRow) -> bool:
    """Whether a file is there, of known size and time."""
    try:
        found = os.stat(file.path)  # noqa: PTH116 - as where files are listed
    except OSError:
        return False
    return (found.st_size, found.st_mtime_ns) == (file.size, file.mtime_ns)


def _content_hash(file: ListedFile) -> str:
    """The hash of a file's bytes; "" where it cannot be read, which its reader will explain."""
    digest = hashlib.sha256()
    with suppress(OSError), file.path.open("rb") as opened:
        while piece := opened.read(_PIECE):
            digest.update(piece)
        return digest.hexdigest()
    return ""
