"""`Ledger`: what may be stored, what is stored whole, and the files that it came from."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Self

from rag_nodes.ledger.database import FILE_NAME, ledger_path, translated
from rag_nodes.ledger.files import LedgerFiles
from rag_nodes.ledger.rows import (
    CollectionRow,
    CollectionSums,
    DepositRow,
    ids_of_both,
    is_named,
    keys_of,
    packed_ids,
    uuid_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_SUMS = """
SELECT c.*, coalesce(sum(d.chunks + d.parents > 0), 0), coalesce(sum(d.chunks), 0)
FROM collections AS c LEFT JOIN deposits AS d ON d.collection = c.name
WHERE ? IN (c.corpus, '') GROUP BY c.name ORDER BY c.last_used DESC, c.name
"""
_USE = """
INSERT INTO collections VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET
    options = excluded.options, last_used = excluded.last_used,
    dimension = coalesce(excluded.dimension, dimension)
"""
_ROW = f"SELECT {', '.join(f'd.{field}' for field in DepositRow._fields)} FROM deposits AS d"  # noqa: S608
"""Without the ids, which are as long as all the rest and longer."""
_IDS = "SELECT document_id, ids FROM deposits WHERE collection = ? AND ids > x'' AND document_id IN"
_FAILURES = f"""
{_ROW} JOIN collections AS c ON c.name = d.collection
WHERE d.collection = ? AND d.error IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM documents AS k WHERE k.id = d.document_id AND k.corpus = c.corpus
    AND k.source_hash > ''
    AND (d.source_hash = k.source_hash OR d.source_hash LIKE '%:' || k.source_hash)
)
"""  # noqa: S608 -- names of columns
_TOTALS = """
SELECT coalesce(sum(iif(stored_at IS NULL, 0, chunks)), 0), coalesce(sum(length(ids)) / 16, 0)
FROM deposits WHERE collection = ?
"""
_CONFIRM = """
INSERT INTO deposits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce(?12, x''))
ON CONFLICT (collection, document_id) DO UPDATE SET
    source_hash = excluded.source_hash, chunks = excluded.chunks, parents = excluded.parents,
    tokens = excluded.tokens, largest = excluded.largest, unplaced = excluded.unplaced,
    stored_at = excluded.stored_at, ids = coalesce(?12, ids)
"""
_SETTLE = f"{_CONFIRM}, error = excluded.error, failed_at = excluded.failed_at"
_NEW = """
INSERT INTO deposits VALUES (?, ?, '', 0, 0, 0, 0, 0, ?, ?, ?, ?)
ON CONFLICT (collection, document_id) DO UPDATE SET
"""
_UNSETTLE = f"{_NEW} stored_at = NULL"
_INTEND = f"{_NEW} source_hash = '', stored_at = NULL, ids = excluded.ids"
_FAIL = f"{_NEW} error = excluded.error, failed_at = coalesce(failed_at, excluded.failed_at)"
_EMPTY = """
UPDATE deposits SET source_hash = '', chunks = 0, parents = 0, tokens = 0, largest = 0,
    unplaced = 0, stored_at = ?, ids = x'' WHERE collection = ?
