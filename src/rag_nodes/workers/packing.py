"""Points side by side: ids, payloads as JSON, vectors as one matrix, words as three columns.

What a store gets of them is what it would get of the nodes: vectors and weights of words have the
precision of Qdrant, which keeps 32 bits.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rag_nodes.errors import ConfigurationError, EngineError
from rag_nodes.store.points import Point

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

_NO_VECTOR = -1


@dataclass(frozen=True, slots=True, eq=False)
class PackedPoints:
    """Points of one collection, to be stored.

    Attributes:
        collection: where they go.
        node_ids: of each.
        documents: id of the document of each.
        payloads: their payloads, as a JSON array in UTF-8.
        vectors: a row of 32-bit floats for each that is ranked; parents have none.
        words: how many different words each has; -1 for one without a vector.
        indices: numbers of the words of all, 32 bits.
        weights: and their BM25 weights, 32-bit floats.
        further: of each further embedding the places of the points that have it, and its rows.
    """

    collection: str
    node_ids: tuple[str, ...]
    documents: tuple[str, ...]
    payloads: bytes
    vectors: NDArray[np.float32]
    words: NDArray[np.int32]
    indices: NDArray[np.uint32]
    weights: NDArray[np.float32]
    further: Mapping[str, tuple[list[int], NDArray[np.float32]]]

    @classmethod
    def of(cls, collection: str, points: Sequence[Point], documents: Sequence[str]) -> Self:
        """Points as `rag_nodes.store.payload.points_of` makes them.

        Raises:
            ConfigurationError: a payload holds what JSON cannot.
        """
        ranked = [point for point in points if point.vector is not None]
        counts = [_NO_VECTOR if one.vector is None else len(one.words[0]) for one in points]
        return cls(
            collection=collection,
            node_ids=tuple(point.node_id for point in points),
            documents=tuple(documents),
            payloads=_json([point.payload for point in points], collection),
            vectors=np.array([one.vector for one in ranked], dtype=np.float32),
            words=np.array(counts, dtype=np.int32),
            indices=np.array([i for one in ranked for i in one.words[0]], dtype=np.uint32),
            weights=np.array([w for one in ranked for w in one.words[1]], dtype=np.float32),
            further=_further(points),
        )

    def points(self) -> list[Point]:
        """The points again.

        Raises:
            EngineError: the parts do not fit each other.
        """
        try:
            return self._points()
        except (ValueError, TypeError, IndexError, StopIteration) as error:
            raise EngineError(
                f"collection {self.collection!r}: what a worker sent is torn ({error}); run the "
                "ingest again"
            ) from error

    def _points(self) -> list[Point]:
        payloads = json.loads(str(self.payloads, "utf-8", "surrogatepass"))
        indices, weights = self.indices.tolist(), self.weights.tolist()
        rows = _rows(self.vectors)
        found, first = [], 0
        for node_id, payload, count in zip(
            self.node_ids, payloads, self.words.tolist(), strict=True
        ):
            if count == _NO_VECTOR:
                found.append(Point(node_id, payload))
                continue
            last = first + count
            words = indices[first:last], weights[first:last]
            found.append(Point(node_id, payload, next(rows), words))
            first = last
        for name, (places, matrix) in self.further.items():
            for place, row in zip(places, _rows(matrix), strict=True):
                named = {**found[place].named, name: row}
                found[place] = found[place]._replace(named=named)
        return found

    def chunks_by_document(self) -> Counter[str]:
        """How many of the points are ranked, by the id of their document."""
        pairs = zip(self.documents, self.words.tolist(), strict=True)
        return Counter(document for document, count in pairs if count != _NO_VECTOR)

    def header(self) -> dict[str, Any]:
        """What is no array, as what JSON can hold."""
        return {
            "collection": self.collection,
            "node_ids": self.node_ids,
            "documents": self.documents,
            "shape": self.vectors.shape,
            "further": {name: places for name, (places, _) in self.further.items()},
        }

    def parts(self) -> tuple[bytes, ...]:
        """What is."""
        further = (matrix for _, matrix in self.further.values())
        arrays = (self.vectors, self.words, self.indices, self.weights, *further)
        return self.payloads, *(array.tobytes() for array in arrays)

    @classmethod
    def of_parts(cls, header: Mapping[str, Any], parts: Sequence[memoryview]) -> Self:
        """Undo `header` and `parts`.

        Raises:
            ValueError: the parts do not fit each other.
        """
        payloads, vectors, words, indices, weights, *further = parts
        texts = [header["collection"], *header["node_ids"], *header["documents"]]
        places = [place for own in header["further"].values() for place in own]
        if not all(isinstance(one, str) for one in texts) or not all(
            isinstance(one, int) for one in places
        ):
            raise ValueError("names that are no text, or places that are no numbers")
        made = cls(
            collection=header["collection"],
            node_ids=tuple(header["node_ids"]),
            documents=tuple(header["documents"]),
            payloads=bytes(payloads),
            vectors=np.frombuffer(vectors, dtype=np.float32).reshape(header["shape"]),
            words=np.frombuffer(words, dtype=np.int32),
            indices=np.frombuffer(indices, dtype=np.uint32),
            weights=np.frombuffer(weights, dtype=np.float32),
            further={
                name: (places, np.frombuffer(part, np.float32).reshape(len(places), -1))
                for (name, places), part in zip(header["further"].items(), further, strict=True)
            },
        )
        if not made._fits():
            raise ValueError("points that are not as many as what belongs to them")
        return made

    def _fits(self) -> bool:
        """Whether there is as much of everything as there are points."""
        count = len(self.node_ids)
        ranked = self.words[self.words != _NO_VECTOR]
        places = [place for own, _ in self.further.values() for place in own]
        return (
            count == len(self.documents) == len(self.words)
            and len(ranked) == len(self.vectors)
            and bool((ranked >= 0).all())
            and ranked.sum() == len(self.indices) == len(self.weights)
            and all(0 <= place < count for place in places)
        )


def _rows(matrix: NDArray[np.float32]) -> Iterator[array[float]]:
    """The rows, as what a store takes like lists; to make those takes longer than to store them."""
    return (array("f", row.tobytes()) for row in matrix)


def _further(points: Sequence[Point]) -> dict[str, tuple[list[int], NDArray[np.float32]]]:
    names = sorted({name for point in points for name in point.named})
    places = {n: [place for place, one in enumerate(points) if n in one.named] for n in names}
    return {
        name: (own, np.array([points[place].named[name] for place in own], dtype=np.float32))
        for name, own in places.items()
    }


def _json(payloads: Sequence[Mapping[str, Any]], collection: str) -> bytes:
    try:
        return json.dumps(payloads, ensure_ascii=False).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"collection {collection!r}: metadata of a node cannot be stored ({error}); keep "
            "texts, numbers, lists and mappings with names as keys"
        ) from error
