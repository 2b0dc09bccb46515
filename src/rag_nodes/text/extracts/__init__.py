"""A question and passages in, the sentences that answer best out: exact spans, no model.

No LLM of LlamaIndex: one would give words without their places, and every quote keeps its own.
"""

from rag_nodes.text.extracts.candidates import CandidateSentence, candidates, is_entry
from rag_nodes.text.extracts.ranking import Extract, extract, own_summary

__all__ = ["CandidateSentence", "Extract", "candidates", "extract", "is_entry", "own_summary"]
