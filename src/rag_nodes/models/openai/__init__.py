"""LlamaIndex's own OpenAI models, and what they lack.

`OpenAIServerEmbedding` is its `OpenAIEmbedding` and `OpenAIServerLLM` its `OpenAILike`. Theirs are
options, messages, tools, structured output, token counts and what is known of OpenAI's models.
Ours are the request, the key and the errors (`client`), and the answers, which are checked.

Importing this raises `MissingExtraError` where LlamaIndex's packages are not installed.
"""

from __future__ import annotations

from rag_nodes.core.errors import MissingExtraError

try:
    from rag_nodes.models.openai.embedding import OpenAIServerEmbedding
    from rag_nodes.models.openai.llm import OpenAIServerLLM
except ModuleNotFoundError as error:
    raise MissingExtraError(error.name or "openai", "openai") from error

__all__ = ["OpenAIServerEmbedding", "OpenAIServerLLM"]
