"""What a ledger knows of files and the documents in them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rag_nodes.ledger.database import LedgerDatabase
from rag_nodes.ledger.rows import DocumentRow, FileRow, KnownFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_FILES = "SELECT * FROM files WHERE corpus = ?"
_DOCUMENTS = "SELECT * FROM documents WHERE corpus = ?"
_FILE = "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DOCUMENT = "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FORGET_DOCUMENTS = "DELETE FROM documents WHERE corpus = ? AND path = ?"
_NAME_FILE = """
UPDATE stored SET path = ?2 WHERE path <> ?2
AND collection IN (SELECT name FROM collections WHERE corpus = ?1)
AND document_id IN (SELECT id FROM documents WHERE corpus = ?1 AND path = ?2)
"""
_TWINS = """
SELECT d.id FROM files AS f CROSS JOIN documents AS d ON d.corpus = f.corpus AND d.path = f.path
WHERE f.corpus = ? AND f.content_hash = ? LIMIT 10
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
_VANISHED = """
SELECT DISTINCT s.path, s.document_id
FROM stored AS s JOIN collections AS c ON c.name = s.collection
WHERE c.corpus = ? AND s.path > '' AND NOT EXISTS (
    SELECT 1 FROM documents AS d WHERE d.corpus = c.corpus AND d.id = s.document_id
) ORDER BY 1, 2
"""


class LedgerFiles(LedgerDatabase):
    """The files that were opened, and their documents, by corpus."""

    def known(self, corpus: str, paths: Sequence[str] | None = None) -> dict[str, KnownFile]:
        """Some files of a corpus, or all, with their documents, by path; unknown ones left out."""
        files = self._read_of(_FILES, corpus, "path", paths, "path")
        found = {row[1]: KnownFile(FileRow(*row), []) for row in files}
        for row in self._read_of(_DOCUMENTS, corpus, "path", paths, "rowid"):
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
        """Some documents, or all, by id, each as every file has it."""
        found: dict[str, list[DocumentRow]] = defaultdict(list)
        for row in self._read_of(_DOCUMENTS, corpus, "id", document_ids, "rowid"):
            found[row[2]].append(DocumentRow(*row))
        return dict(found)

    def vanished(self, corpus: str) -> list[tuple[str, ...]]:
        """Documents of which something may be stored, and that no file has (any more).

        Returns:
            The path of the file that had it last, and its id; none of those without a file.
        """
        return self._read(_VANISHED, corpus)

    def twins(self, corpus: str, content_hash: str) -> list[str]:
        """The ids of the documents of files with the same bytes."""
        return [one for (one,) in self._read(_TWINS, corpus, content_hash)]

    def copies(self, corpus: str) -> list[tuple[str, str]]:
        """The files that were read and have the bytes of another one: path and content hash."""
        return [(path, content) for path, content in self._read(_COPIES, corpus)]

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
                connection.execute(_NAME_FILE, place)
                connection.execute(_FORGET_DOCUMENTS, place)
            connection.executemany(_DOCUMENT, documents)

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
            connection.executemany(_FORGET_DOCUMENTS, rows)
            connection.executemany("DELETE FROM files WHERE corpus = ? AND path = ?", rows)
