"""Chunks between parser and store: checked, embedded, counted and reported.

Whoever embeds documents needs this room, whether their chunks are kept or not. All but the types of
the report is imported when it is first asked for, because it brings LlamaIndex along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.core.import_paths import lazy_getattr
from rag_nodes.embedding.report import (
    ColumnStatus,
    Counts,
    DocumentFacts,
    DocumentsReport,
    FileColumn,
    FileOutcome,
    FileStatus,
    ParserOutcome,
    Progress,
    Stage,
)

if TYPE_CHECKING:
    from rag_nodes.embedding.atomic import AtomicIngestionPipeline
    from rag_nodes.embedding.build import build_pipeline
    from rag_nodes.embedding.embedded import EmbeddedText, embedded_as
    from rag_nodes.embedding.flat import FlatMetadata
    from rag_nodes.embedding.guard import EmbeddingGuard
    from rag_nodes.embedding.summary import SectionSummary
    from rag_nodes.embedding.user import UserTransformations, identity_of

__all__ = [
    "AtomicIngestionPipeline",
    "ColumnStatus",
    "Counts",
    "DocumentFacts",
    "DocumentsReport",
    "EmbeddedText",
    "EmbeddingGuard",
    "FileColumn",
    "FileOutcome",
    "FileStatus",
    "FlatMetadata",
    "ParserOutcome",
    "Progress",
    "SectionSummary",
    "Stage",
    "UserTransformations",
    "build_pipeline",
    "embedded_as",
    "identity_of",
]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__ = lazy_getattr(
        __name__,
        {
            "atomic": ["AtomicIngestionPipeline"],
            "build": ["build_pipeline"],
            "embedded": ["EmbeddedText", "embedded_as"],
            "flat": ["FlatMetadata"],
            "guard": ["EmbeddingGuard"],
            "summary": ["SectionSummary"],
            "user": ["UserTransformations", "identity_of"],
        },
    )
