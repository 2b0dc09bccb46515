"""Texts that were paid for, on disk the moment they arrive: a killed run loses none."""

from __future__ import annotations

import errno
import json
import logging
import os
import threading
from abc import ABC, abstractmethod
from hashlib import blake2b
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

WRITTEN_FILE = "written.jsonl"
"""Name of the journal of an ingest, in the folder of its store."""
_log = logging.getLogger(__name__)


class SummaryKey(NamedTuple):
    """What a summary depends on, which is what was asked: any other model or prompt is another one.

    A document that was renamed, and a chunk that was cut by another parser, are asked about in the
    same words where they read the same.

    Attributes:
        model: name of the model that wrote it.
        prompt: hash of everything the model read.
    """

    model: str
    prompt: str

    @classmethod
    def of(cls, model: str, prompt: str) -> Self:
        """The key of a prompt as the model reads it."""
        digest = blake2b(prompt.encode("utf-8", "surrogatepass"), digest_size=16)
        return cls(model, digest.hexdigest())


class WrittenTexts(ABC):
    """What models were paid to write, by what they were asked."""

    @abstractmethod
    def get(self, key: SummaryKey) -> str | None:
        """The text of that key; None where it was never written."""

    @abstractmethod
    def add(self, key: SummaryKey, summary: str) -> None:
        """Keep a text; when this returns it is as safe as it will be."""


class SummaryJournal(WrittenTexts):
    """An append-only file of summaries, one JSON object per line, each on disk before the next.

    What the file holds is found again by its key; a line that was torn by a crash is left out.
    Memory holds an offset per summary. Used by many threads at once, and by several processes of
    one machine, each of which finds what the others wrote: no file is held open, a line is one
    write at the end of the file, and a pickle is the path. As a context manager it refuses a file
    that cannot be written before anything is paid for.

    Args:
        path: created where it is missing; what it holds stays.
        frozen: leave the file as it is; what is added is not kept.

    Attributes:
        reused: how often `get` has found what was there before it was first used.

    Raises:
        ConfigurationError: on entering or first use: the file cannot be opened for writing.
    """

    def __init__(self, path: Path, *, frozen: bool = False) -> None:
        self.path = path
        self.frozen = frozen
        self.reused = 0
        self._lock = threading.Lock()
        self._offsets: dict[SummaryKey, int] = {}
        self._end = 0
        self._before: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """The same file, read anew where it arrives."""
        return _journal_of, (self.path.absolute(), self.frozen)

    def __enter__(self) -> Self:
        with self._lock:
            self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held open."""

    @property
    def count(self) -> int:
        """Summaries in the file, as far as it was read."""
        return len(self._offsets)

    def get(self, key: SummaryKey) -> str | None:
        """The summary of that key; None where nobody has written it."""
        with self._lock:
            before = self._begin()
            if key not in self._offsets:
                self._read_on()
            offset = self._offsets.get(key)
            if offset is None:
                return None
            self.reused += offset < before
            with self.path.open("rb") as file:
                file.seek(offset)
                return str(json.loads(file.readline())["summary"])

    def add(self, key: SummaryKey, summary: str) -> None:
        """Write a summary; it has reached the disk when this returns."""
        if self.frozen:
            return
        line = json.dumps({**key._asdict(), "summary": summary}).encode() + b"\n"
        with self._lock:
            self._begin()
            # Without a buffer: one write, at the end wherever other processes have put that.
            with self.path.open("a+b", buffering=0) as file:
                whole = b"\n" + line if _is_torn(file) else line
                written = file.write(whole)
                os.fsync(file.fileno())
                if written < len(whole):
                    raise OSError(errno.ENOSPC, "the disk is full", str(self.path))
                self._offsets[key] = file.tell() - len(line)

    def _begin(self) -> int:
        """Where the file ended when it was first used, which is now unless it was before."""
        if self._before is None:
            try:
                if not self.frozen:
                    self.path.open("ab").close()
                self._read_on()
            except OSError as error:
                raise ConfigurationError(
                    f"{self.path}: summaries cannot be kept here ({error.strerror}); "
                    "write the output to another folder"
                ) from error
            self._before = self._end
        return self._before

    def _read_on(self) -> None:
        """Read from where the last line that was whole has ended."""
        if self.frozen and not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._end)
            for line in file:
                if not line.endswith(b"\n"):  # by a crash, or somebody is about to write the rest
                    return
                if key := _key_in(line):
                    self._offsets[key] = self._end
                elif line.strip():
                    _log.warning("%s: a line at byte %d is damaged; left out", self.path, self._end)
                self._end += len(line)


def _journal_of(path: Path, frozen: bool) -> SummaryJournal:  # noqa: FBT001 -- out of a pickle
    return SummaryJournal(path, frozen=frozen)


def _is_torn(file: IO[bytes]) -> bool:
    """Whether the last line was not written to its end, so that a new one must not go on in it."""
    if not file.seek(0, os.SEEK_END):
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def _key_in(line: bytes) -> SummaryKey | None:
    """The key of a line; None where it holds no summary."""
    try:
        entry: dict[str, Any] = json.loads(line)
        if isinstance(entry["summary"], str):
            return SummaryKey(*(str(entry[name]) for name in SummaryKey._fields))
    except (ValueError, TypeError, KeyError):
        pass
    return None
