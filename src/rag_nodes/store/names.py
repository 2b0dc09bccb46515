"""Names of collections: readable for people, unique for what decides a collection's content."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Protocol

_UNSAFE = re.compile(r"[^\w-]+", re.ASCII)
_NAME = re.compile(r"(?P<corpus>[\w-]+)\.(?P<parser>[\w-]+)\.(?P<embedding>[\w-]+)\.[0-9a-f]{12}")
_LONGEST_PART = 40
"""Characters a readable part may take: a collection is a folder on disk, and names are limited."""


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection of this package.

    Attributes:
        name: as Qdrant knows it.
        corpus: readable form of the corpus name.
        parser: readable form of the parser name.
        embedding: readable form of the embedding model's name.
        points: chunks in it.
    """

    name: str
    corpus: str
    parser: str
    embedding: str
    points: int


def collection_name(
    corpus: str, parser_fingerprint: str, parser_name: str, embedding_name: str
) -> str:
    """The collection for the chunks of one parser configuration, embedded by one model.

    Everything that changes the stored content is in the name, so comparison never mixes and
    another model's dimension never meets a collection it does not fit (design §7).

    Args:
        corpus: name of the document set.
        parser_fingerprint: changes whenever the parser's output does.
        parser_name: for people reading the list of collections.
        embedding_name: the embedding model, provider included.

    Returns:
        `corpus.parser.embedding.hash`, safe as a file name and in a URL.
    """
    identity = json.dumps([corpus, parser_fingerprint, parser_name, embedding_name])
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    readable = (_readable(part) for part in (corpus, parser_name, embedding_name))
    return ".".join((*readable, digest))


class Fingerprinted(Protocol):
    """What a parser has to say about itself to get a collection."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the parser's output does."""
        ...

    @classmethod
    def class_name(cls) -> str:
        """Name of the parser class."""
        ...


def parser_collection(corpus: str, parser: Fingerprinted, embedding_name: str) -> str:
    """The collection of a parser: `collection_name` with what the parser says about itself."""
    return collection_name(corpus, parser.fingerprint, parser.class_name(), embedding_name)


def described(name: str, points: int) -> CollectionInfo | None:
    """What a collection's name says; None when the name is not one of ours."""
    match = _NAME.fullmatch(name)
    return CollectionInfo(name=name, points=points, **match.groupdict()) if match else None


def _readable(part: str) -> str:
    return _UNSAFE.sub("-", part)[:_LONGEST_PART].strip("-") or "x"
