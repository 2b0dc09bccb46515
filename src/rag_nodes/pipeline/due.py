"""Files that an ingest has to open: those that some parser has not stored as they are."""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from rag_nodes.pipeline.columns import IngestColumn
from rag_nodes.pipeline.ledger import FileRow, version_of
from rag_nodes.pipeline.tally import Tally
from rag_nodes.pipeline.units import DocumentResult, DueFile, in_brief
from rag_nodes.readers import COLLECTIONS, document_id, pdf_engines, read_listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rag_nodes.pipeline.assigned import FileMetadata
    from rag_nodes.pipeline.ledger import DocumentRow, KnownFile, Ledger, StoredDocument
    from rag_nodes.pipeline.recipe import Origins
    from rag_nodes.pipeline.units import DocumentRead
    from rag_nodes.readers import Limits, ListedFile

    Stored = Sequence[Mapping[str, StoredDocument]]
    """Complete documents in the collection of each column, by id."""

_BLOCK = 500
"""Files that are looked up at once."""
_UNSETTLED_NS = 2 * 10**9
"""Nanoseconds for which a file that was changed may change again within one tick of its clock."""


class DueFiles:
    """Looks up in a ledger which files of a corpus are due for some columns, and keeps it so."""

    def __init__(
        self,
        ledger: Ledger,
        columns: Sequence[IngestColumn],
        tally: Tally,
        corpus: str,
        limits: Limits,
        origins: Origins,
        own: FileMetadata,
    ) -> None:
        self._ledger, self._columns, self._tally = ledger, columns, tally
        self._corpus, self._limits, self._own = corpus, limits, own
        # Changes with whatever decides what becomes of the bytes of a file, parsers apart; whether
        # it gives way to others decides nothing.
        apart = {"encoding", "ocr", "pdf_engine", "share"}
        names = [field.name for field in fields(limits) if field.name not in apart]
        bounds = {name: getattr(limits, name) for name in names}
        self._decisive = [bounds, *origins.steps]
        self._reading = _digest(self._decisive)
        self._pdf_engine = _engine_of(limits)
        self._ocr = origins.ocr

    def of(self, files: Iterable[ListedFile]) -> Iterator[DueFile]:
        """Yield the files that are to be opened, in their order; the others are counted.

        A file of known size and time is not opened; one of which only the time changed is hashed.
        """
        listing = enumerate(files)
        while block := list(islice(listing, _BLOCK)):
            places = [file.place for _, file in block if _is_text(file.place)]
            entries = self._ledger.known(self._corpus, places)
            ids = [document.id for entry in entries.values() for document in entry.documents]
            stored = [column.stored_whole(ids) for column in self._columns]
            touched: list[KnownFile] = []
            for position, file in block:
                if file.size is None or not _is_text(file.place):
                    yield DueFile(position, file, own=self._own.of(file))
                    continue
                row = entries.get(file.place)
                is_as_long = row is not None and row.file.size == file.size
                unchanged = self._unchanged(file, row, stored) if row and is_as_long else []
                due = self._seen(position, file, file.size, row, touched, is_same=bool(unchanged))
                if due:
                    self._count_engine(row, due)
                    yield due
                for stored_row, whole in () if due else unchanged:
                    columns = zip(self._columns, whole, strict=True)
                    results = {
                        c.name: c.enqueue(DocumentResult.known(stored_row.name, w))
                        for c, w in columns
                    }
                    self._tally.leave(position, str(file.path), stored_row, results)
            if touched:
                with self._ledger.transaction():
                    for changed in touched:
                        self._ledger.record(*changed)

    def _seen(
        self,
        position: int,
        file: ListedFile,
        size: int,
        entry: KnownFile | None,
        touched: list[KnownFile],
        *,
        is_same: bool,
    ) -> DueFile | None:
        """The file where it is due; it is not where all is stored of the same bytes."""
        if entry and is_same and file.mtime_ns == entry.file.mtime_ns:
            return None
        content = _content_hash(file) if size <= self._limits.file_bytes else ""
        is_settled = time.time_ns() - file.mtime_ns > _UNSETTLED_NS
        mtime = file.mtime_ns if is_settled else 0
        if entry and is_same and content == entry.file.content_hash:
            touched.append(entry._replace(file=entry.file._replace(mtime_ns=mtime)))
            return None
        duplicates = self._ledger.duplicates(self._corpus, content) if content and not entry else ()
        own, reading = self._own.of(file), self._reading_of(file)
        row = FileRow(self._corpus, file.place, size, mtime, content, reading, "read", 0)
        return DueFile(position, file, row=row, duplicates=tuple(duplicates), own=own)

    def _count_engine(self, entry: KnownFile | None, due: DueFile) -> None:
        """Count a file that another PDF engine has read before."""
        before = entry.file.pdf_engine if entry and entry.file.state != "failed" else ""
        if before and due.row and before != due.row.pdf_engine:
            self._tally.other_engine += 1

    def _reading_of(self, file: ListedFile) -> str:
        """Return the hash of what decides what becomes of the bytes of a file."""
        own, encoding = self._own.of(file), self._limits.encoding_of(file.path)
        is_pdf = file.path.suffix.lower() == ".pdf"
        facts = [fact for fact in (own, encoding, self._ocr if is_pdf else None) if fact]
        digest = _digest([self._decisive, *facts]) if facts else self._reading
        return f"{self._pdf_engine}:{digest}" if is_pdf else digest

    def _unchanged(
        self, listed: ListedFile, entry: KnownFile, stored: Stored
    ) -> list[tuple[DocumentRow, tuple[StoredDocument, ...]]]:
        """The documents of a file, and what is stored of each; none where it is due anyhow.

        One is due though stored whole while an error of it is noted, which to read it clears.
        """
        file, documents = entry.file, entry.documents
        was_read = file.state in {"read", "partial"} and file.reading == self._reading_of(listed)
        if not was_read or len(documents) != file.documents:
            return []
        now = self._ledger.clock()
        unchanged = []
        for document in documents:
            pairs = zip(self._columns, stored, strict=True)
            rows = [(column.code, column_rows.get(document.id)) for column, column_rows in pairs]
            whole = tuple(
                row
                for code, row in rows
                if row and not row.error and self._is_of(document, row, code)
            )
            if len(whole) < len(rows) or (
                document.expires_at is not None and document.expires_at <= now
            ):
                return []
            unchanged.append((document, whole))
        return unchanged

    def _is_of(self, document: DocumentRow, stored: StoredDocument, code: str) -> bool:
        """Return True if stored chunks are of this code and content, or of an unchanged file.

        Two crawls with versions of one page would else be stored in turn by every ingest.
        """
        if stored.version == version_of(document.source_hash, code):
            return True
        others = self._ledger.documents(self._corpus, [document.id]).get(document.id, [])
        same = [o.path for o in others if version_of(o.source_hash, code) == stored.version]
        return any(_is_as_known(o.file) for o in self._ledger.known(self._corpus, same).values())

    def document_ids(self, files: Sequence[DueFile], *, is_read: bool = False) -> list[str]:
        """Ids of the documents of files, and of others with the same bytes.

        Where it `is_read`, those of the pages of crawls that are new, as another may have had some.
        """
        entries = self._ledger.known(self._corpus, [file.row.path for file in files if file.row])
        ids = [row.id for entry in entries.values() for row in entry.documents]
        for file in files:
            ids += file.duplicates
            if file.document:
                ids.append(file.document.id_)
            if file.stored:
                ids.append(file.stored.row.id)
            if file.file:
                ids.append(document_id(Path(file.file.place)))
                is_crawl = file.file.path.suffix.lower() in COLLECTIONS
                if is_read and is_crawl and file.file.place not in entries:
                    reads = read_listed(file.file, limits=self._limits)
                    ids += [read.document.id_ for read in reads if read.document]
        return list(dict.fromkeys(ids))

    def record(self, file: FileRow, reads: Sequence[DocumentRead], ttl: float) -> None:
        """Write down a file as it was read, with when its web pages are due again."""
        at = self._ledger.clock() + ttl * 3600 if ttl else None
        documents = {
            read.row.id: read.row._replace(
                expires_at=at if str(read.row.source).startswith(("http://", "https://")) else None
            )
            for read in reads
            if read.row and read.error is None
        }
        rows = list(documents.values())
        self._ledger.record(_concluded(file, rows, reads), rows)


