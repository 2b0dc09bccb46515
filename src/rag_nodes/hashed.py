"""What is remembered of very many keys: 30 bytes of each, where a dict takes several hundred."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

_FIRST = 1 << 10
"""Places for keys at the beginning; a power of two, as it always is."""


class HashedKeys:
    """A small number for each key, which is known by the 64 bits of its hash alone.

    Two of a million different keys are taken for one in one of 37 million processes, as Python's
    hashes of texts differ from process to process. Used by one thread at a time.
    """

    def __init__(self) -> None:
        self._hashes = array("q", bytes(8 * _FIRST))
        self._numbers = array("I", bytes(array("I").itemsize * _FIRST))
        self._free = _FIRST * 2 // 3

    def get(self, key: Hashable) -> int | None:
        """The number of a key; None for one that was not put."""
        place = self._place(hash(key) or 1)
        return self._numbers[place] if self._hashes[place] else None

    def put(self, key: Hashable, number: int = 0) -> bool:
        """Keep the number of a key; whether it is a new one."""
        hashed = hash(key) or 1  # 0 is a place that is free
        place = self._place(hashed)
        is_new = not self._hashes[place]
        self._hashes[place], self._numbers[place] = hashed, number
        if is_new:
            self._free -= 1
            if not self._free:
                self._grow()
        return is_new

    def _place(self, hashed: int) -> int:
        """Where a hash is, or where it would be."""
        hashes, last = self._hashes, len(self._hashes) - 1
        place = hashed & last
        while hashes[place] and hashes[place] != hashed:
            place = (place + 1) & last
        return place

    def _grow(self) -> None:
        hashes, numbers = self._hashes, self._numbers
        self._free = 2 * len(hashes) * 2 // 3 - len(hashes) * 2 // 3
        self._hashes = array("q", bytes(16 * len(hashes)))
        self._numbers = array("I", bytes(2 * numbers.itemsize * len(numbers)))
        for hashed, number in zip(hashes, numbers, strict=True):
            if hashed:
                place = self._place(hashed)
                self._hashes[place], self._numbers[place] = hashed, number
