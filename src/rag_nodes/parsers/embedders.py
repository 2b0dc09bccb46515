"""The embedding models of parsers that compare sentences: found by name, and named."""

from __future__ import annotations

import hashlib

from llama_index.core.base.embeddings.base import BaseEmbedding

_COSMETIC = frozenset({"callback_manager", "embed_batch_size", "num_workers", "model_name"})
"""Fields of an embedding model that do not change its vectors."""


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
    """Class and name of a model; its plain configuration stands in for a name it does not have."""
    name = model.model_name
    if name in {"", "unknown"}:
        plain = {k: v for k, v in model.to_dict().items() if "key" not in k and k not in _COSMETIC}
        name = hashlib.sha256(repr(sorted(plain.items())).encode()).hexdigest()[:12]
    return f"{model.class_name()}:{name}"
