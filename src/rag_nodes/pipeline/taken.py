"""The documents that a column has taken, so that one that comes again is not done again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.hashed import HashedKeys
from rag_nodes.pipeline.deposit import Deposit

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLOCK = 1_000
"""Documents after which those are looked at that may be stored whole."""


class TakenDocuments:
    """What became of each document: of one that is stored whole, as much as its row says.

    Memory thus holds the documents that are under way, and some 60 bytes of each other.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], Deposit] = {}
        self._whole = HashedKeys()
        self._versions = HashedKeys()
        self._full = _BLOCK

    def get(self, label: str, document_id: str, source_hash: str) -> Deposit | None:
        """The deposit of a document; None where it is new, or another version came since.

        Args:
            label: the document, for messages.
            document_id: of the document.
            source_hash: of its version.
        """
        if self._versions.get(document_id) != _number_of(source_hash):
            return None
        key = document_id, source_hash
        if key in self._open:
            return self._open[key]
        packed = self._whole.get(key)
        if packed is None:
            return None
        deposit = Deposit(label, document_id, source_hash)
        deposit.expect(packed >> 1, begun=bool(packed & 1))
        return deposit

    def has(self, document_id: str) -> bool:
        """Whether any version of a document was taken."""
        return self._versions.get(document_id) is not None

    def add(self, deposit: Deposit) -> None:
        """Remember a document that is new."""
        self._versions.put(deposit.document_id, _number_of(deposit.source_hash))
        self._keep((deposit.document_id, deposit.source_hash), deposit)
        if len(self._open) >= self._full:
            waiting, self._open = self._open, {}
            for key, one in waiting.items():
                self._keep(key, one)
            self._full = len(self._open) + _BLOCK

    def _keep(self, key: tuple[str, str], deposit: Deposit) -> None:
        if deposit.is_whole:
            self._whole.put(key, deposit.chunks << 1 | deposit.is_touched)
        else:
            self._open[key] = deposit

    def unfinished(self) -> Iterable[Deposit]:
        """Those that may not be stored whole."""
        return self._open.values()


def _number_of(source_hash: str) -> int:
    """What tells versions of a document apart, in 32 bits."""
    return hash(source_hash) & 0xFFFFFFFF
