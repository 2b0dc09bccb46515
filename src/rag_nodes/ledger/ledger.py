"""`Ledger`: what is stored, from which files, written down after the store confirmed it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rag_nodes.ledger.connection import PORTION, LedgerDatabase, insert
from rag_nodes.ledger.database import ledger_path, translated
from rag_nodes.ledger.rows import (
    CollectionRow,
    CollectionSums,
    DepositRow,
    DocumentRow,
    FileRow,
    KnownFile,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

_SUMS = """
SELECT c.*, coalesce(sum(d.chunks + d.parents > 0), 0), coalesce(sum(d.chunks), 0),
    coalesce(sum(d.parents), 0), coalesce(sum(d.tokens), 0), coalesce(sum(d.stored_at IS NULL), 0)
FROM collections AS c LEFT JOIN deposits AS d ON d.collection = c.name
WHERE ? IN (c.corpus, '') GROUP BY c.name ORDER BY c.last_used DESC, c.name
"""
_USE = """
INSERT INTO collections VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET
    options = excluded.options, last_used = excluded.last_used,
    dimension = coalesce(excluded.dimension, dimension)
"""
_SETTLE = "INSERT OR REPLACE INTO deposits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_CONFIRM = """
INSERT INTO deposits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (collection, document_id) DO UPDATE SET
    source_hash = excluded.source_hash, chunks = excluded.chunks, parents = excluded.parents,
    tokens = excluded.tokens, largest = excluded.largest, unplaced = excluded.unplaced,
    stored_at = excluded.stored_at
"""
_UNSETTLE = """
INSERT INTO deposits VALUES (?, ?, '', 0, 0, 0, 0, 0, NULL, NULL, NULL)
ON CONFLICT (collection, document_id) DO UPDATE SET stored_at = NULL
"""
_FAIL = """
INSERT INTO deposits VALUES (?, ?, '', 0, 0, 0, 0, 0, ?, ?, ?)
ON CONFLICT (collection, document_id) DO UPDATE SET
    error = excluded.error, failed_at = coalesce(failed_at, excluded.failed_at)
"""
_EMPTY = """
UPDATE deposits SET source_hash = '', chunks = 0, parents = 0, tokens = 0, largest = 0,
    unplaced = 0, stored_at = ? WHERE
"""
_VANISHED = """
SELECT d.* FROM documents AS d JOIN files AS f ON f.corpus = d.corpus AND f.path = d.path
WHERE d.corpus = ? AND (d.source_hash = '' OR f.state = 'empty') ORDER BY d.path, d.rowid
"""
_FAILURES = """
SELECT d.* FROM deposits AS d JOIN collections AS c ON c.name = d.collection
WHERE d.collection = ? AND d.error IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM documents AS k WHERE k.id = d.document_id AND k.corpus = c.corpus
    AND k.source_hash = d.source_hash AND k.source_hash > ''
)
"""
_NAMED = """
SELECT * FROM documents WHERE corpus = ?1 AND
    (?2 IN (path, source, name, id) OR substr(path, 1, length(?3)) IN (?3, ?4))
