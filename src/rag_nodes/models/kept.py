"""Answers of LLMs that were paid for, on disk the moment they arrive: a killed run loses none."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from rag_nodes.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE = 60.0
"""Seconds to wait for another process that writes."""


class KeptAnswers:
    """Answers by model and prompt in a SQLite file: another model or prompt is another answer.

    Used by many threads at once, and by several processes of one machine, each of which finds what
    the others wrote: no file is held open, and a pickle is the path.

    Args:
        path: created where it is missing; what it holds stays.

    Raises:
        ConfigurationError: the file cannot be written, said before anything is paid for.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        with self._opened() as database:
            database.execute("begin immediate")  # which says whether it can be written

    def get(self, model: str, prompt: str) -> str | None:
        """The answer of a model to a prompt; None where there is none yet."""
        if not self.path.exists() or not self.path.stat().st_size:
            return None
        with self._opened() as database:
            query = "select text from written where model = ? and prompt = ?"
            row = database.execute(query, (model, _digest(prompt))).fetchone()
        return bytes(row[0]).decode("utf-8", "surrogatepass") if row else None

    def add(self, model: str, prompt: str, answer: str) -> None:
        """Write an answer; it has reached the disk when this returns."""
        with self._opened() as database, database:
            columns = "model text, prompt text, text blob, primary key (model, prompt)"
            database.execute(f"create table if not exists written ({columns})")
            row = (model, _digest(prompt), answer.encode("utf-8", "surrogatepass"))
            database.execute("insert or replace into written values (?, ?, ?)", row)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=_PATIENCE)) as database:
                yield database
        except sqlite3.Error as error:
            raise ConfigurationError(
                f"{self.path}: cannot save the answers of the LLM here ({error}); write the "
                f"output to another folder, or delete the damaged file"
            ) from error


def _digest(prompt: str) -> str:
    return blake2b(prompt.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
