"""What a ledger knows of collections and what they hold of documents."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from rag_nodes.ledger.connection import LedgerDatabase, insert
from rag_nodes.ledger.rows import CollectionRow, CollectionSums, DepositRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    _Names = Sequence[tuple[bytes, str]]

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
_ROW = ", ".join(f"d.{field}" for field in DepositRow._fields)
"""Of a deposit but the ids, which are as long as all the rest and longer."""
_CONFIRM = """
INSERT INTO deposits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce(?12, x''))
ON CONFLICT (collection, document_id) DO UPDATE SET
    source_hash = excluded.source_hash, chunks = excluded.chunks, parents = excluded.parents,
    tokens = excluded.tokens, largest = excluded.largest, unplaced = excluded.unplaced,
    stored_at = excluded.stored_at, ids = coalesce(?12, ids)
"""
_SETTLE = f"{_CONFIRM}, error = excluded.error, failed_at = excluded.failed_at"
_UNSETTLE = """
INSERT INTO deposits VALUES (?, ?, '', 0, 0, 0, 0, 0, NULL, NULL, NULL, x'')
ON CONFLICT (collection, document_id) DO UPDATE SET stored_at = NULL
"""
_INTEND = """
INSERT INTO deposits VALUES (?, ?, '', 0, 0, 0, 0, 0, NULL, NULL, NULL, ?)
ON CONFLICT (collection, document_id) DO UPDATE SET
    source_hash = '', stored_at = NULL, ids = excluded.ids
"""
_FAIL = """
INSERT INTO deposits VALUES (?, ?, '', 0, 0, 0, 0, 0, ?, ?, ?, x'')
ON CONFLICT (collection, document_id) DO UPDATE SET
    error = excluded.error, failed_at = coalesce(failed_at, excluded.failed_at)
"""
_EMPTY = """
UPDATE deposits SET source_hash = '', chunks = 0, parents = 0, tokens = 0, largest = 0,
    unplaced = 0, stored_at = ?, ids = x'' WHERE
