"""Which vectors a collection has: ours, or those that another program wrote."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rag_nodes.errors import ConfigurationError
from rag_nodes.store.faults import missing, shown

if TYPE_CHECKING:
    from rag_nodes.store.engine import Engine

logger = logging.getLogger(__name__)

DENSE = "text-dense"
"""Name of the embedding vector in our collections, and in hybrid ones of LlamaIndex."""
SPARSE = "text-sparse-new"
"""Name of the BM25 vector in our collections."""
UNNAMED = ""
"""Name of a vector without one, which LlamaIndex's dense collections have."""


class Layout(NamedTuple):
    """What a collection can be searched by.

    Attributes:
        dense: name of the embedding vector.
        size: its length.
        sparse: name of the BM25 vector; None where there is none that we can read.
    """

    dense: str
    size: int
    sparse: str | None

    def of(self, vector: Any) -> dict[str, Any]:
        """The vectors of a point by name, however Qdrant gives them."""
        if vector is None or isinstance(vector, dict):
            return vector or {}
        return {UNNAMED: vector}

    @property
    def asked(self) -> list[str] | bool:
        """What to ask Qdrant for: all there is where the vector has no name to ask for."""
        names = [self.dense, self.sparse] if self.sparse else [self.dense]
        return self.dense == UNNAMED or names


def layout_of(engine: Engine, collection: str) -> Layout:
    """What a collection can be searched by; hold `engine.calls` around it.

    Raises:
        CollectionMissingError: there is no such collection.
        ConfigurationError: it has no one vector per chunk that is compared by cosine.
    """
    if not engine.client.collection_exists(collection):
        raise missing(engine.location, collection)
    params = engine.client.get_collection(collection).config.params
    vectors = params.vectors if isinstance(params.vectors, dict) else {UNNAMED: params.vectors}
    known = [one for one in (DENSE, UNNAMED, *vectors) if vectors.get(one) is not None]
    where = f"{shown(engine.location)}: collection {collection!r}"
    if not known or (len(vectors) > 1 and known[0] not in (DENSE, UNNAMED)):
        raise ConfigurationError(
            f"{where} has {len(vectors)} kinds of vectors ({', '.join(vectors) or 'none'}), none "
            f"of them {DENSE!r}; ingest the documents into a collection of ours"
        )
    found = vectors[known[0]]
    if found.distance != "Cosine" or found.multivector_config is not None:
        kind = "several per chunk" if found.multivector_config else f"by {found.distance.value}"
        raise ConfigurationError(
            f"{where} compares vectors {kind}, and rankings here go by cosine, one per chunk; "
            "ingest the documents into a collection of ours"
        )
    return Layout(known[0], int(found.size), _sparse(params.sparse_vectors))


def without_words(engine: Engine, collection: str, mode: str) -> Literal["dense"]:
    """The mode of search for a collection without BM25 vectors; said once where it is another.

    Raises:
        ConfigurationError: only words were to be searched.
    """
    where = f"{shown(engine.location)}: collection {collection!r} has no BM25 vectors of ours"
    if mode == "sparse":
        raise ConfigurationError(
            f"{where}, so it cannot be searched by words; ask with mode 'dense', or ingest the "
            "documents into a collection of ours"
        )
    if mode == "hybrid" and collection not in engine.without_words:
        engine.without_words.add(collection)
        logger.warning("%s; it is searched by meaning only, as with mode 'dense'", where)
    return "dense"


def _sparse(vectors: Any) -> str | None:
    """The BM25 vector; one that Qdrant does not weigh by document frequency is no BM25."""
    found = (vectors or {}).get(SPARSE)
    return SPARSE if found is not None and found.modifier == "idf" else None
