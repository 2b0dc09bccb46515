"""Catalogue of a store: collections by name, and the nodes of each document without texts.

Names are readable for people and unique for what decides a collection's content. What is known of
the stored nodes decides what an ingest has to do.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import urlsplit, urlunsplit

from rag_nodes.core.errors import CollectionMissingError, StoreError, StoreUnreachableError
from rag_nodes.core.metadata import SOURCE_HASH, START_CHAR, TOKEN_COUNT, TOTAL_CHUNKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.store.engine import Engine, EngineCollection

_UNSAFE = re.compile(r"[^\w-]+", re.ASCII)
_NAME = re.compile(r"(?P<corpus>[\w-]+)\.(?P<parser>[\w-]+)\.(?P<embedding>[\w-]+)\.[0-9a-f]{12}")
_LONGEST_PART = 40
"""Characters a readable part may take: a collection is a folder on disk, and names are limited."""

CHILDREN = "_children"
"""Payload key of a parent: number of its children. A parent is read, but never ranked."""
PARENT = "_parent"
"""Payload key of a child: id of its parent."""
BOOKKEEPING = (SOURCE_HASH, TOTAL_CHUNKS, TOKEN_COUNT, START_CHAR, CHILDREN, PARENT)
"""Payload keys that make up a `StoredNode`."""


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection of this package: corpus, parser and embedding model in readable form.

    `points` are the chunks in it; 0 while it cannot be opened, and `trouble` says why, and what to
    do about it.
    """

    name: str
    corpus: str
    parser: str
    embedding: str
    points: int
    trouble: str = ""


def collection_name(
    corpus: str, parser_fingerprint: str, parser_name: str, embedding_name: str
) -> str:
    """The collection for the chunks of one parser configuration, embedded by one model.

    Everything that changes the stored content is in the name, so comparison never mixes and
    another model's dimension never meets a collection it does not fit. It reads
    `corpus.parser.embedding.hash`, and is safe as a file name and in a URL.
    """
    identity = json.dumps([corpus, parser_fingerprint, parser_name, embedding_name])
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    readable = (_readable(part) for part in (corpus, parser_name, embedding_name))
    return ".".join((*readable, digest))


def parser_collection(corpus: str, parser: SpanNodeParser, embedding_name: str) -> str:
    """The collection of a parser: `collection_name` with what the parser says about itself."""
    return collection_name(corpus, parser.fingerprint, parser.class_name(), embedding_name)


def described(name: str, points: int) -> CollectionInfo | None:
    """Return the facts in a collection's name; None if the name is not ours."""
    match = _NAME.fullmatch(name)
    return CollectionInfo(name=name, points=points, **match.groupdict()) if match else None


def is_of(info: CollectionInfo, corpus: str) -> bool:
    """Return True if a collection belongs to a corpus, by its name.

    Names of corpora that differ in nothing but punctuation look the same there.
    """
    return info.corpus == _readable(corpus)


def is_embedded_by(info: CollectionInfo, embedding_name: str) -> bool:
    """Return True if a model embedded a collection, by its name."""
    return info.embedding == _readable(embedding_name)


def _readable(part: str) -> str:
    return _UNSAFE.sub("-", part)[:_LONGEST_PART].strip("-") or "x"


class StoredNode(NamedTuple):
    """The bookkeeping of one stored node; 0 and "" for what is unknown or not there.

    Hash of the document text it was split from, chunks of its document on its level at that time,
    tokens of its text, id of its parent; a parent has no vectors, and what `is_placed` knows where
    in its document it is.
    """

    source_hash: str
    total_chunks: int
    tokens: int
    is_parent: bool = False
    parent: str = ""
    is_placed: bool = True

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> Self:
        """Return the facts in a payload: a node's metadata and `rag_nodes.store.payload.family`."""
        return cls(
            source_hash=str(payload.get(SOURCE_HASH) or ""),
            total_chunks=_whole(payload.get(TOTAL_CHUNKS)),
            tokens=_whole(payload.get(TOKEN_COUNT)),
            is_parent=CHILDREN in payload,
            parent=str(payload.get(PARENT) or ""),
            is_placed=payload.get(START_CHAR) is not None,
        )


