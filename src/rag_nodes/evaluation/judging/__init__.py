"""Whether the answers are good: answered from what each column read, and judged by an LLM.

With LlamaIndex's evaluators of faithfulness and correctness. A judgement that cannot be
read is none, and a judge that errs about answers known to be right or wrong is not believed.

What was found is plain data and light; what asks models (`stage`) is imported where it runs.
"""

from __future__ import annotations

from rag_nodes.evaluation.judging.judgement import (
    JudgedAnswer,
    JudgedColumn,
    Judgement,
    Rating,
)

__all__ = [
    "JudgedAnswer",
    "JudgedColumn",
    "Judgement",
    "Rating",
]
