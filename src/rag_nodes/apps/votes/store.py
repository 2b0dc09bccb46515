"""Visitors' votes on answers, kept in a database of this machine: never a text of anybody."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from rag_nodes.apps.votes.sums import Contender, Name, sum_votes
from rag_nodes.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag_nodes.apps.votes.sums import Summary

MOST_BYTES = 10 * 1024 * 1024
"""Size of the file beyond which votes are refused: nobody fills the disk by clicking."""
PATIENCE = 10.0
"""Seconds to wait for another process that writes."""
_VERSION = 1
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS votes (
    id INTEGER PRIMARY KEY,
    ballot TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    voter TEXT NOT NULL,
    question TEXT NOT NULL,
    models TEXT NOT NULL,
    winners INTEGER NOT NULL,
    blind INTEGER NOT NULL,
    time TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS contenders (
    vote INTEGER NOT NULL REFERENCES votes ON DELETE CASCADE,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    settings TEXT NOT NULL,
    won INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS contenders_of_vote ON contenders (vote);
PRAGMA user_version = {_VERSION};
COMMIT;
"""
_INSERT = """
INSERT OR IGNORE INTO votes (ballot, kind, voter, question, models, winners, blind, time)
VALUES (:ballot, :kind, :voter, :question, :models, :winners, :blind, :time)
"""
_Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


class Vote(BaseModel):
    """One verdict; a later one of the same ballot replaces it.

    Attributes:
        kind: "best": which of several answers; "helpful": whether one of them is.
        ballot: what was voted on.
        voter: who voted, a number that only their browser knows; hashed.
        question: of the text, hashed.
        parsers: who took part.
        models: which models ran, as the report says it.
        winners: names of parsers: the best, or all of them for a tie; the helpful one; none where
            all are poor or the one is not helpful. None takes the vote back.
        blind: the names were hidden.
        time: of the vote.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: Literal["best", "helpful"]
    ballot: Annotated[str, Field(max_length=64)]
    voter: _Hash
    question: _Hash
    parsers: Annotated[tuple[Contender, ...], Field(min_length=1, max_length=16)]
    models: Annotated[str, Field(max_length=500)]
    winners: tuple[Name, ...] | None
    blind: bool
    time: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))

    @model_validator(mode="after")
    def _winners_took_part(self) -> Vote:
        if not set(self.winners or ()) <= {one.name for one in self.parsers}:
            raise ValueError("a winner did not take part")
        return self


class Votes:
    """The database; several threads and processes may use it at once.

    Args:
        path: of the file; it and its folder are made for the first vote, for this user only.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def add(self, vote: Vote) -> None:
        """Keep a vote.

        Raises:
            StoreError: the file cannot be written, or is full.
        """
        remedy = "make the folder writable or set RAG_NODES_VOTES to another file"
        with self._opened("the vote cannot be kept", remedy, make=True) as database, database:
            [size] = database.execute("PRAGMA page_size").fetchone()
            database.execute(f"PRAGMA max_page_count = {max(1, MOST_BYTES // size)}")
            database.execute("DELETE FROM votes WHERE ballot = ?", [vote.ballot])
            _insert(database, vote)

    def summary(self) -> Summary:
        """All votes together; none where there is no file yet.

        Raises:
            StoreError: the file is there and cannot be read.
        """
        with self._opened("votes cannot be read", "check who may read it") as database:
            database.execute("BEGIN")  # for one look at all of it
            return sum_votes(database)

    def forget(self, voter: str) -> None:
        """Delete everything one voter has voted, see `voter_of`; nothing of it stays in the file.

        Raises:
            StoreError: the file cannot be changed.
        """
        with self._opened("votes cannot be deleted", "delete the file") as database, database:
            database.execute("DELETE FROM votes WHERE voter = ?", [voter])

    @contextmanager
    def _opened(
        self, failed: str, remedy: str, *, make: bool = False
    ) -> Iterator[sqlite3.Connection]:
        """The database; an empty one, which is not kept, where there is none.

        Raises:
            StoreError: something of it failed.
        """
        try:
            with self._connected(make=make) as database:
                yield database
        except OSError as error:
            raise StoreError(f"{self._path}: {failed}: {error.strerror}; {remedy}") from error
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                failed = f"it or its disk is full, {failed}"
                remedy = "free space, or move it away to begin a new one"
            raise StoreError(f"{self._path}: {failed}: {error}; {remedy}") from error

    @contextmanager
    def _connected(self, *, make: bool) -> Iterator[sqlite3.Connection]:
        if make:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        place = self._path if make or _is_there(self._path) else ":memory:"
        database = sqlite3.connect(place, timeout=PATIENCE, isolation_level="IMMEDIATE")
        with closing(database):
            self._prepare(database)
            yield database

    def _prepare(self, database: sqlite3.Connection) -> None:
        database.execute("PRAGMA foreign_keys = ON")
        database.execute("PRAGMA secure_delete = ON")
        [version] = database.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            raise StoreError(f"{self._path}: written by a newer version of rag_nodes; update it")
        if version < _VERSION:
            database.executescript(_SCHEMA)


def question_of(text: str) -> str:
    """What stands for a question in the file: equal questions give equal values."""
    return _hashed(" ".join(text.split()).casefold())


def voter_of(secret: str) -> str:
    """What stands for a voter in the file; it does not give the secret away."""
    return _hashed(secret)


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _insert(database: sqlite3.Connection, vote: Vote) -> None:
    """Add a vote, unless its ballot has one or it takes one back."""
    if vote.winners is None:
        return
    row = vote.model_dump(mode="json", exclude={"parsers"}) | {"winners": len(vote.winners)}
    added = database.execute(_INSERT, row)
    if added.rowcount:
        database.executemany(
            "INSERT INTO contenders VALUES (?, ?, ?, ?, ?)",
            [
                (added.lastrowid, one.name, one.fingerprint, one.settings, one.name in vote.winners)
                for one in vote.parsers
            ],
        )


def _is_there(path: Path) -> bool:
    """Whether a file exists; unlike `Path.exists`, what keeps from looking is an error."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    return True