def lack_of(stored: Mapping[str, StoredNode]) -> str:
    """In words what is not whole about the stored nodes of a document; "" where nothing is."""
    if len(versions := {node.source_hash for node in stored.values()}) > 1:
        return f"chunks of {len(versions)} versions of it are mixed"
    parents = {node_id for node_id, node in stored.items() if node.is_parent}
    named = {node.parent for node in stored.values() if node.parent}
    if lost := named - stored.keys():
        return f"{len(lost)} parents are missing, and their children are there"
    if childless := parents - named:
        return f"{len(childless)} parents have none of their children"
    levels = Counter(node.is_parent for node in stored.values())
    if any(node.total_chunks != levels[node.is_parent] for node in stored.values()):
        totals = (node.total_chunks for node in stored.values() if not node.is_parent)
        wanted = max(totals, default=0)  # of what others wrote there may be parents alone
        return f"{levels[False]} of {wanted} chunks are there"
    return ""


def is_complete(stored: Mapping[str, StoredNode], source_hash: str) -> bool:
    """Return True if exactly the chunks of this text are stored for the document."""
    is_of_it = any(node.source_hash == source_hash for node in stored.values())
    return is_of_it and not lack_of(stored)


def missing(location: str, collection: str) -> CollectionMissingError:
    """The error for a collection that nothing was ingested into."""
    return CollectionMissingError(
        f"{shown(location)} has no collection '{collection}': ingest documents first, with the "
        "same parser, corpus and embedding model; after an update that changes how a parser "
        "splits, ingest again"
    )


def shown(location: str) -> str:
    """`location` as messages may show it: a URL without user name and password."""
    parts = urlsplit(location)
    if "@" not in parts.netloc:
        return location
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _whole(value: object) -> int:
    """A number as we write it, 0 for anything else: others may write to the collection too."""
    return value if isinstance(value, int) else 0


class Catalogue:
    """The collections of an engine: listed, marked and dropped."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._closed = False
        self._told: set[str] = set()

    @property
    def location(self) -> str:
        """Return its location: ":memory:", the resolved folder, or the URL without credentials."""
        return self.engine.location

    def close(self) -> None:
        """Give back what it holds; a folder stays open while another store of this process is."""
        if not self._closed:
            self._closed = True
            self.engine.close()

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        """Return its location, never a key."""
        return f"{type(self).__name__}({self.location!r})"

    def drop(self, collection: str) -> None:
        """Delete a collection with everything in it.

        Raises:
            CollectionMissingError: it does not exist.
        """
        with self.engine.step(collection):
            if collection not in self.engine.names():
                raise missing(self.location, collection)
            self.engine.drop(collection)

    def marks(self, collection: str) -> dict[str, str]:
        """Return the epoch of each ledger that knows the collection's state; see `mark`.

        A ledger is believed only while these are the marks that it left. Empty while the collection
        does not exist.
        """
        with self._step(collection) as handle:
            return handle.marks() if handle else {}

    def mark(self, collection: str, marks: Mapping[str, str | None]) -> bool:
        """Add marks to those of a collection; None removes one.

        Args:
            collection: its name.
            marks: by writer, a new epoch for each state that it gives the collection.

        Returns:
            False while the collection does not exist, so that nothing was kept.
        """
        with self._step(collection) as handle:
            if handle:
                handle.mark(marks)
            return handle is not None

    def resolved(self, name: str) -> str:
        """Return the collection that a name means: on a server, the name may be an alias."""
        with self.engine.step(name):
            return self.engine.resolved(name)

    def collections(self) -> list[CollectionInfo]:
        """Every collection of this package in the store, by name; see `foreign` for the others."""
        with self.engine.step():
            infos = (described(name, 0) for name in sorted(self.engine.names()))
            return [self._counted(info) for info in infos if info]

    def foreign(self) -> list[str]:
        """Names of the collections that other programs made."""
        with self.engine.step():
            return sorted(name for name in self.engine.names() if described(name, 0) is None)

    def _counted(self, info: CollectionInfo) -> CollectionInfo:
        """The same with its chunks; one that cannot be opened must not hide the others."""
        try:
            # The step of this collection alone: the error then names it.
            with self.engine.step(info.name):
                handle = self.engine.collection(info.name, remembered=True)
                return replace(info, points=handle.count() if handle else 0)
        except StoreUnreachableError:
            raise
        except StoreError as error:
            return replace(info, trouble=str(error))

    def _there(self, collection: str, *, remembered: bool = True) -> EngineCollection:
        """A collection that has to exist."""
        handle = self.engine.collection(collection, remembered=remembered)
        if handle is None:
            raise missing(self.location, collection)
        return handle

    @contextmanager
    def _step(self, collection: str) -> Iterator[EngineCollection | None]:
        """A step with a collection; None while it does not exist."""
        with self.engine.step(collection):
            yield self.engine.collection(collection)
