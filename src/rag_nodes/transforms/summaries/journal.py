"""Summaries that were paid for, on disk the moment they arrive: a killed run loses none."""

from __future__ import annotations

import json
import logging
import os
import threading
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

    Use as a context manager. What the file holds is found again by its key; a last line that was
    torn by a crash is cut off. Memory holds an offset per summary. Used by many threads at once,
    by one process at a time.

    Args:
        path: created where it is missing; what it holds stays.

    Attributes:
        reused: how many summaries `get` has found.

    Raises:
        ConfigurationError: on entering: the file cannot be opened for writing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reused = 0
        self._lock = threading.Lock()
        self._offsets: dict[SummaryKey, int] = {}
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._file = self.path.open("a+b")
        except OSError as error:
            raise ConfigurationError(
                f"{self.path}: summaries cannot be kept here ({error.strerror}); "
                "write the output to another folder"
            ) from error
        self._load(self._file)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

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
            file = self._opened()
            file.seek(offset)
            return str(json.loads(file.readline())["summary"])

    def add(self, key: SummaryKey, summary: str) -> None:
        """Write a summary; it has reached the disk when this returns."""
        line = json.dumps({**key._asdict(), "summary": summary}) + "\n"
        with self._lock:
            file = self._opened()
            offset = file.seek(0, os.SEEK_END)
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
            self._offsets[key] = offset

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            raise ValueError("SummaryJournal: use it in a with statement")
        return self._file

    def _load(self, file: IO[bytes]) -> None:
        file.seek(0)
        offset = 0
        for line in file:
            if not line.endswith(b"\n"):
                _log.warning("%s: the last line is torn; it is cut off", self.path)
                file.truncate(offset)
                return
            if key := _key_in(line):
                self._offsets[key] = offset
            else:
                _log.warning("%s: a line at byte %d is damaged; left out", self.path, offset)
            offset += len(line)


def _key_in(line: bytes) -> SummaryKey | None:
    """The key of a line; None where it holds no summary."""
    try:
        entry: dict[str, Any] = json.loads(line)
        if isinstance(entry["summary"], str):
            return SummaryKey(*(str(entry[name]) for name in SummaryKey._fields))
    except (ValueError, TypeError, KeyError):
        pass
    return None
