"""What of retrieved text answers a question, sentence by sentence, without a chunk size."""

from rag_nodes.text.passages.scorer import PassageRanker, Read
from rag_nodes.text.passages.units import TextRun, joined_runs

__all__ = ["PassageRanker", "Read", "TextRun", "joined_runs"]
