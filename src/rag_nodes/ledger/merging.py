"""Ledgers of shards made into the ledger of all."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from rag_nodes.errors import LedgerError
from rag_nodes.ledger.database import opened, translated
from rag_nodes.ledger.rows import ids_of_both

if TYPE_CHECKING:
    from collections.abc import Iterable

_TAKE = """
BEGIN IMMEDIATE;
DELETE FROM documents WHERE (corpus, path) IN (SELECT corpus, path FROM part.files);
INSERT OR REPLACE INTO files SELECT * FROM part.files;
INSERT OR REPLACE INTO documents SELECT * FROM part.documents ORDER BY rowid;
INSERT INTO collections SELECT * FROM part.collections WHERE true
ON CONFLICT (name) DO UPDATE SET
    dimension = coalesce(dimension, excluded.dimension),
    first_used = min(first_used, excluded.first_used),
    last_used = max(last_used, excluded.last_used);
INSERT INTO deposits SELECT * FROM part.deposits WHERE true
ON CONFLICT (collection, document_id) DO UPDATE SET
    source_hash = excluded.source_hash, chunks = excluded.chunks, parents = excluded.parents,
    tokens = excluded.tokens, largest = excluded.largest, unplaced = excluded.unplaced,
    error = excluded.error, stored_at = excluded.stored_at, failed_at = excluded.failed_at
WHERE excluded.stored_at IS NULL OR excluded.stored_at > stored_at;
UPDATE deposits SET ids = ids_of_both(deposits.ids, other.ids) FROM part.deposits AS other
WHERE deposits.collection = other.collection AND deposits.document_id = other.document_id
    AND deposits.ids <> other.ids;
INSERT OR IGNORE INTO names SELECT * FROM part.names;
INSERT OR REPLACE INTO marks SELECT * FROM part.marks;
COMMIT;
"""
"""Of a document that two parts know, as two crawls may have it, what was stored last is true; of
one that a part left unsettled only the store knows, and so it stays. What any of them lists may be
stored."""


def merge(target: str | Path, parts: Iterable[str | Path]) -> int:
    """Write what several ledgers know into a new one; they stay as they are.

    Args:
        target: file of the new ledger.
        parts: files of those of the shards; of a file that several know, the last one is right.

    Returns:
        How many files the new ledger knows.

    Raises:
        LedgerError: there is a file at the target already, or no ledger at one of the others, or it
            cannot be read to its end; then there is none at the target.
    """
    place = Path(target)
    sources = [Path(part) for part in parts]
    for one in sources:
        if not one.is_file():
            raise LedgerError(f"{one}: there is no ledger; name those that the shards wrote")
        opened(one).close()  # looked at
    if place.exists():
        raise LedgerError(
            f"{place}: there is a file already; name a new one, or move that away, with "
            f"{place.name}-wal beside it"
        )
    try:
        with closing(opened(place)) as connection:
            connection.create_function("ids_of_both", 2, ids_of_both, deterministic=True)
            for one in sources:
                with translated(one):
                    connection.execute("ATTACH ? AS part", (str(one),))
                    connection.executescript(_TAKE)
                    connection.execute("DETACH part")
            return int(connection.execute("SELECT count(*) FROM files").fetchone()[0])
    except BaseException:
        # Half of it would look like all, and be in the way of the next try.
        for side in ("", "-wal", "-shm"):
            place.with_name(place.name + side).unlink(missing_ok=True)
        raise
