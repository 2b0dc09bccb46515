"""Documents into the store, through every parser, safe to run again at any time.

What does it is imported when it is first asked for: it brings LlamaIndex along, which is of no use
to those who look at what is stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.core.import_paths import lazy_getattr
from rag_nodes.pipeline.report import IngestReport

if TYPE_CHECKING:
    from rag_nodes.pipeline.assigned import FileMetadata
    from rag_nodes.pipeline.ingesting import (
        aingest,
        aingest_documents,
        ingest,
        ingest_documents,
        ingest_from_store,
    )

__all__ = [
    "FileMetadata",
    "IngestReport",
    "aingest",
    "aingest_documents",
    "ingest",
    "ingest_documents",
    "ingest_from_store",
]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__ = lazy_getattr(
        __name__,
        {
            "assigned": ["FileMetadata"],
            "ingesting": [
                "aingest",
                "aingest_documents",
                "ingest",
                "ingest_documents",
                "ingest_from_store",
            ],
        },
    )
