"""`Ledger`: which documents are stored whole, and the files that they came from."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Self

from rag_nodes.pipeline.ledger.database import FILE_NAME, LedgerDatabase, ledger_path, translated
from rag_nodes.pipeline.ledger.rows import (
    CollectionRow,
    DocumentRow,
    FileRow,
    KnownFile,
    StoredDocument,
    with_errors,
)

_FILES = "SELECT * FROM files WHERE corpus = ?"
_DOCUMENTS = "SELECT * FROM documents WHERE corpus = ?"
_FILE = "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DOCUMENT = "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FORGET_DOCUMENTS = "DELETE FROM documents WHERE corpus = ? AND path = ?"
_NAME_FILE = """
UPDATE stored SET path = :path WHERE path <> :path
AND collection IN (SELECT name FROM collections WHERE corpus = :corpus)
AND document_id IN (SELECT id FROM documents WHERE corpus = :corpus AND path = :path)
"""
_TWINS = """
SELECT d.id FROM files AS f CROSS JOIN documents AS d ON d.corpus = f.corpus AND d.path = f.path
WHERE f.corpus = ? AND f.content_hash = ? LIMIT 10
"""
"""A cross join has the files looked up first: few have these bytes."""
_COPIES = """
SELECT corpus, json_group_array(path) FROM (SELECT * FROM files ORDER BY path)
WHERE ? IN (corpus, '') AND documents > 0 GROUP BY corpus, content_hash HAVING count(*) > 1
"""
_FORGET_EMPTIED = """
DELETE FROM files WHERE corpus = :corpus AND documents > 0
AND path NOT IN (SELECT path FROM documents WHERE corpus = :corpus)
"""
_UNHELD = """
WITH lost AS (SELECT value AS path FROM json_each(:lost))
SELECT id, path, source FROM documents WHERE corpus = :corpus AND path IN lost
    AND id NOT IN (SELECT id FROM documents WHERE corpus = :corpus AND path NOT IN lost)
UNION
SELECT s.document_id, s.path, NULL FROM stored AS s JOIN collections AS c ON c.name = s.collection
WHERE c.corpus = :corpus AND s.path > ''
    AND s.document_id NOT IN (SELECT id FROM documents WHERE corpus = :corpus) ORDER BY 2, 1
"""
_COLLECTIONS = """
SELECT c.name, c.corpus, c.parser, c.fingerprint, c.options, c.model, c.dimension, c.first_used,
    c.last_used, coalesce(sum(s.chunks + s.parents > 0), 0), coalesce(sum(s.chunks), 0)
FROM collections AS c LEFT JOIN stored AS s ON s.collection = c.name
WHERE ? IN (c.corpus, '') GROUP BY c.name ORDER BY c.last_used DESC, c.name
"""
_USE = """
INSERT INTO collections (name, corpus, parser, fingerprint, options, model, dimension, first_used,
    last_used) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET
    options = excluded.options, last_used = excluded.last_used,
    dimension = coalesce(excluded.dimension, dimension)
"""
_MARK = """
UPDATE collections SET marks = json_object(writer, ?) WHERE name = ?
"""
_STORED = f"SELECT {', '.join(StoredDocument._fields)} FROM stored WHERE collection = ?"  # noqa: S608
_TOTALS = """
SELECT coalesce(sum(iif(version = '', 0, chunks)), 0), coalesce(sum(version = ''), 0)
FROM stored WHERE collection = ?
"""
_SETTLE = """
INSERT INTO stored VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '')
ON CONFLICT (collection, document_id) DO UPDATE SET
    version = excluded.version, chunks = excluded.chunks, parents = excluded.parents,
    tokens = excluded.tokens, largest = excluded.largest, not_located = excluded.not_located,
    error = excluded.error, stored_at = excluded.stored_at, failed_at = excluded.failed_at