ORDER BY path, rowid
"""


class Ledger(LedgerDatabase):
    """A memory of what a store holds: files, documents, collections, and what is stored of each.

    The store is the truth. A row is settled only after the store confirmed what it says, and
    unsettled before the store is touched, so that a run that is killed leaves rows that say: ask
    the store. What others write shows in sums that differ from its counts, see `is_true`.

    Safe to share between threads; several processes may have the same one open.

    Args:
        path: of the file; made where there is none.
        clock: seconds since 1970.

    Raises:
        LedgerDamagedError: it is torn, or the file is something else.
        LedgerError: it cannot be made or written to, or a newer release wrote it.
    """

    @classmethod
    def of(cls, location: str, given: str | Path | None = None) -> Ledger | None:
        """The ledger of a store, open.

        Args:
            location: of the store.
            given: where it was asked to be; None for its usual place, see `ledger_path`.

        Returns:
            None for a store that has none.

        Raises:
            LedgerError: as the constructor.
        """
        path = ledger_path(location, given)
        return cls(path) if path else None

    @classmethod
    def scratch(cls, path: Path) -> Ledger:
        """A copy in memory, so that nothing is written down; blank where there is no such file.

        Raises:
            LedgerError: as the constructor.
        """
        copy = cls(":memory:")
        if path.exists():
            with cls(path) as ledger, translated(path):
                ledger._connection.backup(copy._connection)
        return copy

    def files(self, corpus: str) -> dict[str, FileRow]:
        """Every file of a corpus, by its path."""
        rows = self._read("SELECT * FROM files WHERE corpus = ? ORDER BY path", corpus)
        return {row[1]: FileRow(*row) for row in rows}

    def unread(self, corpus: str = "") -> list[FileRow]:
        """The files that could not be read, or a document in them; of all corpora for ""."""
        query = "SELECT * FROM files WHERE ? IN (corpus, '') AND error IS NOT NULL ORDER BY 1, 2"
        return [FileRow(*row) for row in self._read(query, corpus)]

    def documents(self, corpus: str) -> dict[str, list[DocumentRow]]:
        """Every document of a corpus, by the path of its file and in the order of the file."""
        found: dict[str, list[DocumentRow]] = defaultdict(list)
        for row in self._read("SELECT * FROM documents WHERE corpus = ? ORDER BY rowid", corpus):
            found[row[1]].append(DocumentRow(*row))
        return dict(found)

    def known(self, corpus: str, paths: Sequence[str]) -> dict[str, KnownFile]:
        """Some files with their documents, by path; those that are not known are left out."""
        files = self._read_in("SELECT * FROM files WHERE corpus = ? AND path IN", [corpus], paths)
        found = {row[1]: KnownFile(FileRow(*row), []) for row in files}
        documents = self._read_in(
            "SELECT * FROM documents WHERE corpus = ? AND path IN", [corpus], list(found), "rowid"
        )
        for row in sorted(map(DocumentRow._make, documents), key=_is_gone):
            found[row.path].documents.append(row)
        return found

    def paths(self, corpus: str) -> Iterator[str]:
        """Every file of a corpus, in the order of their paths; a portion at a time is in memory."""
        query = "SELECT path FROM files WHERE corpus = ? AND path > ? ORDER BY path LIMIT ?"
        last = ""
        while rows := self._read(query, corpus, last, PORTION):
            yield from (path for (path,) in rows)
            [last] = rows[-1]

    def vanished(self, corpus: str) -> list[DocumentRow]:
        """The documents that their files have no more, and those of files that are empty now."""
        return [DocumentRow(*row) for row in self._read(_VANISHED, corpus)]

    def holders(self, corpus: str, document_ids: Sequence[str]) -> list[DocumentRow]:
        """Some documents as each file has them that has them still."""
        query = "SELECT * FROM documents WHERE corpus = ? AND source_hash > '' AND id IN"
        return [DocumentRow(*row) for row in self._read_in(query, [corpus], document_ids)]

    def twins(self, corpus: str, content_hash: str) -> list[str]:
        """The ids of the documents of files with the same bytes."""
        # A cross join has the files looked up first: few have these bytes.
        query = (
            "SELECT d.id FROM files AS f CROSS JOIN documents AS d "
            "ON d.corpus = f.corpus AND d.path = f.path "
            "WHERE f.corpus = ? AND f.content_hash = ? AND d.source_hash > '' LIMIT 10"
        )
        return [one for (one,) in self._read(query, corpus, content_hash)]

    def named(self, corpus: str, words: str) -> list[DocumentRow]:
        """The documents that are meant by a path, a source, a name, an id or a folder above."""
        if not words:
            return []
        folder = words.rstrip("/\\")
        rows = self._read(_NAMED, corpus, words, f"{folder}/", f"{folder}\\")
        return [DocumentRow(*row) for row in rows]

    def expired(self, corpus: str) -> list[DocumentRow]:
        """The documents that were to be looked at again by now."""
        query = "SELECT * FROM documents WHERE corpus = ? AND expires_at <= ? ORDER BY path, rowid"
        return [DocumentRow(*row) for row in self._read(query, corpus, self.clock())]

    def corpora(self) -> list[str]:
        """Every corpus that has files or collections."""
        query = "SELECT corpus FROM files UNION SELECT corpus FROM collections ORDER BY corpus"
        return [corpus for (corpus,) in self._read(query)]

    def collections(self, corpus: str = "") -> list[CollectionSums]:
        """Every collection with what is in it, the one used last first; of all corpora for ""."""
        width = len(CollectionRow._fields)
        rows = self._read(_SUMS, corpus)
        return [CollectionSums(CollectionRow(*row[:width]), *row[width:]) for row in rows]

    def deposits(
        self, collection: str, document_ids: Sequence[str] | None = None
    ) -> dict[str, DepositRow]:
        """What a collection holds of documents, by the document's id.

        Args:
            collection: its name.
            document_ids: only these; None for all.
        """
        query = "SELECT * FROM deposits WHERE collection = ?"
        if document_ids is None:
            rows = self._read(query, collection)
        else:
            rows = self._read_in(f"{query} AND document_id IN", [collection], document_ids)
        return {row[1]: DepositRow(*row) for row in rows}

    def failures(self, collection: str) -> list[DepositRow]:
        """What a collection holds of documents that it could not be given as they were read."""
        return [DepositRow(*row) for row in self._read(_FAILURES, collection)]

    def unsettled(self, collection: str) -> list[str]:
        """The ids of documents of which only the store knows what a collection holds."""
        query = "SELECT document_id FROM deposits WHERE collection = ? AND stored_at IS NULL"
        return [one for (one,) in self._read(query, collection)]

    def is_true(self, collection: str, count: int) -> bool:
        """Whether the ledger knows all that a collection holds.

        Args:
            collection: its name.
            count: of its chunks, as the store says it.
        """
        query = (
            "SELECT coalesce(sum(chunks), 0), coalesce(sum(stored_at IS NULL), 0) "
            "FROM deposits WHERE collection = ?"
        )
        [(chunks, unsettled)] = self._read(query, collection)
        return not unsettled and chunks == count

    def use(self, row: CollectionRow) -> bool:
        """Note that a collection is in use now, and say whether it was not known before."""
        now = self.clock()
        stamped = row._replace(first_used=now, last_used=now)
        with self._writing() as connection:
            found = connection.execute("SELECT 1 FROM collections WHERE name = ?", (row.name,))
            is_new = found.fetchone() is None
            connection.execute(_USE, stamped)
        return is_new

    def record(self, file: FileRow, documents: Sequence[DocumentRow]) -> None:
        """Write down a file that was opened, with the documents that it has.

        Those of before stay known, without a hash, until they are forgotten: chunks of them may be
        stored. Of a file that failed or is empty they stay as they are. One that fails without a
        time is stamped with now, or with the time since which it has failed.
        """
        place = (file.corpus, file.path)
        with self._writing() as connection:
            insert(connection, "files", [self._stamped(file)])
            if file.state in {"read", "partial"}:
                connection.execute(
                    "UPDATE documents SET source_hash = '' WHERE corpus = ? AND path = ?", place
                )
            insert(connection, "documents", documents)

    def _stamped(self, file: FileRow) -> FileRow:
        if file.error is None or file.failed_at is not None:
            return file
        query = "SELECT failed_at FROM files WHERE corpus = ? AND path = ?"
        [since] = next(iter(self._read(query, file.corpus, file.path)), (None,))
        return file._replace(failed_at=self.clock() if since is None else since)

    def refresh(self, files: Sequence[FileRow]) -> None:
        """Write down files of which size or time alone changed."""
        with self._writing() as connection:
            insert(connection, "files", files)

    def unsettle(self, collection: str, document_ids: Iterable[str]) -> None:
        """Say that the store is about to be changed for these documents."""
        with self._writing() as connection:
            connection.executemany(_UNSETTLE, [(collection, one) for one in document_ids])

    def settle(self, deposits: Iterable[DepositRow]) -> None:
        """Write down what the store confirmed; rows without a time are stamped with now."""
        now = self.clock()
        rows = (row._replace(stored_at=now) if row.stored_at is None else row for row in deposits)
        with self._writing() as connection:
            connection.executemany(_SETTLE, rows)

    def fail(
        self, collection: str, errors: Mapping[str, str], *, is_complete: bool = False
    ) -> None:
        """Write down why documents are not stored whole; what is stored of them stays as it is.

        Args:
            collection: its name.
            errors: by document, on one line and without keys.
            is_complete: the ledger knows all that is stored, so nothing of documents it does not
                know; else the store is asked about these.
        """
        now = self.clock()
        stored_at = now if is_complete else None
        rows = [(collection, one, said, stored_at, now) for one, said in errors.items()]
        with self._writing() as connection:
            connection.executemany(_FAIL, rows)

    def confirm(self, deposits: Iterable[DepositRow]) -> None:
        """Write down what the store says it holds; why documents failed stays known."""
        now = self.clock()
        rows = [row._replace(stored_at=now) for row in deposits]
        with self._writing() as connection:
            connection.executemany(_CONFIRM, rows)

    def empty(self, collection: str, document_ids: Iterable[str] | None = None) -> None:
        """Write down that a collection holds nothing of documents; why they failed stays known.

        Args:
            collection: its name.
            document_ids: of which; None for all.
        """
        where = "collection = ?"
        rows: list[tuple[str, ...]] = [(collection,)]
        if document_ids is not None:
            where = f"{where} AND document_id = ?"
            rows = [(collection, one) for one in document_ids]
        now = self.clock()
        with self._writing() as connection:
            self._delete("deposits", f"{where} AND error IS NULL", rows)
            connection.executemany(f"{_EMPTY} {where}", [(now, *row) for row in rows])

    def replace(self, collection: str, deposits: Iterable[DepositRow]) -> None:
        """Write down what the store says a collection holds; it holds nothing else."""
        with self._writing():
            self.empty(collection)
            self.confirm(deposits)

    def forget_deposits(self, collection: str, document_ids: Iterable[str]) -> None:
        """Delete the rows of documents of which a collection holds nothing any more."""
        rows = [(collection, one) for one in document_ids]
        self._delete("deposits", "collection = ? AND document_id = ?", rows)

    def forget_documents(self, corpus: str, document_ids: Iterable[str]) -> None:
        """Delete documents, and the files that are left without one."""
        with self._writing() as connection:
            self._delete("documents", "corpus = ? AND id = ?", [(corpus, i) for i in document_ids])
            connection.execute(
                "DELETE FROM files WHERE corpus = ?1 AND documents > 0 AND path NOT IN "
                "(SELECT path FROM documents WHERE corpus = ?1)",
                (corpus,),
            )

    def forget_files(self, corpus: str, paths: Iterable[str]) -> None:
        """Delete files with their documents, but nothing of what collections hold of them."""
        rows = [(corpus, path) for path in paths]
        with self._writing():
            self._delete("documents", "corpus = ? AND path = ?", rows)
            self._delete("files", "corpus = ? AND path = ?", rows)

    def forget_collection(self, name: str) -> None:
        """Delete a collection and all that it held."""
        with self._writing():
            self._delete("deposits", "collection = ?", [(name,)])
            self._delete("collections", "name = ?", [(name,)])


def _is_gone(document: DocumentRow) -> bool:
    return not document.source_hash
