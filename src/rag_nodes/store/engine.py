"""Connections to Qdrant: embedded ones made safe for threads and async, remote ones as they are.

Embedded Qdrant is not thread-safe, not even for reading while another thread writes, and one
folder can be opened only once. So there is one client per folder in this process, one lock around
every call, and async calls run on a thread under that same lock.
"""

from __future__ import annotations

import json
import logging
import threading
import warnings
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rag_nodes.errors import (
    ConfigurationError,
    CredentialsError,
    MissingExtraError,
    StoreError,
    StoreLockedError,
)
from rag_nodes.store.faults import damaged, shown, translated, was_refused
from rag_nodes.store.filters import INDEXES
from rag_nodes.store.local_index import LocalIndex
from rag_nodes.store.locking import AsyncBridge, LockedClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

logger = logging.getLogger(__name__)

MEMORY = ":memory:"
"""Location of a store that ends with the process."""
PROBE_SECONDS = 5
"""How long opening a server waits for a sign of life."""
REQUEST_SECONDS = 60
"""How long a single request to a server may take."""
MANY_POINTS = 20_000
"""Points of an embedded collection from which a server is the better choice."""


@dataclass(slots=True)
class Engine:
    """An open connection.

    Attributes:
        location: ":memory:", the resolved folder, or the URL without credentials.
        client: sync client, already locked where that is needed.
        aclient: async client or adapter.
        embedded: True for memory and folder.
        guard: hold it to make several calls one step; does nothing for servers.
        users: open stores that share the connection.
        noted: collections whose size was warned about.
        indexes: what `index` has read, with the number of writes before that.
        filterable: collections of a server that are known to have the indexes that filters need.
        without_words: collections of which it was said that they have no BM25 vectors.
    """

    location: str
    client: Any
    aclient: Any
    embedded: bool
    guard: AbstractContextManager[Any] = field(default_factory=nullcontext)
    users: int = 1
    noted: set[str] = field(default_factory=set)
    indexes: dict[str, tuple[int, LocalIndex]] = field(default_factory=dict)
    filterable: set[str] = field(default_factory=set)
    without_words: set[str] = field(default_factory=set)

    @contextmanager
    def calls(self, collection: str = "") -> Iterator[None]:
        """One step of one or more calls, undisturbed where embedded, errors translated.

        Raises:
            StoreError: see `rag_nodes.store.faults.translated`.
        """
        with self.guard, translated(self.location, collection):
            yield

    def note_size(self, collection: str) -> None:
        """Say once per collection that embedded Qdrant has outgrown itself."""
        if not self.embedded or collection in self.noted:
            return
        points = int(self.client.count(collection, exact=True).count)
        if points > MANY_POINTS:
            self.noted.add(collection)
            logger.warning(
                "%s: collection %s holds %d chunks; searching gets slow, a Qdrant server would "
                "be faster",
                self.location,
                collection,
                points,
            )

    def index(self, collection: str, dense: str, sparse: str | None) -> LocalIndex:
        """The vectors of an embedded collection as arrays, read again after anything was written.

        Hold `calls` around it.
        """
        writes = self.client.writes
        known = self.indexes.get(collection)
        if known is None or known[0] != writes:
            known = writes, LocalIndex.read(self.client, collection, dense, sparse)
            self.indexes[collection] = known
        return known[1]

    def make_filterable(self, collection: str) -> None:
        """Have a server index what filters ask for; asked once per collection and connection.

        Collections made by an earlier release lack some. A key that may only read cannot add
        them, and the server decides by itself whether it filters without. Embedded Qdrant has no
        such indexes. Hold `calls` around it.
        """
        if self.embedded or collection in self.filterable:
            return
        present = self.client.get_collection(collection).payload_schema
        try:
            for key, kind in INDEXES.items():
                if key not in present:
                    self.client.create_payload_index(collection, key, field_schema=kind)
        except Exception as error:
            if not was_refused(error):
                raise
            logger.warning(
                "%s: collection %s lacks indexes for filters, and this key may not add them; "
                "ingest once with a key that may write",
                self.location,
                collection,
            )
        self.filterable.add(collection)

    def tune(self, collection: str) -> None:
        """Make writing to a folder fast: one disk flush per checkpoint instead of one per point.

        Write-ahead logging keeps every committed point when the process is killed; only a power
        cut can lose the last ones, and running the ingest again restores them.
        """
        if not self.embedded or self.location == MEMORY:
            return
        local = getattr(self.client.unlocked, "_client", None)
        stored = getattr(local, "collections", {}).get(collection)
        connection = getattr(getattr(stored, "storage", None), "storage", None)
        if connection is not None:
            with self.guard:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")


_folders: dict[Path, Engine] = {}
_folders_lock = threading.Lock()


