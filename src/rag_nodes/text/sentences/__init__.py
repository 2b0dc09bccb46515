"""Sentences of a text as spans, in any of the languages its script or small words give away."""

from rag_nodes.text.sentences.split import (
    AUTO,
    Bounds,
    guess_language,
    sentence_bounds,
    sentence_spans,
)

__all__ = ["AUTO", "Bounds", "guess_language", "sentence_bounds", "sentence_spans"]
