"""The postprocessor of rag_nodes under the name where LlamaIndex keeps its integrations."""

from rag_nodes import SentencePostprocessor

__all__ = ["SentencePostprocessor"]