"""
_NAME = "INSERT OR REPLACE INTO names VALUES (?, ?)"
_MARK = "INSERT OR REPLACE INTO marks SELECT ?, writer, ? FROM about"


class Ledger(LedgerFiles):
    """A memory of what a store holds: files, documents, collections, and what is stored of each.

    The store is the truth. What is about to be stored is listed before the store hears of it, and a
    document is settled only after the store confirmed it: so the ledger never lists less than is
    stored, and a run that is killed leaves documents that are not settled. What others write shows
    in marks and counts that are not the store's, see `marks` and `totals`.

    Safe to share between threads; several processes may have the same one open.

    Args:
        path: of the file; made where there is none.
        clock: seconds since 1970.

    Raises:
        LedgerDamagedError: it is torn.
        LedgerError: it cannot be made or written to, the file is something else, or a newer release
            wrote it.
    """

    @classmethod
    def of(cls, location: str, given: str | Path | None = None) -> Ledger | None:
        """The ledger of a store, open; errors are those of the constructor.

        Args:
            location: of the store.
            given: where it was asked to be; None for its usual place, see `ledger_path`.

        Returns:
            None for a store that has none.
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

    def collections(self, corpus: str = "") -> list[CollectionSums]:
        """Every collection with what is in it, the one used last first; of all corpora for ""."""
        width = len(CollectionRow._fields)
        rows = self._read(_SUMS, corpus)
        return [CollectionSums(CollectionRow(*row[:width]), *row[width:]) for row in rows]

    def use(self, row: CollectionRow) -> bool:
        """Note that a collection is in use now, and say whether it was not known before."""
        now = self.clock()
        with self._writing() as connection:
            known = self._read("SELECT 1 FROM collections WHERE name = ?", row.name)
            connection.execute(_USE, row._replace(first_used=now, last_used=now))
        return not known

    def forget_collection(self, name: str) -> None:
        """Delete a collection and all that it held."""
        with self._writing() as connection:
            connection.execute("DELETE FROM deposits WHERE collection = ?", (name,))
            connection.execute("DELETE FROM marks WHERE collection = ?", (name,))
            connection.execute("DELETE FROM collections WHERE name = ?", (name,))

    def totals(self, collection: str) -> tuple[int, int]:
        """Between what numbers of chunks a collection has, if the ledger is that of its state.

        Returns:
            The chunks of all documents that are settled, and the ids that are listed of any, which
            may be those of parents or of points that are not stored (any more).
        """
        [(chunks, ids)] = self._read(_TOTALS, collection)
        return chunks, ids

    def is_true(self, collection: str, count: int) -> bool:
        """Whether the ledger knows all that a collection holds.

        Args:
            collection: its name.
            count: of its chunks, as the store says it.
        """
        return not self.unsettled(collection) and self.totals(collection)[0] == count

    def is_current(self, collection: str, marks: Mapping[str, str], count: int) -> bool:
        """Whether the ledger says exactly what a collection holds now.

        Args:
            collection: its name.
            marks: that it bears in the store; those that this ledger left, where nobody else wrote.
            count: of its chunks, as the store says it.
        """
        known = self.marks(collection)
        return bool(known) and known == marks and self.is_true(collection, count)

    @property
    def writer(self) -> str:
        """Tells this ledger from every other one."""
        [(found,)] = self._read("SELECT writer FROM about")
        return str(found)

    def marks(self, collection: str) -> dict[str, str]:
        """The state of a collection that this ledger is of, see `Store.marks`; empty for none."""
        query = "SELECT writer, epoch FROM marks WHERE collection = ?"
        return dict(self._read(query, collection))

    def mark(self, collection: str, epoch: str, *, is_shared: bool = False) -> None:
        """Write down that this ledger is of another state of a collection from now on.

        Args:
            collection: its name.
            epoch: of that state.
            is_shared: what other writers left stays known.
        """
        with self._writing() as connection:
            if not is_shared:
                connection.execute("DELETE FROM marks WHERE collection = ?", (collection,))
            connection.execute(_MARK, (collection, epoch))

    def deposits(
        self, collection: str, document_ids: Sequence[str] | None = None
    ) -> dict[str, DepositRow]:
        """What a collection holds of documents, by the document's id.

        Args:
            collection: its name.
            document_ids: only these; None for all.
        """
        if document_ids is None:
            rows = self._read(f"{_ROW} WHERE collection = ?", collection)
        else:
            query = f"{_ROW} WHERE collection = ? AND document_id IN"
            rows = self._read_in(query, [collection], document_ids)
        return {row[1]: DepositRow(*row) for row in rows}

    def failures(self, collection: str) -> list[DepositRow]:
        """What a collection holds of documents that it could not be given as they were read."""
        return [DepositRow(*row) for row in self._read(_FAILURES, collection)]

    def unsettled(self, collection: str) -> list[str]:
        """The ids of documents of which only the store knows what a collection holds."""
        query = "SELECT document_id FROM deposits WHERE collection = ? AND stored_at IS NULL"
        return [one for (one,) in self._read(query, collection)]

    def former(self, collection: str, document_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The ids of all points that may be stored of documents; those of none are left out."""
        found = dict(self._read_in(_IDS, [collection], document_ids))
        keys = {one: keys_of(packed) for one, packed in found.items()}
        named = {key for of in keys.values() for key in of if is_named(key)}
        names = dict(self._read_in("SELECT key, id FROM names WHERE key IN", [], list(named)))
        return {
            one: tuple(names.get(key) or uuid_of(key) for key in of) for one, of in keys.items()
        }

    def intend(self, collection: str, ids: Mapping[str, Iterable[str]]) -> None:
        """Write down, before the store hears of it, what is about to be stored of documents.

        They are not settled from then on, and their points are listed beside those of before: so
        the ledger never lists less than is stored. It is on the disk when this returns.

        Args:
            collection: its name.
            ids: of the points, by document; none where what is stored only goes.
        """
        packed = {one: packed_ids(of) for one, of in ids.items()}
        with self._writing("FULL") as connection:
            former = dict(self._read_in(_IDS, [collection], list(packed)))
            for one, (of, names) in packed.items():
                listed = ids_of_both(former.get(one, b""), of)
                connection.execute(_INTEND, (collection, one, None, None, None, listed))
                connection.executemany(_NAME, names)

    def settle(
        self, deposits: Iterable[DepositRow], ids: Mapping[str, Iterable[str]] | None = None
    ) -> None:
        """Write down what the store confirmed; rows without a time are stamped with now.

        Args:
            deposits: what is stored of documents, each as a whole.
            ids: of their points, by document: they have these and no others. What is listed of a
                document that is not in it stays so.
        """
        now, listed = self.clock(), ids or {}
        with self._writing() as connection:
            for row in deposits:
                of = listed.get(row.document_id)
                packed, names = (None, []) if of is None else packed_ids(of)
                stamped = row._replace(stored_at=now) if row.stored_at is None else row
                connection.execute(_SETTLE, (*stamped, packed))
                connection.executemany(_NAME, names)

    def adopt(self, collection: str, stored: Iterable[tuple[DepositRow, Iterable[str]]]) -> None:
        """Write down what the store says a collection holds; it holds nothing else.

        Why documents failed stays known.

        Args:
            collection: its name.
            stored: what it holds of each document, in the version that is stored whole, and the ids
                of its points.
        """
        now = self.clock()
        # A store may take longer to tell than others wait for this file.
        rows = [(row._replace(stored_at=now), *packed_ids(of)) for row, of in stored]
        with self._writing() as connection:
            forget = "DELETE FROM deposits WHERE collection = ? AND error IS NULL"
            connection.execute(forget, (collection,))
            connection.execute(_EMPTY, (now, collection))
            for row, packed, names in rows:
                connection.execute(_CONFIRM, (*row, packed))
                connection.executemany(_NAME, names)

    def unsettle(self, collection: str, document_ids: Iterable[str]) -> None:
        """Say that the store is about to be changed for these documents."""
        rows = [(collection, one, None, None, None, b"") for one in document_ids]
        self._write(_UNSETTLE, rows)

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
        rows = [(collection, one, said, stored_at, now, b"") for one, said in errors.items()]
        self._write(_FAIL, rows)

    def forget_deposits(self, collection: str, document_ids: Iterable[str]) -> None:
        """Delete the rows of documents of which a collection holds nothing any more."""
        delete = "DELETE FROM deposits WHERE collection = ? AND document_id = ?"
        self._write(delete, [(collection, one) for one in document_ids])
