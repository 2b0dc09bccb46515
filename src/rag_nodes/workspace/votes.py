"""Visitors' votes on answers, kept in one file of this machine: a line each, never a text."""

from __future__ import annotations

import hashlib
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from rag_nodes.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 10 * 1024 * 1024
"""Size of the file beyond which votes are refused: nobody fills the disk by clicking."""
_Name = Annotated[str, Field(max_length=200)]
_Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


class Compared(BaseModel):
    """A parser that took part.

    Attributes:
        name: what the comparison called it.
        fingerprint: of its configuration; the same settings have the same one.
        settings: the configuration in a few words, for people.
    """

    model_config = ConfigDict(frozen=True)

    name: _Name
    fingerprint: _Name
    settings: _Name = ""


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
    parsers: Annotated[tuple[Compared, ...], Field(min_length=1, max_length=16)]
    models: Annotated[str, Field(max_length=500)]
    winners: tuple[_Name, ...] | None
    blind: bool
    time: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))

    @model_validator(mode="after")
    def _winners_took_part(self) -> Vote:
        if not set(self.winners or ()) <= {one.name for one in self.parsers}:
            raise ValueError("a winner did not take part")
        return self


class Ledger(NamedTuple):
    """What the file says.

    Attributes:
        votes: the ones that count, oldest first.
        damaged: lines that could not be understood.
    """

    votes: tuple[Vote, ...] = ()
    damaged: int = 0


class _Stamp(NamedTuple):
    """A file as it was: which, how long, and when it was written last."""

    file: int
    size: int
    written: int


class _Known(NamedTuple):
    """What the file held: the latest vote of each ballot, those taken back included."""

    stamp: _Stamp | None
    latest: dict[str, Vote]
    ledger: Ledger

    @classmethod
    def of(cls, content: bytes, stamp: _Stamp | None) -> _Known:
        """Understand what was read."""
        read = [_understood(line) for line in content.splitlines() if line.strip()]
        latest = {one.ballot: one for one in read if one is not None}
        return cls(stamp, latest, _ledger(latest, read.count(None)))

    def with_vote(self, vote: Vote, stamp: _Stamp) -> _Known:
        """The same with one more line."""
        self.latest[vote.ballot] = vote
        return _Known(stamp, self.latest, _ledger(self.latest, self.ledger.damaged))


class Votes:
    """The file; several threads and processes may use it at once.

    Lines are only ever added, each in one write. Deleting overwrites lines with blanks in their
    place, so that nothing moves under another process. What was read stays in memory until
    somebody else changes the file, so that one more vote reads nothing again.

    Args:
        path: of the file; it and its folder are made for the first vote, for this user only.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._known: _Known | None = None

    def add(self, vote: Vote) -> None:
        """Keep a vote.

        Raises:
            StoreError: the file cannot be written, or is full.
        """
        line = vote.model_dump_json().encode() + b"\n"
        try:
            with self._lock:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                before = self._stamp()
                self._append(line)
                self._learn(vote, len(line), before)
        except OSError as error:
            raise StoreError(
                f"{self._path}: the vote cannot be kept: {error.strerror}; make the folder "
                "writable or set RAG_NODES_VOTES to another file"
            ) from error

    def read(self) -> Ledger:
        """All votes that count; none where there is no file yet.

        Raises:
            StoreError: the file is there and cannot be read.
        """
        with self._lock:
            stamp = self._stamp()
            if self._known is None or stamp is None or self._known.stamp != stamp:
                self._known = _Known.of(self._content(), stamp)
            return self._known.ledger

    def forget(self, voter: str) -> None:
        """Delete everything one voter has voted, see `voter_of`.

        Raises:
            StoreError: the file cannot be changed.
        """
        try:
            with self._lock, self._path.open("r+b") as file:
                self._known = None
                for start, line in _places(file.read()):
                    vote = _understood(line)
                    if vote is not None and vote.voter == voter:
                        file.seek(start)
                        file.write(b" " * len(line))
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(
                f"{self._path}: votes cannot be deleted: {error.strerror}; delete the file"
            ) from error

    def _learn(self, vote: Vote, size: int, before: _Stamp | None) -> None:
        """Know the vote just written as well, unless somebody else has written meanwhile."""
        known, self._known = self._known, None
        after = self._stamp()
        if known is None or after is None or before is None or known.stamp != before:
            return
        if (after.file, after.size) == (before.file, before.size + size):
            self._known = known.with_vote(vote, after)

    def _stamp(self) -> _Stamp | None:
        """What changes with the file; None where it cannot be seen."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return _Stamp(found.st_ino, found.st_size, found.st_mtime_ns)

    def _append(self, line: bytes) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self._path, flags, 0o600)
        try:
            size = os.lseek(descriptor, 0, os.SEEK_END)
            if size + len(line) > MOST_BYTES:
                raise StoreError(
                    f"{self._path}: the file of votes is full; move it away to begin a new one"
                )
            if size and not _ends_line(descriptor, size):
                line = b"\n" + line  # after a write that broke off
            os.write(descriptor, line)
        finally:
            os.close(descriptor)

    def _content(self) -> bytes:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise StoreError(
                f"{self._path}: votes cannot be read: {error.strerror}; check who may read it"
            ) from error


def question_of(text: str) -> str:
    """What stands for a question in the file: equal questions give equal values."""
    return _hashed(" ".join(text.split()).casefold())


def voter_of(secret: str) -> str:
    """What stands for a voter in the file; it does not give the secret away."""
    return _hashed(secret)


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _ledger(latest: dict[str, Vote], damaged: int) -> Ledger:
    return Ledger(tuple(one for one in latest.values() if one.winners is not None), damaged)


def _understood(line: bytes) -> Vote | None:
    try:
        return Vote.model_validate_json(line)
    except ValidationError:
        return None


def _places(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Every line without its end, and where it begins."""
    start = 0
    for line in content.splitlines(keepends=True):
        yield start, line.rstrip(b"\r\n")
        start += len(line)


def _ends_line(descriptor: int, size: int) -> bool:
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) == b"\n"
