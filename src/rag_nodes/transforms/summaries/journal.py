"""Summaries that were paid for, on disk the moment they arrive: a killed run loses none."""

from __future__ import annotations

import errno
import json
import logging
import os
import threading
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
    """What a summary depends on; any other model, prompt or text is another summary.

    Attributes:
        chunk_id: id of the node; follows its document, parser, span and text.
        model: name of the model that wrote it.
        prompt: hash of everything the model read.
    """

    chunk_id: str
    model: str
    prompt: str

    @classmethod
    def of(cls, chunk_id: str, model: str, prompt: str) -> Self:
        """The key of a prompt as the model reads it."""
        digest = blake2b(prompt.encode("utf-8", "surrogatepass"), digest_size=16)
        return cls(chunk_id, model, digest.hexdigest())


class SummaryJournal:
    """An append-only file of summaries, one JSON object per line, each on disk before the next.

    Use as a context manager. What the file holds is found again by its key; a line that was torn by
    a crash is left out. Memory holds an offset per summary. Used by many threads at once, and by
    several processes, each of which finds what the others wrote before it began.

    Args:
        path: created where it is missing; what it holds stays.
        frozen: leave the file as it is; what is added is not kept.

    Attributes:
        reused: how many summaries `get` has found.

    Raises:
        ConfigurationError: on entering: the file cannot be opened for writing.
    """

    def __init__(self, path: Path, *, frozen: bool = False) -> None:
        self.path = path
        self.frozen = frozen
        self.reused = 0
        self._lock = threading.Lock()
        self._offsets: dict[SummaryKey, int] = {}
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
        """Summaries in the file."""
        return len(self._offsets)

    def get(self, key: SummaryKey) -> str | None:
        """The summary of that key; None where it was never written."""
        with self._lock:
            offset = self._offsets.get(key)
            if offset is None:
                return None
            self.reused += 1
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
        file.seek(0)
        offset = 0
        for line in file:
            self._torn = not line.endswith(b"\n")
            if key := _key_in(line):
                self._offsets[key] = offset
            elif line.strip():
                _log.warning("%s: a line at byte %d is damaged; left out", self.path, offset)
            offset += len(line)


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
