"""The embedding models of parsers that compare sentences: found by name, and named."""

from __future__ import annotations

from llama_index.core.base.embeddings.base import BaseEmbedding


def model_named(name: str, model: BaseEmbedding | None) -> BaseEmbedding:
    """The model itself where it was given, else the one of that name.

    Raises:
        ConfigurationError: there is none of that name, or a package for it is missing.
    """
    if model is not None:
        return model
    from rag_nodes.models import get_embedding

    return get_embedding(name)


def name_of(model: BaseEmbedding) -> str:
    """The name of the model's vectors, as in collections and reports."""
    from rag_nodes.models.names import embedding_name

    return embedding_name(model)