"""
_IDS = "SELECT document_id, ids FROM deposits WHERE collection = ? AND ids > x'' AND document_id IN"
_TOTALS = """
SELECT coalesce(sum(iif(stored_at IS NULL, 0, chunks)), 0), coalesce(sum(length(ids)) / 16, 0)
FROM deposits WHERE collection = ?
"""
_MARK = "INSERT OR REPLACE INTO marks SELECT ?, writer, ? FROM about"
_FAILURES = f"""
SELECT {_ROW} FROM deposits AS d JOIN collections AS c ON c.name = d.collection
WHERE d.collection = ? AND d.error IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM documents AS k WHERE k.id = d.document_id AND k.corpus = c.corpus
    AND k.source_hash > ''
    AND (d.source_hash = k.source_hash OR d.source_hash LIKE '%:' || k.source_hash)
)
"""  # noqa: S608 -- names of columns
_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_WIDTH = 16
"""Bytes of a point in a list of ids."""
_NAMED = b"\xff" * 4
"""What the bytes begin with that stand for an id in the table of names."""


class LedgerDeposits(LedgerDatabase):
    """The collections of a store, and what is stored in each, or why it is not."""

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
        query = f"SELECT {_ROW} FROM deposits AS d WHERE collection = ?"  # noqa: S608
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

    def totals(self, collection: str) -> tuple[int, int]:
        """Between what numbers of chunks a collection has, if the ledger is that of its state.

        Returns:
            The chunks of all documents that are settled, and the ids that are listed of any, which
            may be those of parents or of points that are not stored (any more).
        """
        [(chunks, ids)] = self._read(_TOTALS, collection)
        return chunks, ids

    def former(self, collection: str, document_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The ids of all points that may be stored of documents; those of none are left out."""
        found = dict(self._read_in(_IDS, [collection], document_ids))
        keys = {one: _keys(packed) for one, packed in found.items()}
        named = {key for of in keys.values() for key in of if key.startswith(_NAMED)}
        names = dict(self._read_in("SELECT key, id FROM names WHERE key IN", [], list(named)))
        return {one: tuple(names.get(key) or _uuid(key) for key in of) for one, of in keys.items()}

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
                self._delete("marks", "collection = ?", [(collection,)])
            connection.execute(_MARK, (collection, epoch))

    def use(self, row: CollectionRow) -> bool:
        """Note that a collection is in use now, and say whether it was not known before."""
        now = self.clock()
        stamped = row._replace(first_used=now, last_used=now)
        with self._writing() as connection:
            found = connection.execute("SELECT 1 FROM collections WHERE name = ?", (row.name,))
            is_new = found.fetchone() is None
            connection.execute(_USE, stamped)
        return is_new

    def unsettle(self, collection: str, document_ids: Iterable[str]) -> None:
        """Say that the store is about to be changed for these documents."""
        with self._writing() as connection:
            connection.executemany(_UNSETTLE, [(collection, one) for one in document_ids])

    def intend(self, collection: str, ids: Mapping[str, Iterable[str]]) -> None:
        """Write down, before the store hears of it, what is about to be stored of documents.

        They are not settled from then on, and their points are listed beside those of before: so
        the ledger never lists less than is stored. It is on the disk when this returns.

        Args:
            collection: its name.
            ids: of the points, by document; none where what is stored only goes.
        """
        packed = {one: _packed(of) for one, of in ids.items()}
        with self._writing("FULL") as connection:
            former = dict(self._read_in(_IDS, [collection], list(packed)))
            rows = [
                (collection, one, ids_of_both(former.get(one, b""), of))
                for one, (of, _) in packed.items()
            ]
            connection.executemany(_INTEND, rows)
            for _, names in packed.values():
                insert(connection, "names", names)

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
        self._write(
            _SETTLE,
            (
                (
                    row._replace(stored_at=now) if row.stored_at is None else row,
                    _packed(listed[row.document_id]) if row.document_id in listed else (None, ()),
                )
                for row in deposits
            ),
        )

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
        rows = [(row._replace(stored_at=now), _packed(of)) for row, of in stored]
        with self._writing():
            self.empty(collection)
            self._write(_CONFIRM, rows)

    def _write(
        self, statement: str, rows: Iterable[tuple[DepositRow, tuple[bytes | None, _Names]]]
    ) -> None:
        with self._writing() as connection:
            for row, (ids, names) in rows:
                connection.execute(statement, (*row, ids))
                insert(connection, "names", names)

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
        self._write(_CONFIRM, ((row._replace(stored_at=now), (None, ())) for row in deposits))

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

    def forget_collection(self, name: str) -> None:
        """Delete a collection and all that it held."""
        with self._writing():
            self._delete("deposits", "collection = ?", [(name,)])
            self._delete("marks", "collection = ?", [(name,)])
            self._delete("collections", "name = ?", [(name,)])


def _packed(node_ids: Iterable[str]) -> tuple[bytes, list[tuple[bytes, str]]]:
    """Ids in 16 bytes each, and what the table of names needs for those that are no UUIDs.

    Qdrant takes no other ids but numbers, and an ingest writes UUIDs alone; other stores and other
    programs may have any.
    """
    keys, names = [], []
    for one in node_ids:
        if _UUID.fullmatch(one) and not one.startswith(_NAMED.hex()):
            keys.append(bytes.fromhex(one.replace("-", "")))
        else:
            keys.append(_NAMED + hashlib.sha256(one.encode()).digest()[: _WIDTH - len(_NAMED)])
            names.append((keys[-1], one))
    return b"".join(keys), names


def ids_of_both(packed: bytes, other: bytes) -> bytes:
    """The ids of two lists of a ledger, each once."""
    return b"".join(dict.fromkeys(_keys(packed + other)))


def _keys(packed: bytes) -> list[bytes]:
    return [packed[start : start + _WIDTH] for start in range(0, len(packed), _WIDTH)]


def _uuid(key: bytes) -> str:
    digits = key.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
