"""The SQLite file behind a ledger: where it lies, its tables, transactions, and errors in words."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from rag_nodes.core.errors import LedgerDamagedError, LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

FILE_NAME = "ledger.sqlite"
"""File name of the ledger in the folder of an embedded store."""
VERSION = 9
"""Version of the tables; a ledger of another version is refused."""
_APPLICATION = int.from_bytes(b"ragn")
"""Tells our files from other SQLite databases."""
_BUSY_SECONDS = 30.0
"""For which another process may be writing; every write of ours takes milliseconds."""
_PAUSE = 0.01
"""Seconds between two attempts at requests for which SQLite does not wait."""
_HEADER = b"SQLite format 3\0"

_COUNT = "SELECT count(*) FROM sqlite_schema"
_TABLES = """
CREATE TABLE files (
    corpus TEXT NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    content_hash TEXT NOT NULL, reading TEXT NOT NULL, state TEXT NOT NULL,
    documents INTEGER NOT NULL, error TEXT, failed_at REAL, PRIMARY KEY (corpus, path)
) WITHOUT ROWID;
CREATE INDEX files_by_content ON files (corpus, content_hash);
CREATE TABLE documents (
    corpus TEXT NOT NULL, path TEXT NOT NULL, id TEXT NOT NULL, source_hash TEXT NOT NULL,
    name TEXT NOT NULL, source TEXT, pages INTEGER, characters INTEGER NOT NULL, warnings TEXT,
    expires_at REAL, UNIQUE (corpus, path, id)
);
CREATE INDEX documents_by_id ON documents (id);
CREATE TABLE collections (
    name TEXT PRIMARY KEY, corpus TEXT NOT NULL, parser TEXT NOT NULL, fingerprint TEXT NOT NULL,
    options TEXT NOT NULL, model TEXT NOT NULL, dimension INTEGER, first_used REAL NOT NULL,
    last_used REAL NOT NULL, writer TEXT NOT NULL DEFAULT (lower(hex(randomblob(8)))),
    marks TEXT NOT NULL DEFAULT '{}'
) WITHOUT ROWID;
CREATE TABLE stored (
    collection TEXT NOT NULL, document_id TEXT NOT NULL, version TEXT NOT NULL,
    chunks INTEGER NOT NULL, parents INTEGER NOT NULL, tokens INTEGER NOT NULL,
    largest INTEGER NOT NULL, not_located INTEGER NOT NULL, error TEXT, stored_at REAL,
    failed_at REAL, path TEXT NOT NULL,
    PRIMARY KEY (collection, document_id)
) WITHOUT ROWID;
CREATE TABLE place (path TEXT NOT NULL)
"""
"""Rows of documents keep the order in which a file has them. Of what is stored, `path` is that of
the file which had the document last, "" where nobody knows. The only row of `place` says where the
ledger lay when its files had the paths that it knows."""


def ledger_path(location: str, given: str | Path | None = None) -> Path | None:
    """Return the path of the ledger of a store.

    Args:
        location: of the store, see `Store.location`.
        given: where it was asked to be; None for its default place.

    Returns:
        In the folder of an embedded store; for a server a file in the user's state folder, by its
        address without credentials. None for a store that is gone at the end, and for one of which
        nothing is known.
    """
    if given:
        return Path(given).expanduser().absolute()
    address = urlsplit(location)
    if address.scheme in {"http", "https"} and address.hostname:
        place = f"{address.scheme}://{address.hostname}:{address.port or ''}{address.path}"
        digest = hashlib.sha256(place.rstrip("/").encode()).hexdigest()[:12]
        return _state_folder() / "ledgers" / f"{address.hostname}-{digest}.sqlite"
    folder = Path(location)
    return folder / FILE_NAME if folder.is_absolute() and folder.is_dir() else None


def _state_folder() -> Path:
    """Return the folder of this user for data that is neither configuration nor cache."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "rag_nodes"


