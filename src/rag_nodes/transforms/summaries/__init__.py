"""A short summary for every chunk, and the file in which those that were paid for are kept."""

from rag_nodes.models.asking import GIVE_UP_AFTER
from rag_nodes.transforms.summaries.journal import (
    WRITTEN_FILE,
    SummaryJournal,
    SummaryKey,
    WrittenTexts,
)
from rag_nodes.transforms.summaries.summary import SectionSummary
from rag_nodes.transforms.summaries.writer import ChunkWriter

__all__ = [
    "GIVE_UP_AFTER",
    "WRITTEN_FILE",
    "ChunkWriter",
    "SectionSummary",
    "SummaryJournal",
    "SummaryKey",
    "WrittenTexts",
]
