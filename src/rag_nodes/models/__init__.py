"""Settings in, embedding model and LLM out: OpenAI and compatible servers, or offline.

`Models.of` takes any of LlamaIndex's instead.

Importing this loads neither LlamaIndex nor a client; choosing a model does.
"""

from __future__ import annotations

from rag_nodes.models.choose import Models, check_models, choose_models, get_embedding
from rag_nodes.models.faults import map_model_error
from rag_nodes.models.given import settled

__all__ = [
    "Models",
    "check_models",
    "choose_models",
    "get_embedding",
    "map_model_error",
    "settled",
]
