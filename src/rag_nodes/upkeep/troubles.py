"""What a doctor finds wrong with a store, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rag_nodes.errors import (
    StoreDamagedError,
    StoreFullError,
    StoreLockedError,
    StoreUnreachableError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

FindingKind = Literal[
    "disk",
    "failed",
    "folder",
    "foreign",
    "indexes",
    "ledger",
    "locked",
    "torn",
    "unreachable",
    "unreadable",
]
"""What it is about: free space, what an ingest could not read or store, permissions of the folder,
what is none of ours, payload indexes of a server, the ledger, a folder that another process holds,
documents of which not all is there, a server that does not answer, data that cannot be read."""

_KINDS: tuple[tuple[type[Exception], FindingKind], ...] = (
    (StoreLockedError, "locked"),
    (StoreUnreachableError, "unreachable"),
    (StoreDamagedError, "unreadable"),
    (StoreFullError, "disk"),
)


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that was found.

    Attributes:
        kind: what it is about.
        where: the folder, collection, document or file.
        what: what is wrong with it.
        remedy: what to do.
        is_wrong: something has to be done; else it is only worth knowing.
        repair: mends it without a loss; None where a person has to decide.
        mended: it was.
    """

    kind: FindingKind
    where: str
    what: str
    remedy: str
    is_wrong: bool = True
    repair: Callable[[], None] | None = field(default=None, compare=False)
    mended: bool = False

    @classmethod
    def of(
        cls,
        error: Exception,
        where: str,
        otherwise: FindingKind,
        *,
        remedy: str = "",
        repair: Callable[[], None] | None = None,
    ) -> Trouble:
        """What an error tells: what is wrong and, behind a semicolon, what to do about it.

        Args:
            error: that was raised.
            where: at what.
            otherwise: its kind where the error has none.
            remedy: a better one than the error's.
            repair: mends it.
        """
        kinds = (kind for of, kind in _KINDS if isinstance(error, of))
        what, _, said = str(error).partition("; ")
        told = remedy or said or "see what it says"
        return cls(next(kinds, otherwise), where, what, told, repair=repair)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": self.kind,
            "where": self.where,
            "what": self.what,
            "remedy": self.remedy,
            "is_wrong": self.is_wrong,
            "can_be_repaired": self.repair is not None,
            "mended": self.mended,
        }
