"""The open file of a ledger, shared by threads: queries in portions, changes in transactions."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rag_nodes.ledger.database import opened, translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

PORTION = 500
"""Values in one query; SQLite takes some 30,000."""


class LedgerDatabase:
    """The SQLite file behind a ledger, open.

    Safe to share between threads; several processes may have the same one open.

    Args:
        path: of the file; made where there is none.
        clock: seconds since 1970.

    Raises:
        LedgerDamagedError: it is torn.
        LedgerError: it cannot be made or written to, the file is something else, or a newer release
            wrote it.
    """

    def __init__(self, path: str | Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = Path(path)
        self.clock = clock
        self._lock = threading.RLock()
        self._connection = opened(self.path)

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

    def problems(self) -> list[str]:
        """What SQLite finds wrong with the file, in its words; nothing where it is whole."""
        return [text for (text,) in self._read("PRAGMA quick_check(20)") if text != "ok"]

    def _read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock, translated(self.path):
            return self._connection.execute(query, values).fetchall()

    def _read_in(
        self, query: str, first: list[str], values: Sequence[Any], order: str = "1"
    ) -> list[tuple[Any, ...]]:
        """A query that ends with IN, with the values in portions that SQLite takes."""
        found: list[tuple[Any, ...]] = []
        for start in range(0, len(values), PORTION):
            portion = values[start : start + PORTION]
            marks = ", ".join("?" * len(portion))
            found += self._read(f"{query} ({marks}) ORDER BY {order}", *first, *portion)
        return found

    def _delete(self, table: str, where: str, rows: Sequence[tuple[str, ...]]) -> None:
        with self._writing() as connection:
            connection.executemany(f"DELETE FROM {table} WHERE {where}", rows)  # noqa: S608

    def together(self) -> AbstractContextManager[object]:
        """Have what is written meanwhile written at once, or not at all; others wait.

        At the end it is on the disk, so that it outlives a power cut.
        """
        return self._writing("FULL")

    @contextmanager
    def _writing(self, synchronous: str = "NORMAL") -> Iterator[sqlite3.Connection]:
        """One transaction; within another one a part of it."""
        with self._lock, translated(self.path):
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute(f"PRAGMA synchronous = {synchronous}")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def insert(connection: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write whole rows down, in the place of those of the same key."""
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)  # noqa: S608
