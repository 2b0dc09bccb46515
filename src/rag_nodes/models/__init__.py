"""Settings in, embedding model and LLM out: OpenAI and compatible servers, offline, or any other.

`Models.of` takes any of LlamaIndex's as an object; settings name one by its import path.

Importing this loads neither LlamaIndex nor a client; choosing a model does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.core.import_paths import lazy_getattr

if TYPE_CHECKING:
    from rag_nodes.models.choose import Models, check_models, choose_models, get_embedding, settled
    from rag_nodes.models.faults import failure_of

__all__ = [
    "Models",
    "check_models",
    "choose_models",
    "failure_of",
    "get_embedding",
    "settled",
]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__ = lazy_getattr(__name__, {"faults": ["failure_of"], "choose": __all__})
