"""What of retrieved text answers a question, sentence by sentence, without a chunk size."""

from rag_nodes.text.ladder.passages import Ladder, Read, best_passages
from rag_nodes.text.ladder.runs import Run, joined_runs

__all__ = ["Ladder", "Read", "Run", "best_passages", "joined_runs"]
