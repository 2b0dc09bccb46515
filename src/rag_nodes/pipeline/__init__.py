"""Documents into the store, through every parser, safe to run again at any time."""

from rag_nodes.pipeline.build import build_pipeline
from rag_nodes.pipeline.ingest import ingest, ingest_documents
from rag_nodes.pipeline.report import (
    ColumnStatus,
    FileColumn,
    FileOutcome,
    FileStatus,
    FormerCollection,
    IngestReport,
    ParserOutcome,
    Progress,
    Stage,
)

__all__ = [
    "ColumnStatus",
    "FileColumn",
    "FileOutcome",
    "FileStatus",
    "FormerCollection",
    "IngestReport",
    "ParserOutcome",
    "Progress",
    "Stage",
    "build_pipeline",
    "ingest",
    "ingest_documents",
]
