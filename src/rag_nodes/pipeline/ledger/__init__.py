"""A memory of what a store holds and of the files it came from: one SQLite file beside the store.

It spares an ingest the opening of files that did not change, and answers what is stored, from when
and how large. The store is the truth: a ledger that is lost or behind is made again from it.
"""

from rag_nodes.pipeline.ledger.database import FILE_NAME, ledger_path
from rag_nodes.pipeline.ledger.ledger import Ledger
from rag_nodes.pipeline.ledger.rows import (
    WEB_HOURS,
    CollectionRow,
    DocumentRow,
    FileRow,
    FileState,
    KnownFile,
    StoredDocument,
    model_of,
    source_hash_of,
    utc_time,
    version_of,
    with_errors,
)

__all__ = [
    "FILE_NAME",
    "WEB_HOURS",
    "CollectionRow",
    "DocumentRow",
    "FileRow",
    "FileState",
    "KnownFile",
    "Ledger",
    "StoredDocument",
    "ledger_path",
    "model_of",
    "source_hash_of",
    "utc_time",
    "version_of",
    "with_errors",
]
