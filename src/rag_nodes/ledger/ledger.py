"""`Ledger`: what may be stored, what is stored whole, and the files that it came from."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import defaultdict
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

from rag_nodes.errors import LedgerError
from rag_nodes.ledger.database import (
    FILE_NAME,
    connected,
    damaged,
    ledger_path,
    transaction,
    translated,
)
from rag_nodes.ledger.rows import (
    CollectionRow,
    DocumentRow,
    FileRow,
    KnownFile,
    StoredDocument,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_FILES = "SELECT * FROM files WHERE corpus = ?"
_DOCUMENTS = "SELECT * FROM documents WHERE corpus = ?"
_FILE = "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DOCUMENT = "INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_TWINS = """
SELECT d.id FROM files AS f CROSS JOIN documents AS d ON d.corpus = f.corpus AND d.path = f.path
WHERE f.corpus = ? AND f.content_hash = ? AND d.source_hash > '' LIMIT 10
"""
"""A cross join has the files looked up first: few have these bytes."""
_COPIES = """
SELECT path, content_hash FROM files WHERE corpus = ?1 AND state IN ('read', 'partial')
AND content_hash IN (SELECT content_hash FROM files WHERE corpus = ?1 AND content_hash > ''
    GROUP BY content_hash HAVING count(*) > 1) ORDER BY path
"""
_FORGET_EMPTIED = """
DELETE FROM files WHERE corpus = ?1 AND documents > 0
AND path NOT IN (SELECT path FROM documents WHERE corpus = ?1)
"""
_COLLECTIONS = """
SELECT c.name, c.corpus, c.parser, c.fingerprint, c.options, c.model, c.dimension, c.first_used,
    c.last_used, coalesce(sum(s.chunks + s.parents > 0), 0), coalesce(sum(s.chunks), 0)
FROM collections AS c LEFT JOIN stored AS s ON s.collection = c.name
WHERE ? IN (c.corpus, '') GROUP BY c.name ORDER BY c.last_used DESC, c.name
"""
_USE = """
INSERT INTO collections (name, corpus, parser, fingerprint, options, model, dimension, first_used,
    last_used) VALUES (?, ?, ?, ?, ?, ?, ?, ?8, ?8)
ON CONFLICT (name) DO UPDATE SET
    options = excluded.options, last_used = excluded.last_used,
    dimension = coalesce(excluded.dimension, dimension)
"""
_MARK = """
UPDATE collections SET marks = json_patch(iif(?, marks, '{}'), json_object(writer, ?))
WHERE name = ?
"""
_STORED = f"SELECT {', '.join(StoredDocument._fields)} FROM stored WHERE collection = ?"  # noqa: S608
_LISTED = "SELECT document_id, ids FROM stored WHERE collection = ?"
_TOTALS = """
SELECT coalesce(sum(iif(version = '', 0, chunks)), 0), coalesce(sum(points), 0)
FROM stored WHERE collection = ?
"""
_SETTLE = """
INSERT INTO stored
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce(?12, 0), coalesce(?13, x''))
ON CONFLICT (collection, document_id) DO UPDATE SET
    version = excluded.version, chunks = excluded.chunks, parents = excluded.parents,
    tokens = excluded.tokens, largest = excluded.largest, unplaced = excluded.unplaced,
    error = excluded.error, stored_at = excluded.stored_at, failed_at = excluded.failed_at,
    points = coalesce(?12, points), ids = coalesce(?13, ids)
"""
_INTEND = """
INSERT INTO stored VALUES (?, ?, '', 0, 0, 0, 0, 0, NULL, NULL, NULL, ?, ?)
ON CONFLICT (collection, document_id) DO UPDATE SET
    version = '', points = excluded.points, ids = excluded.ids
"""
_FAIL = """
INSERT INTO stored VALUES (?, ?, '', 0, 0, 0, 0, 0, ?, NULL, ?, 0, x'')
ON CONFLICT (collection, document_id) DO UPDATE SET
    error = excluded.error, failed_at = coalesce(failed_at, excluded.failed_at)
"""
_TAKE = """
BEGIN IMMEDIATE;
DELETE FROM documents WHERE (corpus, path) IN (SELECT corpus, path FROM part.files);
INSERT OR REPLACE INTO files SELECT * FROM part.files;
INSERT OR REPLACE INTO documents SELECT * FROM part.documents ORDER BY rowid;
INSERT INTO collections SELECT * FROM part.collections WHERE true
ON CONFLICT (name) DO UPDATE SET
    dimension = coalesce(dimension, excluded.dimension),
    first_used = min(first_used, excluded.first_used),
    last_used = max(last_used, excluded.last_used), marks = json_patch(marks, excluded.marks);
