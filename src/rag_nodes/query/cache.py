"""Vectors that were paid for: nobody pays for the same text again."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator, MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np
from llama_index.core.storage.kvstore.types import MutableMappingKVStore

from rag_nodes.core.code_identity import code_of
from rag_nodes.core.errors import DatasetError

if TYPE_CHECKING:
    from pathlib import Path

    from rag_nodes.models import Models

_FILE = "evaluations.sqlite"
_TABLE = "create table if not exists vectors (key blob primary key, vector blob) without rowid"
_BUSY = 30.0
"""Seconds that a run waits for another that writes to the same cache."""
Vector = dict[str, list[float]]
"""As LlamaIndex keeps them: one vector under any name."""


class VectorCache:
    """Vectors of paid models by text, so that nobody pays for a text twice.

    Models that run offline are left as they are: to make a vector is faster than to keep it.

    Args:
        folder: keeps vectors, made where it is missing; None for memory. Keys are hashes: no text
            of a document is kept.

    Raises:
        DatasetError: the folder cannot be written.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._lock = threading.Lock()
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            file = folder / _FILE if folder else ":memory:"
            self._database = sqlite3.connect(file, timeout=_BUSY, check_same_thread=False)
            if folder is not None:
                self._database.execute("pragma journal_mode = wal")
            self._database.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            raise DatasetError(
                f"the cache {folder} cannot be used ({error}); name another folder, or delete it"
            ) from error

    def __enter__(self) -> Self:
        """The cache itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file; models that were made with it embed no more."""
        self._database.close()

    def of(self, models: Models) -> Models:
        """Return the same models, of which the embedding model is asked for no text twice."""
        if models.embeds_offline:
            return models
        code = code_of(models.embedding)
        vectors: MutableMapping[str, Vector] = {}
        if not code.unhashable:  # else the vectors are kept for these models alone
            own = code.digest if code.is_own else ""
            vectors = _Vectors(self._database, self._lock, models.embedding_name + own)
        kept = MutableMappingKVStore(mapping_factory=lambda: vectors)
        embedding = models.embedding.model_copy(update={"embeddings_cache": kept})
        return replace(models, embedding=embedding)


class _Vectors(MutableMapping[str, Vector]):
    """The vectors of one model by text, for LlamaIndex's own cache of embeddings."""

    def __init__(self, database: sqlite3.Connection, lock: threading.Lock, model: str) -> None:
        self._database, self._lock, self._model = database, lock, model

    def __getitem__(self, text: str) -> Vector:
        with self._lock:
            query = "select vector from vectors where key = ?"
            row = self._database.execute(query, (self._key(text),)).fetchone()
        if row is None:
            raise KeyError(text)
        return {"vector": np.frombuffer(row[0], np.float32).tolist()}

    def __setitem__(self, text: str, value: Vector) -> None:
        (vector,) = value.values()
        written = np.asarray(vector, np.float32).tobytes()
        self._write("insert or replace into vectors values (?, ?)", self._key(text), written)

    def __delitem__(self, text: str) -> None:
        self._write("delete from vectors where key = ?", self._key(text))

    def __iter__(self) -> Iterator[str]:
        return iter(())  # texts are kept as hashes: they can be asked for, not listed

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True

    def _write(self, statement: str, *values: bytes) -> None:
        with self._lock, self._database:
            self._database.execute(statement, values)

    def _key(self, text: str) -> bytes:
        plain = f"{self._model}\0{text}"
        return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).digest()