"""
_OPEN = """
INSERT INTO stored VALUES (?, ?, '', 0, 0, 0, 0, 0, NULL, NULL, NULL, ?)
ON CONFLICT (collection, document_id) DO UPDATE SET
    version = '', path = iif(excluded.path = '', path, excluded.path)
"""
_FAIL = """
INSERT INTO stored VALUES (?, ?, '', 0, 0, 0, 0, 0, ?, NULL, ?, '')
ON CONFLICT (collection, document_id) DO UPDATE SET
    error = excluded.error, failed_at = coalesce(failed_at, excluded.failed_at)
"""


class Ledger(LedgerDatabase):
    """A memory of what a store holds: files, documents, collections, and what is stored of each.

    A document is opened before the store hears of it and settled once it is stored whole, so that a
    run that is killed leaves open ones. What others write shows in marks and counts that are not
    the store's, see `covers`.
    Safe to share between threads; several processes may have the same one open.

    Args:
        path: of the file; made where there is none.
        clock: seconds since 1970.

    Raises:
        LedgerDamagedError: it is torn.
        LedgerError: it cannot be made or written to, the file is something else, or another release
            wrote it.
    """

    @classmethod
    def of(cls, location: str, given: str | Path | None = None) -> Ledger | None:
        """The ledger of a store, open, see `ledger_path`; errors are those of the constructor."""
        return cls(path) if (path := ledger_path(location, given)) else None

    @classmethod
    @contextmanager
    def scratch(cls, path: str | Path) -> Iterator[Self]:
        """A copy in a temporary file, blank where there is none, so that the ledger stays as it is.

        In memory it would be a kilobyte for each document.
        """
        path = Path(path)
        with (
            TemporaryDirectory(prefix="rag_nodes-") as folder,
            cls(Path(folder) / FILE_NAME) as copy,
        ):
            if path.exists():
                with cls(path) as ledger, translated(path):
                    ledger._connection.backup(copy._connection)
            yield copy

    # Where it lies.

    def moved(self) -> tuple[str, str] | None:
        """From which folder to which one this file was moved, with all that was in the folder.

        None where it lies where it did, or lies there still.
        """
        [(then,)] = self._read("SELECT path FROM place") or [(self._place,)]
        if then == self._place or os.path.lexists(then):
            return None
        old, new = Path(then).parts, Path(self._place).parts
        pairs = zip(reversed(old), reversed(new), strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return str(Path(*old[: len(old) - same])), str(Path(*new[: len(new) - same]))

    def stay(self) -> None:
        """Write down that the files are known by where they are now."""
        if self._read("SELECT path FROM place") == [(self._place,)]:
            return
        with self.transaction("NORMAL") as connection:
            connection.execute("DELETE FROM place")
            connection.execute("INSERT INTO place VALUES (?)", (self._place,))

    @property
    def _place(self) -> str:
        return os.path.realpath(self.path)

    # Files and their documents, by corpus.

    def known(self, corpus: str, paths: Sequence[str] | None = None) -> dict[str, KnownFile]:
        """Some files of a corpus, or all, with their documents, by path; unknown ones left out."""
        files = self._read_of(_FILES, corpus, "path", paths, "path")
        entries = {row[1]: KnownFile(FileRow(*row), []) for row in files}
        for row in self._read_of(_DOCUMENTS, corpus, "path", paths, "rowid"):
            entries[row[1]].documents.append(DocumentRow(*row))
        return entries

    def paths(self, corpus: str) -> list[str]:
        """Every file of a corpus, in the order of their paths."""
        query = "SELECT path FROM files WHERE corpus = ? ORDER BY path"
        return [path for (path,) in self._read(query, corpus)]

    def unread(self, corpus: str = "") -> list[FileRow]:
        """The files that could not be read, or a document in them; of all corpora for ""."""
        query = "SELECT * FROM files WHERE ? IN (corpus, '') AND error IS NOT NULL ORDER BY 1, 2"
        return [FileRow(*row) for row in self._read(query, corpus)]

    def pdf_engines(self, corpus: str = "") -> dict[str, int]:
        """Return how many PDF files each engine has read; of all corpora for ""."""
        engine = "substr(reading, 1, instr(reading, ':') - 1)"
        was_read = "reading LIKE '%:%' AND state <> 'failed'"
        query = f"SELECT {engine}, count(*) FROM files WHERE ? IN (corpus, '') "  # noqa: S608
        return dict(self._read(f"{query} AND {was_read} GROUP BY 1 ORDER BY 1", corpus))

    def documents(
        self, corpus: str, document_ids: Sequence[str] | None = None
    ) -> dict[str, list[DocumentRow]]:
        """Some documents, or all, by id, each as every file has it."""
        documents: dict[str, list[DocumentRow]] = defaultdict(list)
        for row in self._read_of(_DOCUMENTS, corpus, "id", document_ids, "rowid"):
            documents[row[2]].append(DocumentRow(*row))
        return dict(documents)

    def unheld(self, corpus: str, lost: Sequence[str] = ()) -> list[tuple[str, str, str | None]]:
        """Return id, file and source of what may be stored of documents only lost files have."""
        rows = self._read(_UNHELD, corpus=corpus, lost=json.dumps(lost))
        return [(document_id, path, source) for document_id, path, source in rows]

    def duplicates(self, corpus: str, content_hash: str) -> list[str]:
        """The ids of the documents of files with the same bytes."""
        return [document_id for (document_id,) in self._read(_TWINS, corpus, content_hash)]

    def copies(self, corpus: str = "") -> list[tuple[str, list[str]]]:
        """Return corpus and paths of stored files with the same bytes; "" is for all corpora."""
        return [(name, json.loads(paths)) for name, paths in self._read(_COPIES, corpus)]

    def record(self, file: FileRow, documents: Sequence[DocumentRow]) -> None:
        """Write down a file that was opened, with the documents that it has.

        Of one that failed those of before stay. One that fails without a time is stamped with now,
        or with the time since which it has failed.
        """
        place = (file.corpus, file.path)
        with self.transaction("NORMAL") as connection:
            if file.error is not None and file.failed_at is None:
                query = "SELECT failed_at FROM files WHERE corpus = ? AND path = ?"
                since = next((since for (since,) in self._read(query, *place)), None)
                file = file._replace(failed_at=self.clock() if since is None else since)
            connection.execute(_FILE, file)
            if file.state != "failed":
                connection.execute(_NAME_FILE, {"corpus": file.corpus, "path": file.path})
                connection.execute(_FORGET_DOCUMENTS, place)
            connection.executemany(_DOCUMENT, documents)

    def forget_documents(self, corpus: str, document_ids: Iterable[str]) -> None:
        """Delete documents, and the files that are left without one."""
        delete = "DELETE FROM documents WHERE corpus = ? AND id = ?"
        with self.transaction("NORMAL") as connection:
            connection.executemany(delete, [(corpus, document_id) for document_id in document_ids])
            connection.execute(_FORGET_EMPTIED, {"corpus": corpus})

    def forget_files(self, corpus: str, paths: Iterable[str]) -> None:
        """Delete files with their documents, but nothing of what collections hold of them."""
        rows = [(corpus, path) for path in paths]
        with self.transaction("NORMAL") as connection:
            connection.executemany(_FORGET_DOCUMENTS, rows)
            connection.executemany("DELETE FROM files WHERE corpus = ? AND path = ?", rows)

    # Collections, and what they hold of documents.

    def collections(self, corpus: str = "") -> list[CollectionRow]:
        """Every collection, the one used last first; of all corpora for ""."""
        return [CollectionRow(*row) for row in self._read(_COLLECTIONS, corpus)]

    def use(self, row: CollectionRow) -> None:
        """Note that a collection is in use now."""
        now = self.clock()
        self._write(_USE, [(*row[:7], now, now)])

    def forget_collection(self, name: str) -> None:
        """Delete a collection and all that it held."""
        with self.transaction("NORMAL") as connection:
            connection.execute("DELETE FROM stored WHERE collection = ?", (name,))
            connection.execute("DELETE FROM collections WHERE name = ?", (name,))

    def writer(self, collection: str) -> str:
        """Tells this ledger of a collection that is in use from every other one."""
        [(writer,)] = self._read("SELECT writer FROM collections WHERE name = ?", collection)
        return str(writer)

    def marks(self, collection: str) -> dict[str, str]:
        """The state of a collection that this ledger is of, see `Store.marks`; empty for none."""
        query = "SELECT marks FROM collections WHERE name = ?"
        return next((json.loads(marks) for (marks,) in self._read(query, collection)), {})

    def mark(self, collection: str, epoch: str) -> None:
        """Write down what state of a collection in use this ledger is of from now on."""
        self._write(_MARK, [(epoch, collection)])

    def totals(self, collection: str) -> tuple[int, int]:
        """Chunks of documents that are whole, and how many documents are not."""
        [(chunks, opened)] = self._read(_TOTALS, collection)
        return chunks, opened

    def covers(self, collection: str, marks: Mapping[str, str], count: int) -> bool:
        """Return True if all chunks of a collection are listed, though a run may have been killed.

        That is where its marks in the store are those that this ledger left, and it has as many
        chunks there as the documents that are whole, or more while others are not.
        """
        own_marks, (chunks, opened) = self.marks(collection), self.totals(collection)
        fits = count >= chunks if opened else count == chunks
        return bool(own_marks) and own_marks == marks and fits

    def opened(self, collection: str) -> list[str]:
        """Return the ids of documents that a run is storing, or was when it was interrupted."""
        query = "SELECT document_id FROM stored WHERE collection = ? AND version = ''"
        return [opened for (opened,) in self._read(f"{query} AND error IS NULL", collection)]

    def stored(
        self, collection: str, document_ids: Sequence[str] | None = None
    ) -> dict[str, StoredDocument]:
        """Return the rows of some documents of a collection, or of all, by the document's id."""
        rows = self._read_of(_STORED, collection, "document_id", document_ids)
        return {row[1]: StoredDocument(*row) for row in rows}

    def open(
        self,
        collection: str,
        document_ids: Iterable[str],
        paths: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Write down, before the store hears of it, what documents are about to change.

        They are not whole from then on, and it is on the disk when this returns. With the path of
        the file of each, as that may be gone before a run that was killed is repeated.
        """
        with self.transaction() as connection:
            rows = [(collection, key, paths.get(key, "")) for key in document_ids]
            connection.executemany(_OPEN, rows)

    def settle(self, rows: Iterable[StoredDocument]) -> None:
        """Write down what the store confirmed; rows without a time are stamped with now."""
        now = self.clock()
        stamped = (
            row if row.stored_at is not None else row._replace(stored_at=now) for row in rows
        )
        self._write(_SETTLE, stamped)

    def adopt(self, collection: str, stored: Iterable[StoredDocument]) -> None:
        """Write down all that a collection holds, by what the store says.

        Why documents failed stays known, and of which file they are.
        """
        documents = list(stored)  # a store may take longer to tell than others wait for this file
        with self.transaction("NORMAL"):
            ledger_rows = self.stored(collection)
            rows = with_errors(documents, ledger_rows)
            self.forget_stored(collection, ledger_rows.keys() - rows.keys())
            self.settle(rows.values())

    def fail(self, collection: str, errors: Mapping[str, str]) -> None:
        """Write down why documents are not stored whole, on one line each and without keys."""
        now = self.clock()
        self._write(
            _FAIL, [(collection, document_id, error, now) for document_id, error in errors.items()]
        )

    def forget_stored(self, collection: str, document_ids: Iterable[str]) -> None:
        """Delete the rows of documents of which a collection holds nothing any more."""
        delete = "DELETE FROM stored WHERE collection = ? AND document_id = ?"
        self._write(delete, [(collection, document_id) for document_id in document_ids])
