"""Who keeps the books of an ingest: what of the files is due, and what became of them."""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import nullcontext, suppress
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING

from rag_nodes.errors import EmptyFileError
from rag_nodes.ledger import WEB_HOURS, DocumentRow, FileRow
from rag_nodes.ledger.versions import version_of
from rag_nodes.models.rebuilding import without_keys
from rag_nodes.pipeline.found import Left, Seen
from rag_nodes.pipeline.record import LONGEST, CollectionRecord, LedgerRecord, ShardRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from rag_nodes.ledger import (
        CollectionRow,
        CollectionSums,
        DepositRow,
        FileState,
        KnownFile,
        Ledger,
    )
    from rag_nodes.pipeline.found import FoundDocument
    from rag_nodes.readers import Limits, ListedFile
    from rag_nodes.store import Store

_BLOCK = 500
"""Files that are looked up at once."""
_UNSETTLED_NS = 2 * 10**9
"""Nanoseconds for which a file that was changed may change again within one tick of its clock."""
_PIECE = 1 << 20
"""Bytes of a file that are hashed at once."""


class Books:
    """Those of an ingest of which no ledger is kept: every file is due."""

    def record(self, store: Store, row: CollectionRow) -> CollectionRecord:
        """The record of a collection that the ingest writes; asked for in order."""
        return CollectionRecord(store, row.name)

    def seen(self, files: Iterable[ListedFile]) -> Iterator[Seen]:
        """What is to be done about files."""
        return map(Seen, files)

    def announce(self, file: FileRow, found: FoundDocument) -> None:
        """Take down a document of a file of which nothing is stored yet by this ingest."""

    def note(self, file: FileRow, found: FoundDocument | None, error: Exception | None) -> None:
        """Take down what a file became: all its documents and errors, one after another."""

    def together(self) -> AbstractContextManager[object]:
        """Have what is noted meanwhile written down at once."""
        return nullcontext()

    def close(self) -> None:
        """Write down what is left to be."""

    def former(self) -> list[CollectionSums]:
        """Collections that the new ones of this run took the place of."""
        return []