class LedgerDatabase:
    """The SQLite file behind a ledger, open; see `rag_nodes.pipeline.ledger.Ledger`."""

    def __init__(self, path: str | Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = Path(path)
        self.clock = clock
        self._lock = threading.RLock()
        self._connection = _opened(self.path)

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
        [(answer,)] = self._read("PRAGMA quick_check(1)")
        if answer != "ok":
            raise _damaged(self.path, answer.splitlines()[-1])

    @contextmanager
    def transaction(self, synchronous: str = "FULL") -> Iterator[sqlite3.Connection]:
        """Have what is written meanwhile written at once, or not at all; others wait.

        Within another one it is a part of that.

        Args:
            synchronous: "FULL" has it on the disk at the end, so that it outlives a power failure,
                and not only a kill, by which "NORMAL" loses nothing either.
        """
        with self._lock, translated(self.path):
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute(f"PRAGMA synchronous = {synchronous}")
            self._connection.execute("BEGIN IMMEDIATE")
            with self._connection:
                yield self._connection

    def _read(self, query: str, *values: Any, **named: Any) -> list[tuple[Any, ...]]:
        with self._lock, translated(self.path):
            return self._connection.execute(query, named or values).fetchall()

    def _read_of(
        self,
        query: str,
        scope: str,
        column: str,
        values: Sequence[str] | None,
        order: str = "1",
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a query for some values of a column; None for all values."""
        if values is None:
            return self._read(f"{query} ORDER BY {order}", scope)
        given = f"{column} IN (SELECT value FROM json_each(?))"  # noqa: S608 - a name
        return self._read(f"{query} AND {given} ORDER BY {order}", scope, json.dumps(values))

    def _write(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """A statement for each row of values."""
        with self.transaction("NORMAL") as connection:
            connection.executemany(statement, rows)


def _opened(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    with translated(path):
        try:
            return _connected(path, "NORMAL")
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_IOERR_SHM"):
                raise
            # The disk has no room for what processes share to read while one writes.
            return _connected(path, "EXCLUSIVE")


def _connected(path: Path, locking: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute(f"PRAGMA locking_mode = {locking}")
        _check(connection, path)  # before anything of another program's file is changed
        _write_ahead(connection)
        connection.execute("PRAGMA temp_store = MEMORY")
        _make_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Let others read while one writes; while another connection sees to that, wait for it."""
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > until:
                raise
        else:
            return
        time.sleep(_PAUSE)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """See whose tables these are, where there are any."""
    if not _value(connection, _COUNT):
        return
    if _value(connection, "PRAGMA application_id") != _APPLICATION:
        raise _foreign(path, "a database of another program")
    if (version := _value(connection, "PRAGMA user_version")) != VERSION:
        raise LedgerError(
            f"{path}: another release of rag_nodes wrote this ledger (version {version}, and this "
            f"one reads {VERSION}); move it away, with {path.name}-wal beside it, and ingest "
            "again, which rebuilds it from the store; or name another file"
        )


def _make_tables(connection: sqlite3.Connection) -> None:
    if _value(connection, _COUNT):
        return
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        if not _value(connection, _COUNT):  # no other process was faster
            for statement in _TABLES.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")


def _value(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Errors of SQLite as ours, which name the file and the remedy."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith("SQLITE_NOTADB") and not _may_be_torn(path):
            raise _foreign(path, "a file of another kind") from error
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            raise _damaged(path, error) from error
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise LedgerError(
                f"{path}: another process has been writing to the ledger for {_BUSY_SECONDS:.0f} "
                "seconds; end it, or try again later"
            ) from error
        raise _unusable(path, str(error)) from error


def _unusable(path: Path, reason: str) -> LedgerError:
    return LedgerError(
        f"{path}: the ledger cannot be opened or written ({reason}); check free disk space and "
        "permissions, or name another file for the ledger"
    )


def _damaged(path: Path, reason: object) -> LedgerDamagedError:
    return LedgerDamagedError(
        f"{path}: the ledger is damaged ({reason}); move it away, with {path.name}-wal beside it: "
        "the next ingest makes a new one from the store, and embeds nothing again"
    )


def _may_be_torn(path: Path) -> bool:
    """Return True if a damaged file was a ledger, by its name or its beginning."""
    with path.open("rb") as file:
        return path.suffix == Path(FILE_NAME).suffix or file.read(len(_HEADER)) == _HEADER


def _foreign(path: Path, what: str) -> LedgerError:
    return LedgerError(
        f"{path}: this is {what} and no ledger; name another file, or move it away and run the "
        "ingest again, which makes a ledger from the store"
    )