def _engine_of(limits: Limits) -> str:
    """Return PDF engine and its major version; another one may read other text."""
    installed = pdf_engines()
    name = limits.pdf_engine if limits.pdf_engine != "auto" else next(iter(installed), "none")
    return f"{name} {installed.get(name, '0').partition('.')[0]}"


def _digest(facts: object) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _concluded(
    file: FileRow, documents: Sequence[DocumentRow], reads: Sequence[DocumentRead]
) -> FileRow:
    """A file as it is written down once all of it was read."""
    unread = [read for read in reads if read.error is not None]
    file = file._replace(documents=len(documents))
    if not unread:
        is_partial = any(document.warnings for document in documents)
        return file._replace(state="partial" if is_partial else "read")
    error = in_brief("; ".join(result.error or "" for result in unread))
    return file._replace(state="failed", error=error or "failed")


def _is_text(place: str) -> bool:
    """Return True if a name can be written down; some systems have names of any bytes."""
    with suppress(UnicodeEncodeError):
        return bool(place.encode())
    return False


def _is_as_known(file: FileRow) -> bool:
    """Return True if a file exists with the size and time that the ledger has."""
    with suppress(OSError):
        status = os.stat(file.path)  # noqa: PTH116 - as where files are listed
        return (status.st_size, status.st_mtime_ns) == (file.size, file.mtime_ns)
    return False


def _content_hash(file: ListedFile) -> str:
    """The hash of a file's bytes; "" where it cannot be read, which its reader will explain."""
    with suppress(OSError), file.path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
    return ""