class LedgerBooks(Books):
    """Those that are kept in a ledger.

    Args:
        ledger: of the store.
        corpus: name of the document set.
        reading: changes with whatever decides what becomes of the bytes of a file, see
            `reading_key`.
        ttl: hours after which a web page is due again; 0 for never.
        most: bytes up to which a file is read at all.
        shared: others write to the same collections, and keep ledgers of their own.
    """

    def __init__(
        self,
        ledger: Ledger,
        corpus: str,
        reading: str = "",
        *,
        ttl: float = WEB_HOURS,
        most: int | None = None,
        shared: bool = False,
    ) -> None:
        self._ledger = ledger
        self._corpus = corpus
        self._reading = reading
        self._ttl = ttl
        self._most = most
        self._kind = ShardRecord if shared else LedgerRecord
        self._records: list[LedgerRecord] = []
        self._file: FileRow | None = None
        self._documents: list[DocumentRow] = []
        self._errors: list[Exception] = []

    def record(self, store: Store, row: CollectionRow) -> CollectionRecord:
        """The record of a collection; its name is in use from now on."""
        self._records.append(self._kind(store, row, self._ledger))
        return self._records[-1]

    def seen(self, files: Iterable[ListedFile]) -> Iterator[Seen]:
        """What is to be done about files; those that did not change since are left unopened.

        A file of known size and time is not opened; one of which only the time changed is hashed.
        While the parsers are not known, every file is due.
        """
        listing = iter(files)
        while block := list(islice(listing, _BLOCK if self._records else 1)):
            known = self._ledger.known(self._corpus, [one.place for one in block if is_text(one)])
            stored = self._stored(known.values())
            touched: list[FileRow] = []
            for file in block:
                yield self._seen(file, known.get(file.place), stored, touched)
            if touched:
                self._ledger.refresh(touched)

    def announce(self, file: FileRow, found: FoundDocument) -> None:
        """Take down a document before it is stored, as the file is written down only after it."""
        self._ledger.announce(self._row(file, found))

    def note(self, file: FileRow, found: FoundDocument | None, error: Exception | None) -> None:
        """Take down what a file became; it is written when the next one begins."""
        if file is not self._file:
            self.close()
            self._file = file
        if error:
            self._errors.append(error)
        elif found:
            self._documents.append(self._row(file, found))

    def together(self) -> AbstractContextManager[object]:
        """As `Ledger.together`."""
        return self._ledger.together()

    def close(self) -> None:
        """Write down the last file."""
        if self._file:
            documents = list({one.id: one for one in self._documents}.values())
            self._ledger.record(_concluded(self._file, documents, self._errors), documents)
        self._file, self._documents, self._errors = None, [], []

    def former(self) -> list[CollectionSums]:
        """Other collections of the corpus by a parser of the same kind, where one is new."""
        used = {record.collection for record in self._records}
        kinds = {record.parser for record in self._records if record.is_new}
        return [
            one
            for one in self._ledger.collections(self._corpus)
            if one.row.parser in kinds and one.row.name not in used and one.documents
        ]

    def _stored(self, files: Iterable[KnownFile]) -> list[dict[str, DepositRow]]:
        """What each record knows to be stored of the documents of files."""
        ids = [one.id for known in files for one in known.documents]
        return [record.known(ids) for record in self._records]

    def _seen(
        self,
        file: ListedFile,
        known: KnownFile | None,
        stored: Sequence[dict[str, DepositRow]],
        touched: list[FileRow],
    ) -> Seen:
        if file.size is None or not is_text(file):
            return Seen(file)
        left = self._left(known, stored) if known and known.file.size == file.size else ()
        if known and left and file.mtime_ns == known.file.mtime_ns:
            return Seen(file, None, left)
        row = self._file_row(file)
        if known and left and row.content_hash == known.file.content_hash:
            touched.append(known.file._replace(mtime_ns=row.mtime_ns))
            return Seen(file, None, left)
        twins = () if known or not row.content_hash else self._twins(row.content_hash)
        return Seen(file, row, (), twins)

    def _twins(self, content_hash: str) -> tuple[str, ...]:
        return tuple(self._ledger.twins(self._corpus, content_hash))

    def _left(self, known: KnownFile, stored: Sequence[dict[str, DepositRow]]) -> tuple[Left, ...]:
        """The documents of a file whose bytes are the same; none where it is due all the same."""
        file, documents = known.file, [one for one in known.documents if one.source_hash]
        was_read = file.state in {"read", "partial"} and file.reading == self._reading
        if not was_read or not stored or len(documents) != file.documents:
            return ()
        now = self._ledger.clock()
        left = []
        for one in documents:
            pairs = zip(self._records, stored, strict=True)
            rows = [(record.code, deposits.get(one.id)) for record, deposits in pairs]
            whole = tuple(row for code, row in rows if row and self._is_of(one, row, code))
            if len(whole) < len(rows) or (one.expires_at is not None and one.expires_at <= now):
                return ()
            left.append(Left(one, whole))
        return tuple(left)

    def _is_of(self, document: DocumentRow, stored: DepositRow, code: str) -> bool:
        """Whether what is stored is as a file has the document, be it another that was read later.

        It has to be made by the same code.

        Two crawls with versions of one page would else be stored in turn by every ingest.
        """
        if stored.source_hash == version_of(document.source_hash, code):
            return True
        others = self._ledger.holders(self._corpus, [document.id])
        same = [o.path for o in others if version_of(o.source_hash, code) == stored.source_hash]
        return any(
            _is_as_known(one.file) for one in self._ledger.known(self._corpus, same).values()
        )

    def _file_row(self, file: ListedFile) -> FileRow:
        settled = time.time_ns() - file.mtime_ns > _UNSETTLED_NS
        size = file.size or 0
        hashed = self._most is None or size <= self._most
        return FileRow(
            self._corpus,
            file.place,
            size,
            file.mtime_ns if settled else 0,
            _content_hash(file) if hashed else "",
            self._reading,
            "read",
            0,
        )

    def _row(self, file: FileRow, found: FoundDocument) -> DocumentRow:
        is_web = str(found.source).startswith(("http://", "https://"))
        expires_at = self._ledger.clock() + self._ttl * 3600 if is_web and self._ttl else None
        return DocumentRow(file.corpus, file.path, *found, expires_at)


def reading_key(limits: Limits, identities: Sequence[str]) -> str:
    """Changes with whatever decides what becomes of the bytes of a file, parsers apart.

    Args:
        limits: what a file may cost; whether it gives way to others decides nothing.
        identities: of this version and the user's transformations, see `identities_of`.
    """
    bounds = {name: value for name, value in asdict(limits).items() if name != "share"}
    facts = [bounds, *identities]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


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


def _concluded(
    file: FileRow, documents: Sequence[DocumentRow], errors: Sequence[Exception]
) -> FileRow:
    if errors:
        said = without_keys("; ".join(map(str, errors)), {}, most=LONGEST)
        is_empty = not documents and all(isinstance(one, EmptyFileError) for one in errors)
        state: FileState = "empty" if is_empty else "failed"
        return file._replace(state=state, documents=len(documents), error=said or state)
    is_partial = any(one.warnings for one in documents)
    return file._replace(state="partial" if is_partial else "read", documents=len(documents))


def _content_hash(file: ListedFile) -> str:
    """The hash of a file's bytes; "" where it cannot be read, which its reader will explain."""
    digest = hashlib.sha256()
    with suppress(OSError), file.path.open("rb") as opened:
        while piece := opened.read(_PIECE):
            digest.update(piece)
        return digest.hexdigest()
    return ""
