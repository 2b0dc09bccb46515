"""Texts that were paid for, on disk the moment they arrive: a killed run loses none."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

WRITTEN_FILE = "written.sqlite"
"""Name of the journal of an ingest, in the folder of its store."""
_PATIENCE = 60.0
"""Seconds to wait for another process that writes."""


class PromptKey(NamedTuple):
    """Who was asked what, by a hash of it: any other model or prompt is another text.

    A document that was renamed, and a chunk that was cut by another parser, are asked about in the
    same words where they read the same.
    """

    model: str
    prompt: str

    @classmethod
    def of(cls, model: str, prompt: str) -> Self:
        """The key of a prompt as the model reads it."""
        digest = blake2b(prompt.encode("utf-8", "surrogatepass"), digest_size=16)
        return cls(model, digest.hexdigest())


class TextJournal:
    """What models were paid to write, in a file (SQLite), each text on disk before the next.

    Used by many threads at once, and by several processes of one machine, each of which finds what
    the others wrote: no file is held open, and a pickle is the path.

    Args:
        path: created where it is missing; what it holds stays.
        frozen: leave the file as it is; what is added is not kept.

    Attributes:
        reused: how often `get` has found what was there before.

    Raises:
        ConfigurationError: the file cannot be written, said before anything is paid for.
    """

    def __init__(self, path: str | Path, *, frozen: bool = False) -> None:
        self.path = Path(path).absolute()
        self.frozen = frozen
        self.reused = self._before = 0
        if not frozen:
            with self._opened() as database:
                database.execute("begin immediate")  # which says whether it can be written
        if not self._is_empty():
            with self._opened() as database:
                ((last,),) = database.execute("select max(rowid) from written")
            self._before = last or 0

    def __reduce__(self) -> tuple[Any, ...]:
        """The same file, looked at anew where it arrives."""
        return partial(TextJournal, self.path, frozen=self.frozen), ()

    def get(self, key: PromptKey) -> str | None:
        """The text of that key; None where nobody has written it."""
        if self._is_empty():
            return None
        with self._opened() as database:
            query = "select rowid, text from written where model = ? and prompt = ?"
            found = database.execute(query, key).fetchone()
        if found is None:
            return None
        self.reused += found[0] <= self._before
        return bytes(found[1]).decode("utf-8", "surrogatepass")

    def add(self, key: PromptKey, text: str) -> None:
        """Write a text; it has reached the disk when this returns."""
        if self.frozen:
            return
        with self._opened() as database, database:
            columns = "model text, prompt text, text blob, primary key (model, prompt)"
            database.execute(f"create table if not exists written ({columns})")
            row = (*key, text.encode("utf-8", "surrogatepass"))
            database.execute("insert or replace into written values (?, ?, ?)", row)

    def _is_empty(self) -> bool:
        """Whether nothing was ever added."""
        return not self.path.exists() or not self.path.stat().st_size

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=_PATIENCE)) as database:
                yield database
        except sqlite3.Error as error:
            raise ConfigurationError(
                f"{self.path}: texts cannot be kept here ({error}); write the output to another "
                "folder, or delete a file that is damaged"
            ) from error
