"""`Ledger`: what is stored, from which files, written down after the store confirmed it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Self

from rag_nodes.ledger.database import FILE_NAME, ledger_path, translated
from rag_nodes.ledger.deposits import LedgerDeposits
from rag_nodes.ledger.files import LedgerFiles

if TYPE_CHECKING:
    from collections.abc import Iterator


class Ledger(LedgerFiles, LedgerDeposits):
    """A memory of what a store holds: files, documents, collections, and what is stored of each.

    The store is the truth. A row is settled only after the store confirmed what it says, and
    unsettled before the store is touched, so that a run that is killed leaves rows that say: ask
    the store. What others write shows in sums that differ from its counts, see `is_true`.

    Safe to share between threads; several processes may have the same one open.

    Args:
        path: of the file; made where there is none.
        clock: seconds since 1970.

    Raises:
        LedgerDamagedError: it is torn.
        LedgerError: it cannot be made or written to, the file is something else, or a newer release
            wrote it.
    """

    @classmethod
    def of(cls, location: str, given: str | Path | None = None) -> Ledger | None:
        """The ledger of a store, open.

        Args:
            location: of the store.
            given: where it was asked to be; None for its usual place, see `ledger_path`.

        Returns:
            None for a store that has none.

        Raises:
            LedgerError: as the constructor.
        """
        path = ledger_path(location, given)
        return cls(path) if path else None

    @classmethod
    @contextmanager
    def scratch(cls, path: Path) -> Iterator[Self]:
        """A copy in a temporary file, so that nothing is written down in that of the store.

        In memory it would be a kilobyte for each document. Blank where there is no such file.

        Raises:
            LedgerError: as the constructor.
        """
        with (
            TemporaryDirectory(prefix="rag_nodes-") as folder,
            cls(Path(folder) / FILE_NAME) as copy,
        ):
            if path.exists():
                with cls(path) as ledger, translated(path):
                    ledger._connection.backup(copy._connection)
            yield copy