def connect(location: str | Path, api_key: str | None = None) -> Engine:
    """Open a connection, or share the one this process already has to the same folder.

    Raises:
        ConfigurationError: the location is empty.
        MissingExtraError: Qdrant's client is not installed.
        StoreLockedError: another process holds the folder.
        StoreDamagedError: the folder's content cannot be read.
        StoreUnreachableError: the server did not answer within `PROBE_SECONDS`.
        StoreError: the folder cannot be created, or the server refused the key.
    """
    _require_qdrant()
    place = str(location)
    if not place.strip():
        raise ConfigurationError(
            f"no storage location given; use {MEMORY!r}, a folder or a Qdrant URL"
        )
    if urlsplit(place).scheme in {"http", "https"}:
        return _connect_server(place, api_key)
    # `Engine.note_size` says it once, in words that name the collection.
    warnings.filterwarnings("ignore", message="Local mode is not recommended", category=UserWarning)
    if place == MEMORY:
        return _embedded(MEMORY)
    return _connect_folder(Path(place).expanduser().resolve())


def disconnect(engine: Engine) -> None:
    """Give a connection back; the last user of a folder closes it."""
    with _folders_lock:
        engine.users -= 1
        if engine.users > 0:
            return
        _folders.pop(Path(engine.location), None)
        with engine.guard:
            engine.client.close()


def _require_qdrant() -> None:
    for module in ("qdrant_client", "llama_index.vector_stores.qdrant"):
        try:
            found = find_spec(module) is not None
        except ModuleNotFoundError:
            found = False
        if not found:
            raise MissingExtraError(module, "qdrant")


def _connect_server(url: str, api_key: str | None) -> Engine:
    from qdrant_client import AsyncQdrantClient, QdrantClient

    if api_key is not None and not api_key.isascii():
        raise CredentialsError("the Qdrant key holds characters no key has; copy it again")
    options: dict[str, Any] = {"url": url, "api_key": api_key, "check_compatibility": False}
    with translated(url):
        probe = QdrantClient(**options, timeout=PROBE_SECONDS)
        try:
            probe.get_collections()
        finally:
            probe.close()
        return Engine(
            location=shown(url),
            client=QdrantClient(**options, timeout=REQUEST_SECONDS),
            aclient=AsyncQdrantClient(**options, timeout=REQUEST_SECONDS),
            embedded=False,
        )


def _connect_folder(folder: Path) -> Engine:
    with _folders_lock:
        shared = _folders.get(folder)
        if shared is not None:
            shared.users += 1
            return shared
        _check_folder(folder)
        try:
            _check_whole(folder)
            engine = _embedded(str(folder))
        except RuntimeError as error:
            if "already accessed" in str(error):
                raise _locked(folder) from error
            raise damaged(str(folder), error) from error
        except Exception as error:
            # Qdrant reads JSON, SQLite and pickles here: a damaged file can raise anything.
            raise damaged(str(folder), error) from error
        _folders[folder] = engine
    for collection in engine.client.get_collections().collections:
        engine.tune(collection.name)
    return engine


def _embedded(location: str) -> Engine:
    from qdrant_client import QdrantClient

    lock = threading.RLock()
    where: dict[str, Any] = {"location": MEMORY} if location == MEMORY else {"path": location}
    # SQLite's own thread check is off because the lock does its work.
    client = LockedClient(QdrantClient(**where, force_disable_check_same_thread=True), lock)
    return Engine(
        location=location, client=client, aclient=AsyncBridge(client), embedded=True, guard=lock
    )


def _check_folder(folder: Path) -> None:
    """Find out about permissions and other processes before Qdrant loads the whole folder."""
    import portalocker

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".lock").open("a+") as handle:
            portalocker.lock(
                handle, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING
            )
            portalocker.unlock(handle)
    except portalocker.LockException as error:
        raise _locked(folder) from error
    except OSError as error:
        raise StoreError(
            f"{folder}: cannot be used as a storage folder ({error.strerror or error}); choose a "
            "folder you may write to"
        ) from error


def _check_whole(folder: Path) -> None:
    """Find lost files: embedded Qdrant would make empty ones in their place, without a word."""
    collections = folder / "collection"
    meta = folder / "meta.json"
    if meta.exists():
        named = json.loads(meta.read_bytes())["collections"]
        lost = [collections / name / "storage.sqlite" for name in named]
    else:
        lost = [meta] if any(collections.glob("*/storage.sqlite")) else []
    for file in lost:
        if not file.exists():
            raise FileNotFoundError(f"{file.relative_to(folder)} is lost")


def _locked(folder: Path) -> StoreLockedError:
    return StoreLockedError(
        f"{folder}: another process uses this storage folder; end that process, choose another "
        "folder, or run a Qdrant server and give its URL"
    )
