"""What a component of LlamaIndex is made of, as a digest that changes with what it gives."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from llama_index.core.base.embeddings.base import BaseEmbedding

from rag_nodes.code_identity import code_of
from rag_nodes.errors import ConfigurationError
from rag_nodes.parsers.foreign.configuration import class_path, digest_of

if TYPE_CHECKING:
    from llama_index.core.schema import TransformComponent


def identity_of(component: TransformComponent) -> str:
    """16 hex digits of a component's code and options: another result needs another identity.

    Options are those of `to_dict()` without keys and passwords, and without those of speed and
    patience; objects among them count by their class. So do private attributes, `self._words` for
    example, but those of embedding models and of this package, which say all in `to_dict()`. Code
    is that of the class and of functions among the options, see `rag_nodes.code_identity`.

    Raises:
        ConfigurationError: it cannot say what it is made of.
    """
    # Else clients, and what was asked and paid so far: another one after each use.
    says_all = isinstance(component, BaseEmbedding) or type(component).__module__.startswith(
        "rag_nodes."
    )
    try:
        private = {} if says_all else component.__pydantic_private__ or {}
        options = digest_of({**component.to_dict(), **private})
        parts = (class_path(component), options, code_of(component).digest)
    except Exception as error:
        raise ConfigurationError(
            f"{type(component).__name__}: to_dict() failed ({type(error).__name__}), so nobody can "
            "tell whether it changed; leave the field out of it, with Field(exclude=True)"
        ) from error
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:16]
