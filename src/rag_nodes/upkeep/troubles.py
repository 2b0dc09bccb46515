"""What a doctor finds wrong with a store, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

FindingKind = Literal[
    "disk",
    "folder",
    "foreign",
    "indexes",
    "ledger",
    "locked",
    "old-folder",
    "torn",
    "unreachable",
    "unreadable",
]
"""What it is about: free space, permissions of the folder, what is none of ours, payload indexes of
a server, the ledger, a folder that another process holds, folders of earlier releases, documents of
which not all is there, a server that does not answer, data that cannot be read."""


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
