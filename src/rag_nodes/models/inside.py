"""What this room assumes about the insides of other packages; a new version may change any of it.

Each has a test in `tests/models/test_inside.py`, which says what to look at when it fails.

- llama-index-core: a model of `Settings` that nobody set is None in a private attribute (here).
- llama-index-core: models that only stand in for one are defined in `llms.mock` (here).
- llama-index-core: of a request to an embedding the first event names the model and the last has
  the texts; both are of one span (`embedded_tokens`).
- llama-index-core: out of a pickle a model is made anew of its fields, or has its state put back
  (`openai`, `local`).
- llama-index-embeddings-openai: the client comes from `_get_client` (`openai.embedding`).
- llama-index-llms-openai: clients come from `_get_client`, bodies from `_get_model_kwargs`, all
  chats pass `_chat`, `_stream_chat` and their async twins (`openai.llm`).
- llama-index-llms-openai: nothing is repeated where `max_retries` is 0 (`openai`).
- llama-index-embeddings-fastembed: options it does not know go to `TextEmbedding` (`local`).
- openai: every method comes down to `request(cast_to, options, stream=...)`, and the body is
  `options.json_data` (`openai.client`).
- openai: it says which failures may pass and how long its server asks to wait, `_should_retry`
  and `_parse_retry_after_header` (`openai.client`).
- openai: its transport is httpx, whose failures are the causes of its own (`openai.client`,
  `faults`).
- openai: of an error status, `code`, `param` and `body` hold what the server said (`faults`).
"""

from __future__ import annotations


def set_in_llama_index(name: str) -> object | None:
    """The `llm` or `embed_model` of LlamaIndex's `Settings`; None where nobody has set one.

    Reading a model that was never set makes LlamaIndex choose one, of OpenAI, so whether it was
    set is asked first. Nothing but the private attribute tells.
    """
    from llama_index.core import Settings

    return None if getattr(Settings, f"_{name}", None) is None else getattr(Settings, name)


def is_mock(llm: object) -> bool:
    """Whether a model is one of LlamaIndex's stand-ins for tests, whose words mean nothing."""
    return any(one.__module__ == "llama_index.core.llms.mock" for one in type(llm).__mro__)
