"""Texts that were paid for, on disk the moment they arrive: a killed run loses none."""

from __future__ import annotations

import errno
import json
import logging
import os
import threading
from abc import ABC, abstractmethod
from contextlib import ExitStack
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

    Use as a context manager. What the file holds is found again by its key; a line that was torn by
    a crash is left out. Memory holds an offset per summary. Used by many threads at once, and by
    several processes of one machine, each of which finds what the others wrote.

    Args:
        path: created where it is missing; what it holds stays.
        frozen: leave the file as it is; what is added is not kept.

    Attributes:
        reused: how often `get` has found what was there before it was opened.

    Raises:
        ConfigurationError: on entering: the file cannot be opened for writing.
    """

    def __init__(self, path: Path, *, frozen: bool = False) -> None:
        self.path = path
        self.frozen = frozen
        self.reused = 0
        self._lock = threading.Lock()
        self._offsets: dict[SummaryKey, int] = {}
        self._end = self._before = 0
        self._files = ExitStack()
        self._reader: IO[bytes] | None = None
        self._writer: IO[bytes] | None = None
        self._torn = False

    def __enter__(self) -> Self:
        try:
            if not self.frozen:
                # Without a buffer: each line is one write, at the end wherever others put that.
                self._writer = self._files.enter_context(self.path.open("ab", buffering=0))
            if not self.frozen or self.path.exists():
                self._reader = self._files.enter_context(self.path.open("rb"))
                self._load(self._reader)
                self._before = self._end
        except OSError as error:
            raise ConfigurationError(
                f"{self.path}: summaries cannot be kept here ({error.strerror}); "
                "write the output to another folder"
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()
        self._reader = self._writer = None

    @property
    def count(self) -> int:
        """Summaries in the file, as far as it was read."""
        return len(self._offsets)

    def get(self, key: SummaryKey) -> str | None:
        """The summary of that key; None where nobody has written it."""
        with self._lock:
            if key not in self._offsets and self._reader:
                self._load(self._reader)
            offset = self._offsets.get(key)
            if offset is None:
                return None
            self.reused += offset < self._before
            file = _opened(self._reader)
            file.seek(offset)
            return str(json.loads(file.readline())["summary"])

    def add(self, key: SummaryKey, summary: str) -> None:
        """Write a summary; it has reached the disk when this returns."""
        if self.frozen:
            return
        line = json.dumps({**key._asdict(), "summary": summary}).encode() + b"\n"
        with self._lock:
            file = _opened(self._writer)
            if self._torn:
                file.write(b"\n")
            written = file.write(line)
            self._torn = written < len(line)
            os.fsync(file.fileno())
            if self._torn:
                raise OSError(errno.ENOSPC, "the disk is full", str(self.path))
            self._offsets[key] = file.tell() - len(line)

    def _load(self, file: IO[bytes]) -> None:
        """Read on from where the last line that was whole has ended."""
        file.seek(self._end)
        for line in file:
            self._torn = not line.endswith(b"\n")
            if self._torn:  # by a crash, or another process is about to write the rest
                return
            if key := _key_in(line):
                self._offsets[key] = self._end
            elif line.strip():
                _log.warning("%s: a line at byte %d is damaged; left out", self.path, self._end)
            self._end += len(line)


def _opened(file: IO[bytes] | None) -> IO[bytes]:
    if file is None:
        raise ValueError("SummaryJournal: use it in a with statement")
    return file


def _key_in(line: bytes) -> SummaryKey | None:
    """The key of a line; None where it holds no summary."""
    try:
        entry: dict[str, Any] = json.loads(line)
        if isinstance(entry["summary"], str):
            return SummaryKey(*(str(entry[name]) for name in SummaryKey._fields))
    except (ValueError, TypeError, KeyError):
        pass
    return None