UPDATE stored SET points = points_of_both(stored.ids, other.ids),
    ids = ids_of_both(stored.ids, other.ids)
FROM part.stored AS other
WHERE stored.collection = other.collection AND stored.document_id = other.document_id
    AND stored.ids <> other.ids;
INSERT INTO stored SELECT * FROM part.stored WHERE true
ON CONFLICT (collection, document_id) DO UPDATE SET
    version = excluded.version, chunks = excluded.chunks, parents = excluded.parents,
    tokens = excluded.tokens, largest = excluded.largest, unplaced = excluded.unplaced,
    error = excluded.error, stored_at = excluded.stored_at, failed_at = excluded.failed_at
WHERE excluded.version = '' OR (version > '' AND excluded.stored_at > stored_at);
COMMIT;
"""
"""Of a document that two parts know, as two crawls may have it, what was stored last is true; of
one that a part does not know whole only the store knows, and so it stays. What any of them lists
may be stored."""
_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DIGITS = 32
"""Of a UUID."""


class Ledger:
    """A memory of what a store holds: files, documents, collections, and what is stored of each.

    The store is the truth. What is about to be stored is listed before the store hears of it, and a
    document is settled only after the store confirmed it: so the ledger never lists less than is
    stored, and a run that is killed leaves documents that are not settled. What others write shows
    in marks and counts that are not the store's, see `covers`.

    Safe to share between threads; several processes may have the same one open.

    Args:
        path: of the file; made where there is none.
        clock: seconds since 1970.

    Raises:
        LedgerDamagedError: it is torn.
        LedgerError: it cannot be made or written to, the file is something else, or another release
            wrote it.
    """

    def __init__(self, path: str | Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = Path(path)
        self.clock = clock
        self._lock = threading.RLock()
        self._connection = connected(self.path)

    @classmethod
    def of(cls, location: str, given: str | Path | None = None) -> Ledger | None:
        """The ledger of a store, open; None for a store that has none.

        Errors are those of the constructor.

        Args:
            location: of the store.
            given: where it was asked to be; None for its usual place, see `ledger_path`.
        """
        path = ledger_path(location, given)
        return cls(path) if path else None

    @classmethod
    @contextmanager
    def scratch(cls, path: Path) -> Iterator[Self]:
        """A copy in a temporary file, so that nothing is written down in that of the store.

        In memory it would be a kilobyte for each document. Blank where there is no such file.
        Errors are those of the constructor.
        """
        with (
            TemporaryDirectory(prefix="rag_nodes-") as folder,
            cls(Path(folder) / FILE_NAME) as copy,
        ):
            if path.exists():
                with cls(path) as ledger, translated(path):
                    ledger._connection.backup(copy._connection)
            yield copy

    def close(self) -> None:
        """Close the file; twice is fine."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        """The ledger itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def check(self) -> None:
        """Read the file to its end.

        Raises:
            LedgerDamagedError: it is torn.
        """
        [(said,)] = self._read("PRAGMA quick_check(1)")
        if said != "ok":
            raise damaged(self.path, said.splitlines()[-1])

    @contextmanager
    def transaction(self, synchronous: str = "FULL") -> Iterator[sqlite3.Connection]:
        """Have what is written meanwhile written at once, or not at all; others wait.

        Within another one it is a part of that.

        Args:
            synchronous: "FULL" has it on the disk at the end, so that it outlives a power cut, and
                not only a kill, by which "NORMAL" loses nothing either.
        """
        with self._lock, translated(self.path):
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute(f"PRAGMA synchronous = {synchronous}")
            with transaction(self._connection):
                yield self._connection

    def _read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock, translated(self.path):
            return self._connection.execute(query, values).fetchall()

    def _read_of(
        self, query: str, scope: str, column: str, values: Sequence[str] | None, order: str = "1"
    ) -> list[tuple[Any, ...]]:
        """What a query finds of some values of a column; of all where none are given."""
        if values is None:
            return self._read(f"{query} ORDER BY {order}", scope)
        given = f"{column} IN (SELECT value FROM json_each(?))"  # noqa: S608 - a name
        return self._read(f"{query} AND {given} ORDER BY {order}", scope, json.dumps(values))

    def _write(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """A statement for each row of values."""
        with self.transaction("NORMAL") as connection:
            connection.executemany(statement, rows)

    # Files and their documents.

    def known(self, corpus: str, paths: Sequence[str] | None = None) -> dict[str, KnownFile]:
        """Files of a corpus with their documents, by path; those that are not known are left out.

        Args:
            corpus: name of the document set.
            paths: only these; None for all.
        """
        files = self._read_of(_FILES, corpus, "path", paths, "path")
        found = {row[1]: KnownFile(FileRow(*row), []) for row in files}
        order = "source_hash = '', rowid"
        for row in self._read_of(_DOCUMENTS, corpus, "path", paths, order):
            if row[1] in found:  # else its file was not read to the end
                found[row[1]].documents.append(DocumentRow(*row))
        return found

    def paths(self, corpus: str) -> list[str]:
        """Every file of a corpus, in the order of their paths."""
        query = "SELECT path FROM files WHERE corpus = ? ORDER BY path"
        return [path for (path,) in self._read(query, corpus)]

    def unread(self, corpus: str = "") -> list[FileRow]:
        """The files that could not be read, or a document in them; of all corpora for ""."""
        query = "SELECT * FROM files WHERE ? IN (corpus, '') AND error IS NOT NULL ORDER BY 1, 2"
        return [FileRow(*row) for row in self._read(query, corpus)]

    def documents(
        self, corpus: str, document_ids: Sequence[str] | None = None
    ) -> dict[str, list[DocumentRow]]:
        """Documents by id, each as every file has it, those without a hash first.

        Args:
            corpus: name of the document set.
            document_ids: only these; None for all.
        """
        found: dict[str, list[DocumentRow]] = defaultdict(list)
        order = "source_hash > '', rowid"
        for row in self._read_of(_DOCUMENTS, corpus, "id", document_ids, order):
            found[row[2]].append(DocumentRow(*row))
        return dict(found)

    def vanished(self, corpus: str) -> list[DocumentRow]:
        """The documents that their files have no more, or that were not recorded with a file."""
        query = "SELECT * FROM documents WHERE corpus = ? AND source_hash = '' ORDER BY path, rowid"
        return [DocumentRow(*row) for row in self._read(query, corpus)]

    def twins(self, corpus: str, content_hash: str) -> list[str]:
        """The ids of the documents of files with the same bytes."""
        return [one for (one,) in self._read(_TWINS, corpus, content_hash)]

    def copies(self, corpus: str) -> list[tuple[str, str]]:
        """The files that were read and have the bytes of another one: path and content hash."""
        return [(path, content) for path, content in self._read(_COPIES, corpus)]

    def announce(self, document: DocumentRow) -> None:
        """Write down a document before any of it is stored, without a hash.

        A run that is killed before it recorded the file leaves chunks that somebody must know of:
        the file may have gone by the next run. What is known of the document already stays.
        """
        unread = document._replace(source_hash="", expires_at=None)
        self._write(f"INSERT OR IGNORE {_DOCUMENT}", [unread])

    def record(self, file: FileRow, documents: Sequence[DocumentRow]) -> None:
        """Write down a file that was opened, with the documents that it has.

        Those of before stay known, without a hash, until they are forgotten: chunks of them may be
        stored. Of a file that failed they stay as they are. One that fails without a time is
        stamped with now, or with the time since which it has failed.
        """
        place = (file.corpus, file.path)
        with self.transaction("NORMAL") as connection:
            if file.error is not None and file.failed_at is None:
                query = "SELECT failed_at FROM files WHERE corpus = ? AND path = ?"
                since = next((since for (since,) in self._read(query, *place)), None)
                file = file._replace(failed_at=self.clock() if since is None else since)
            connection.execute(_FILE, file)
            if file.state != "failed":
                former = "UPDATE documents SET source_hash = '' WHERE corpus = ? AND path = ?"
                connection.execute(former, place)
            connection.executemany(f"INSERT OR REPLACE {_DOCUMENT}", documents)

    def forget_documents(self, corpus: str, document_ids: Iterable[str]) -> None:
        """Delete documents, and the files that are left without one."""
        delete = "DELETE FROM documents WHERE corpus = ? AND id = ?"
        with self.transaction("NORMAL") as connection:
            connection.executemany(delete, [(corpus, one) for one in document_ids])
            connection.execute(_FORGET_EMPTIED, (corpus,))

    def forget_files(self, corpus: str, paths: Iterable[str]) -> None:
        """Delete files with their documents, but nothing of what collections hold of them."""
        rows = [(corpus, path) for path in paths]
        with self.transaction("NORMAL") as connection:
            connection.executemany("DELETE FROM documents WHERE corpus = ? AND path = ?", rows)
            connection.executemany("DELETE FROM files WHERE corpus = ? AND path = ?", rows)

    # Collections, and what they hold of documents.

    def collections(self, corpus: str = "") -> list[CollectionRow]:
        """Every collection, the one used last first; of all corpora for ""."""
        return [CollectionRow(*row) for row in self._read(_COLLECTIONS, corpus)]

    def use(self, row: CollectionRow) -> bool:
        """Note that a collection is in use now, and say whether it was not known before."""
        with self.transaction("NORMAL") as connection:
            known = self._read("SELECT 1 FROM collections WHERE name = ?", row.name)
            connection.execute(_USE, (*row[:7], self.clock()))
        return not known

    def forget_collection(self, name: str) -> None:
        """Delete a collection and all that it held."""
        with self.transaction("NORMAL") as connection:
            connection.execute("DELETE FROM stored WHERE collection = ?", (name,))
            connection.execute("DELETE FROM collections WHERE name = ?", (name,))

    def writer(self, collection: str) -> str:
        """Tells this ledger of a collection that is in use from every other one."""
        [(found,)] = self._read("SELECT writer FROM collections WHERE name = ?", collection)
        return str(found)

    def marks(self, collection: str) -> dict[str, str]:
        """The state of a collection that this ledger is of, see `Store.marks`; empty for none."""
        query = "SELECT marks FROM collections WHERE name = ?"
        return next((json.loads(found) for (found,) in self._read(query, collection)), {})

    def mark(self, collection: str, epoch: str, *, is_shared: bool = False) -> None:
        """Write down that this ledger is of another state of a collection from now on.

        Args:
            collection: its name; it is in use.
            epoch: of that state.
            is_shared: what other writers left stays known.
        """
        self._write(_MARK, [(is_shared, epoch, collection)])

    def totals(self, collection: str) -> tuple[int, int]:
        """Between what numbers of chunks a collection has, if the ledger is that of its state.

        Returns:
            The chunks of all documents that are whole, and the ids that are listed of any, which
            may be those of parents or of points that are not stored (any more).
        """
        [(chunks, points)] = self._read(_TOTALS, collection)
        return chunks, points

    def covers(self, collection: str, marks: Mapping[str, str], count: int) -> bool:
        """Whether all that a collection holds is listed, though a run may have been killed.

        Args:
            collection: its name.
            marks: that it bears in the store; those that this ledger left, where nobody else wrote.
            count: of its chunks, as the store says it.
        """
        known, (least, most) = self.marks(collection), self.totals(collection)
        return bool(known) and known == marks and least <= count <= most

    def stored(
        self, collection: str, document_ids: Sequence[str] | None = None
    ) -> dict[str, StoredDocument]:
        """What a collection holds of documents, by the document's id.

        Args:
            collection: its name.
            document_ids: only these; None for all.
        """
        rows = self._read_of(_STORED, collection, "document_id", document_ids)
        return {row[1]: StoredDocument(*row) for row in rows}

    def listed_ids(
        self, collection: str, document_ids: Sequence[str]
    ) -> dict[str, tuple[str, ...]]:
        """The ids of all points that may be stored of documents; those of none are left out."""
        found = self._read_of(_LISTED, collection, "document_id", document_ids)
        return {one: unpacked(of) for one, of in found if of}

    def intend(self, collection: str, ids: Mapping[str, Iterable[str]]) -> None:
        """Write down, before the store hears of it, what is about to be stored of documents.

        They are not whole from then on, and their points are listed beside those of before: so the
        ledger never lists less than is stored. It is on the disk when this returns.

        Args:
            collection: its name.
            ids: of the points, by document; none where what is stored only goes.
        """
        given = {one: list(of) for one, of in ids.items()}
        with self.transaction() as connection:
            former = self.listed_ids(collection, list(given))
            for one, of in given.items():
                both = dict.fromkeys([*former.get(one, ()), *of])
                connection.execute(_INTEND, (collection, one, len(both), packed(both)))

    def settle(
        self, rows: Iterable[StoredDocument], ids: Mapping[str, Iterable[str]] | None = None
    ) -> None:
        """Write down what the store confirmed; rows without a time are stamped with now.

        Args:
            rows: what is stored of documents, each as a whole.
            ids: of their points, by document: they have these and no others. What is listed of a
                document that is not in it stays so.
        """
        now, listed = self.clock(), ids or {}

        def values() -> Iterator[tuple[Any, ...]]:
            for row in rows:
                stamped = row._replace(stored_at=now) if row.stored_at is None else row
                of = [*listed[row.document_id]] if row.document_id in listed else None
                yield (*stamped, *((None, None) if of is None else (len(of), packed(of))))

        self._write(_SETTLE, values())

    def adopt(
        self, collection: str, stored: Iterable[tuple[StoredDocument, Iterable[str]]]
    ) -> None:
        """Write down what the store says a collection holds; it holds nothing else.

        Why documents failed stays known.

        Args:
            collection: its name.
            stored: what it holds of each document, in the version that is stored whole, and the ids
                of its points.
        """
        # A store may take longer to tell than others wait for this file.
        pairs = [(row, [*of]) for row, of in stored]
        query = "SELECT collection, document_id, error, failed_at FROM stored WHERE collection = ?"
        with self.transaction("NORMAL") as connection:
            failed = self._read(f"{query} AND error IS NOT NULL", collection)
            connection.execute("DELETE FROM stored WHERE collection = ?", (collection,))
            self.settle((row for row, _ in pairs), {row.document_id: of for row, of in pairs})
            connection.executemany(_FAIL, failed)

    def fail(self, collection: str, errors: Mapping[str, str]) -> None:
        """Write down why documents are not stored whole; what is stored of them stays as it is.

        Args:
            collection: its name.
            errors: by document, on one line and without keys.
        """
        now = self.clock()
        self._write(_FAIL, [(collection, one, said, now) for one, said in errors.items()])

    def forget_stored(self, collection: str, document_ids: Iterable[str]) -> None:
        """Delete the rows of documents of which a collection holds nothing any more."""
        delete = "DELETE FROM stored WHERE collection = ? AND document_id = ?"
        self._write(delete, [(collection, one) for one in document_ids])


def merge(target: str | Path, parts: Iterable[str | Path]) -> int:
    """Write what the ledgers of shards know into a new one; they stay as they are.

    Args:
        target: file of the new ledger.
        parts: files of those of the shards; of a file that several know, the last one is right.

    Returns:
        How many files the new ledger knows.

    Raises:
        LedgerError: there is a file at the target already, or no ledger at one of the others, or it
            cannot be read to its end; then there is none at the target.
    """
    place = Path(target)
    sources = [Path(part) for part in parts]
    for one in sources:
        if not one.is_file():
            raise LedgerError(f"{one}: there is no ledger; name those that the shards wrote")
        connected(one).close()  # looked at
    if place.exists():
        raise LedgerError(
            f"{place}: there is a file already; name a new one, or move that away, with "
            f"{place.name}-wal beside it"
        )
    try:
        with closing(connected(place)) as connection:
            connection.create_function("ids_of_both", 2, lambda *of: packed(_both(*of)))
            connection.create_function("points_of_both", 2, lambda *of: len(_both(*of)))
            for one in sources:
                with translated(one):
                    connection.execute("ATTACH ? AS part", (str(one),))
                    connection.executescript(_TAKE)
                    connection.execute("DETACH part")
            return int(connection.execute("SELECT count(*) FROM files").fetchone()[0])
    except BaseException:
        # Half of it would look like all, and be in the way of the next try.
        for side in ("", "-wal", "-shm"):
            place.with_name(place.name + side).unlink(missing_ok=True)
        raise


def packed(node_ids: Iterable[str]) -> bytes | str:
    """Ids as a ledger keeps them: 16 bytes each of UUIDs, as an ingest writes; others as JSON."""
    ids = list(node_ids)
    if all(map(_UUID.fullmatch, ids)):
        return bytes.fromhex("".join(ids).replace("-", ""))
    return json.dumps(ids)


def unpacked(ids: bytes | str) -> tuple[str, ...]:
    """The ids that were packed."""
    if isinstance(ids, str):
        return tuple(json.loads(ids))
    digits = ids.hex()
    each = (digits[start : start + _DIGITS] for start in range(0, len(digits), _DIGITS))
    return tuple(f"{d[:8]}-{d[8:12]}-{d[12:16]}-{d[16:20]}-{d[20:]}" for d in each)


def _both(one: bytes | str, other: bytes | str) -> dict[str, None]:
    """The ids of two lists, each once."""
    return dict.fromkeys([*unpacked(one), *unpacked(other)])
