"""Texts that were paid for, on disk the moment they arrive: a killed run loses none."""

from __future__ import annotations

import errno
import json
import logging
import os
import threading
from abc import ABC, abstractmethod
from functools import partial
from hashlib import blake2b
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

WRITTEN_FILE = "written.jsonl"
"""Name of the journal of an ingest, in the folder of its store."""
_log = logging.getLogger(__name__)


class PromptKey(NamedTuple):
    """Who was asked what: any other model or prompt is another text.

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
    def get(self, key: PromptKey) -> str | None:
        """The text of that key; None where it was never written."""

    @abstractmethod
    def add(self, key: PromptKey, text: str) -> None:
        """Keep a text; when this returns it is as safe as it will be."""


class TextJournal(WrittenTexts):
    """An append-only file of texts, one JSON object per line, each on disk before the next.

    What the file holds is found again by its key; a line that was torn by a crash is left out.
    Memory holds an offset per text. Used by many threads at once, and by several processes of one
    machine, each of which finds what the others wrote: no file is held open, a line is one write
    at the end of the file, and a pickle is the path.

    Args:
        path: created where it is missing; what it holds stays.
        frozen: leave the file as it is; what is added is not kept.

    Attributes:
        reused: how often `get` has found what was there before.

    Raises:
        ConfigurationError: the file cannot be written, said before anything is paid for.
    """

    def __init__(self, path: Path, *, frozen: bool = False) -> None:
        self.path = path.absolute()
        self.frozen = frozen
        self.reused = 0
        self._lock = threading.Lock()
        self._offsets: dict[PromptKey, int] = {}
        self._end = 0
        try:
            if not frozen:
                self.path.open("ab").close()
            self._read_on()
        except OSError as error:
            raise ConfigurationError(
                f"{path}: texts cannot be kept here ({error.strerror}); "
                "write the output to another folder"
            ) from error
        self._before = self._end

    def __reduce__(self) -> tuple[Any, ...]:
        """The same file, read anew where it arrives."""
        return partial(TextJournal, self.path, frozen=self.frozen), ()

    def get(self, key: PromptKey) -> str | None:
        """The text of that key; None where nobody has written it."""
        with self._lock:
            if key not in self._offsets:
                self._read_on()
            offset = self._offsets.get(key)
            if offset is None:
                return None
            self.reused += offset < self._before
            with self.path.open("rb") as file:
                file.seek(offset)
                return str(json.loads(file.readline())["text"])

    def add(self, key: PromptKey, text: str) -> None:
        """Write a text; it has reached the disk when this returns."""
        if self.frozen:
            return
        line = json.dumps({**key._asdict(), "text": text}).encode() + b"\n"
        # Without a buffer: one write, at the end wherever other processes have put that.
        with self._lock, self.path.open("a+b", buffering=0) as file:
            whole = b"\n" + line if _is_torn(file) else line
            written = file.write(whole)
            os.fsync(file.fileno())
            if written < len(whole):
                raise OSError(errno.ENOSPC, "the disk is full", str(self.path))
            self._offsets[key] = file.tell() - len(line)

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


def _is_torn(file: IO[bytes]) -> bool:
    """Whether the last line was not written to its end, so that a new one must not go on in it."""
    if not file.seek(0, os.SEEK_END):
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def _key_in(line: bytes) -> PromptKey | None:
    """The key of a line; None where it holds no text."""
    try:
        entry: dict[str, Any] = json.loads(line)
        if isinstance(entry["text"], str):
            return PromptKey(str(entry["model"]), str(entry["prompt"]))
    except (ValueError, TypeError, KeyError):
        pass
    return None
