"""Vectors of neighbouring sentences in, the distances between them out."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from struct import error as StructError  # noqa: N812 -- an exception
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.core.errors import DimensionError, ModelResponseError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PRECISION = 9
"""Digits of a distance that are kept, so that equal vectors are equally far on every machine."""


def unit_rows(vectors: Sequence[Sequence[float]], expected: int) -> NDArray[np.float64]:
    """Vectors that a model gave for `expected` texts, as rows of length 1; zeros stay zeros.

    Raises:
        DimensionError: vectors of different lengths, or what are no vectors of numbers.
        ModelResponseError: numbers that are not finite, or not one vector per text.
    """
    if len(vectors) != expected:
        raise ModelResponseError(
            f"the embedding model returned {len(vectors)} vectors for {expected} texts; "
            "check the model's server"
        )
    matrix = _matrix(vectors)
    if not np.isfinite(matrix).all():
        raise ModelResponseError(
            "the embedding model returned numbers that are not finite; check the model"
        )
    return _normalised(matrix)


def _matrix(vectors: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Vectors as rows, in half the time that numpy takes for lists of floats."""
    try:
        pack = Struct(f"{len(vectors[0])}d").pack
        packed = b"".join([pack(*vector) for vector in vectors])
    except (StructError, TypeError) as error:  # such as None in place of a vector
        raise DimensionError(
            "the embedding model returned vectors of different lengths, or values that are not "
            "numbers; use one model throughout"
        ) from error
    return np.frombuffer(packed).reshape(len(vectors), -1)


def _normalised(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))[:, None]
    unit: NDArray[np.float64] = np.divide(
        matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0
    )
    return unit


class Distances:
    """Cosine distances over the gaps between neighbouring vectors, which arrive in windows.

    With a buffer, each vector is replaced by the sum of its neighbourhood first: `buffer` vectors
    on either side, fewer at the ends. Only that neighbourhood is remembered between windows.
    """

    def __init__(self, buffer: int = 0) -> None:
        self._buffer = buffer
        self._found: list[NDArray[np.float64]] = []
        self._tail: NDArray[np.float64] | None = None
        self._last: NDArray[np.float64] | None = None

    def add(self, rows: NDArray[np.float64]) -> None:
        """The next window of unit vectors.

        Raises:
            DimensionError: they are not as long as those of the windows before.
        """
        if self._tail is None:
            self._tail = np.zeros((self._buffer, rows.shape[1]))
        if self._tail.shape[1] != rows.shape[1]:
            raise DimensionError(
                "the embedding model returned vectors of different lengths; "
                "use one model throughout"
            )
        if not self._buffer:
            self._compare(rows)
            return
        rows = np.vstack([self._tail, rows])
        self._tail = rows[-2 * self._buffer :].copy()
        centres = len(rows) - 2 * self._buffer
        if centres > 0:
            summed = rows[:centres].copy()
            for shift in range(1, 2 * self._buffer + 1):
                summed += rows[shift : shift + centres]
            self._compare(_normalised(summed))

    def finish(self) -> NDArray[np.float64]:
        """All distances, one per gap, 0 to 2; call it once, after the last window."""
        if self._tail is not None and self._buffer:
            self.add(np.zeros((self._buffer, self._tail.shape[1])))
        return np.concatenate(self._found) if self._found else np.zeros(0)

    def _compare(self, rows: NDArray[np.float64]) -> None:
        if self._last is not None:
            rows = np.vstack([self._last, rows])
        similarity = np.einsum("ij,ij->i", rows[:-1], rows[1:])
        self._found.append(np.round(np.maximum(0.0, 1.0 - similarity), _PRECISION))
        self._last = rows[-1].copy()
