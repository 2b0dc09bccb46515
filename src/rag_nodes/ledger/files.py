"""What a ledger knows of files and the documents in them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rag_nodes.ledger.database import PORTION, LedgerDatabase
from rag_nodes.ledger.rows import DocumentRow, FileRow, KnownFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_FILE = "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DOCUMENT = "INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_VANISHED = """
SELECT d.* FROM documents AS d LEFT JOIN files AS f ON f.corpus = d.corpus AND f.path = d.path
WHERE d.corpus = ? AND (d.source_hash = '' OR f.state = 'empty') ORDER BY d.path, d.rowid
"""
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


class LedgerFiles(LedgerDatabase):
    """The files that were opened, and their documents, by corpus."""

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
        query = "SELECT * FROM documents WHERE corpus = ? AND path IN"
        documents = map(DocumentRow._make, self._read_in(query, [corpus], list(found), "rowid"))
        for row in sorted(documents, key=lambda one: not one.source_hash):
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
        return [one for (one,) in self._read(_TWINS, corpus, content_hash)]

    def copies(self, corpus: str) -> list[tuple[str, str]]:
        """The files that were read and have the bytes of another one: path and content hash."""
        return [(path, content) for path, content in self._read(_COPIES, corpus)]

    def expired(self, corpus: str) -> list[DocumentRow]:
        """The documents that were to be looked at again by now."""
        query = "SELECT * FROM documents WHERE corpus = ? AND expires_at <= ? ORDER BY path, rowid"
        return [DocumentRow(*row) for row in self._read(query, corpus, self.clock())]

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
        stored. Of a file that failed or is empty they stay as they are. One that fails without a
        time is stamped with now, or with the time since which it has failed.
        """
        place = (file.corpus, file.path)
        with self._writing() as connection:
            if file.error is not None and file.failed_at is None:
                query = "SELECT failed_at FROM files WHERE corpus = ? AND path = ?"
                since = next((since for (since,) in self._read(query, *place)), None)
                file = file._replace(failed_at=self.clock() if since is None else since)
            connection.execute(_FILE, file)
            if file.state in {"read", "partial"}:
                former = "UPDATE documents SET source_hash = '' WHERE corpus = ? AND path = ?"
                connection.execute(former, place)
            connection.executemany(f"INSERT OR REPLACE {_DOCUMENT}", documents)

    def refresh(self, files: Sequence[FileRow]) -> None:
        """Write down files of which size or time alone changed."""
        self._write(_FILE, files)

    def forget_documents(self, corpus: str, document_ids: Iterable[str]) -> None:
        """Delete documents, and the files that are left without one."""
        delete = "DELETE FROM documents WHERE corpus = ? AND id = ?"
        with self._writing() as connection:
            connection.executemany(delete, [(corpus, one) for one in document_ids])
            connection.execute(_FORGET_EMPTIED, (corpus,))

    def forget_files(self, corpus: str, paths: Iterable[str]) -> None:
        """Delete files with their documents, but nothing of what collections hold of them."""
        rows = [(corpus, path) for path in paths]
        with self._writing() as connection:
            connection.executemany("DELETE FROM documents WHERE corpus = ? AND path = ?", rows)
            connection.executemany("DELETE FROM files WHERE corpus = ? AND path = ?", rows)
