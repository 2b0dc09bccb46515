"""Vectors of neighbouring sentences in; distances, and the runs that belong together, out."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from struct import error as StructError  # noqa: N812 -- an exception
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.errors import DimensionError, ModelResponseError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PRECISION = 9
"""Digits of a distance that are kept, so that equal vectors are equally far on every machine."""
_SCALE = 100_000
"""Steps of cohesion per unit: it is summed in whole steps, and such sums are exact."""
_SHORT = 1_500_000_000
"""Price of a run under the least size, in steps: more than cohesion can bring."""
_MOST = 2_000_000_000
"""Most steps a run is credited with: 20,000 vectors that all point one way."""
_ROWS = 32
"""Vectors compared at once: more compute products that no run needs."""
_PRODUCT = 1 << 18
"""Multiplications of one product: for more, numpy's library starts threads, and they cost more
time in waiting for each other than they save."""


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
            "the embedding model returned vectors of different lengths, or what are no numbers; "
            "use one model throughout"
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


class RunScores:
    """Cohesion of every admissible run of neighbouring items; vectors arrive in windows.

    The cohesion of a run is the squared length of the sum of its vectors over their number. It is
    largest where all point one way, and cutting a run in two raises the total by exactly the
    squared distance between the parts' means, weighted by their sizes (Ward's criterion). All runs
    that end in a few dozen items are scored together from one product of matrices.

    An item is the sum of `weights` unit vectors. The longest run that ends with it starts at
    `firsts`; from `short_from` on a run that ends with it is too short.
    """

    def __init__(
        self,
        weights: NDArray[np.int64],
        firsts: NDArray[np.int64],
        short_from: NDArray[np.int64],
    ) -> None:
        count = len(weights)
        self._firsts = np.maximum.accumulate(firsts)
        self._lengths = np.arange(count) - self._firsts + 1
        self._reach = int(self._lengths.max(initial=1))
        self._short_from = short_from
        self._before = np.concatenate(([0], np.cumsum(weights)))
        self._scores = np.empty((count, self._reach), dtype=np.int32)
        self._done = 0
        self._tail: NDArray[np.float64] | None = None
        self._squares = np.zeros(self._reach + 1)

    def add(self, rows: NDArray[np.float64]) -> None:
        """The vectors of the next items; each is the sum of `weights` unit vectors."""
        for first in range(0, len(rows), _ROWS):
            self._add(rows[first : first + _ROWS])

    def _add(self, rows: NDArray[np.float64]) -> None:
        items = np.arange(self._done, self._done + len(rows))
        reach = int(self._lengths[items].max())
        if self._tail is None:
            self._tail = np.zeros((self._reach - 1, rows.shape[1]))
        known = np.vstack([self._tail, rows])
        nearby = known[self._reach - reach :]
        own = np.arange(len(rows))[:, None]
        # Of each row, the columns of the `reach` items that end with its own.
        band = _products(rows, nearby)[own, own + np.arange(reach)]
        self._store(items, self._squares_of_sums(band))
        self._tail = known[len(rows) :]
        self._done += len(rows)

    def _squares_of_sums(self, band: NDArray[np.float64]) -> NDArray[np.float64]:
        """Squared length of the sum of each run, from the products of its members.

        The last column of the band belongs to the item itself, the one before it to the item
        before. A run is the run without its last item, plus that item's product with itself and
        twice those with the others.
        """
        reach = band.shape[1]
        band[:, :-1] *= 2.0
        grown = np.ascontiguousarray(np.cumsum(band[:, ::-1], axis=1)[:, ::-1].T)
        grown[:, 0] += self._squares[self._reach - reach + 1 :]
        for column in range(reach - 2, -1, -1):
            grown[column, 1:] += grown[column + 1, :-1]
        self._squares[self._reach - reach : -1] = grown[:, -1]
        return grown.T

    def _store(self, items: NDArray[np.int64], squares: NDArray[np.float64]) -> None:
        reach = squares.shape[1]
        starts = items[:, None] - reach + 1 + np.arange(reach)
        sizes = self._before[items + 1][:, None] - self._before[np.maximum(starts, 0)]
        scores = np.minimum(np.rint(squares / sizes * _SCALE), _MOST).astype(np.int32)
        scores[starts >= self._short_from[items][:, None]] -= _SHORT
        self._scores[items[0] : items[-1] + 1, self._reach - reach :] = scores

    def best(self, price: float) -> list[tuple[int, int]]:
        """First and last item of each run of the best partition into admissible runs.

        It has the highest sum of cohesion less `price` per run; runs under the least size only
        where nothing else is admissible. Of equal ones, the one whose last runs are longer.
        """
        toll = round(price * _SCALE)
        total = np.zeros(len(self._scores) + 1, dtype=np.int64)
        opened: list[int] = []
        last_column = self._reach - 1
        for item, first in enumerate(self._firsts.tolist()):
            found = total[first : item + 1] + self._scores[item, last_column - item + first :]
            at = int(found.argmax())
            total[item + 1] = found[at] - toll
            opened.append(first + at)
        runs, last = [], len(opened) - 1
        while last >= 0:
            runs.append((opened[last], last))
            last = opened[last] - 1
        return runs[::-1]


def _products(rows: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    found = np.empty((len(rows), len(others)))
    step = max(1, _PRODUCT // max(1, rows.size))
    for first in range(0, len(others), step):
        some = slice(first, first + step)
        np.matmul(rows, others[some].T, out=found[:, some])
    return found
