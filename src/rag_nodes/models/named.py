"""What was given for a model in, the model out: an object, a name, or an import path and options.

Names may come with data, such as the options of a stored parser, so none of them imports anything
that is not ours. Import paths are taken from the settings alone, which only the user of this
machine writes: flags, the environment and `rag_nodes.toml`.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from rag_nodes.errors import ConfigurationError, CredentialsError
from rag_nodes.import_paths import load
from rag_nodes.models.inside import set_in_llama_index
from rag_nodes.models.names import EXTRACTIVE
from rag_nodes.settings import FASTEMBED, Settings, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM

LEXICAL = "lexical"
OPENAI = "openai"
_NO_FASTEMBED = (3, 13)
"""The first Python that LlamaIndex's integration of fastembed says it does not take."""


def get_embedding(name: str) -> BaseEmbedding:
    """The embedding model of that name, configured by the environment.

    Args:
        name: "lexical", or "openai:" or "fastembed:" and the model's name.

    Raises:
        ConfigurationError: the name is none of these.
        CredentialsError: the key is missing or cannot be one.
        MissingExtraError: a package for it is not installed.
    """
    kind, _, model = name.partition(":")
    if name == LEXICAL or (f"{kind}:" == FASTEMBED and model):
        return _offline(name, {})
    if kind == OPENAI and model:
        return configured_embedding(Settings(embedding=OPENAI, embedding_model=model))
    raise ConfigurationError(
        f"embedding model {name!r} is unknown; use lexical, openai:<model> or fastembed:<model>, "
        "for example openai:text-embedding-3-small"
    )


def given_embedding(given: BaseEmbedding | str | None) -> BaseEmbedding:
    """An embedding model as it was handed over in Python, or that of LlamaIndex's `Settings`."""
    from llama_index.core.base.embeddings.base import BaseEmbedding

    found = set_in_llama_index("embed_model") if given is None else given
    if isinstance(found, BaseEmbedding):
        return found
    if found is None or isinstance(found, str):
        return get_embedding(found or LEXICAL)
    raise ConfigurationError(
        f"embed_model is a {type(found).__name__}; give an embedding model of LlamaIndex, "
        "'lexical', 'openai:<model>' or 'fastembed:<model>'"
    )


def given_llm(given: LLM | str | None) -> LLM | None:
    """An LLM as it was handed over in Python, or that of LlamaIndex's `Settings`."""
    from llama_index.core.llms import LLM

    found = set_in_llama_index("llm") if given is None else given
    if isinstance(found, LLM):
        return found
    if found is None or found == EXTRACTIVE:
        return None
    what = repr(found) if isinstance(found, str) else f"a {type(found).__name__}"
    raise ConfigurationError(
        f"llm is {what}; give an LLM of LlamaIndex, or 'extractive' for answers made of the "
        "documents' own sentences"
    )


def configured_embedding(settings: Settings, *, public_only: bool = False) -> BaseEmbedding:
    """The embedding model that the settings name; raises as `choose_models`."""
    from llama_index.core.base.embeddings.base import BaseEmbedding

    name, options = _chosen(settings, settings.embedding, settings.embedding_options, LEXICAL)
    with _making(name, options):
        if name == OPENAI:
            from rag_nodes.models.openai import OpenAIServerEmbedding

            own = {**_server(settings), "model_name": settings.embedding_model}
            return OpenAIServerEmbedding(**{**own, **options, "public_only": public_only})
        if name == LEXICAL or name.startswith(FASTEMBED):
            return _offline(name, options)
        found: BaseEmbedding = load(name, BaseEmbedding, **options)
        return found


def configured_llm(settings: Settings, *, public_only: bool = False) -> LLM | None:
    """The LLM that the settings name, None for extracts; raises as `choose_models`."""
    name, options = _chosen(settings, settings.llm, settings.llm_options, EXTRACTIVE)
    if name == EXTRACTIVE:
        return None
    from llama_index.core.llms import LLM

    with _making(name, options):
        if name == OPENAI:
            from rag_nodes.models.openai import OpenAIServerLLM

            own = {
                **_server(settings),
                "model": settings.llm_model,
                "temperature": settings.temperature,
                "max_tokens": settings.max_output_tokens,
            }
            return OpenAIServerLLM(**{**own, **options, "public_only": public_only})
        found: LLM = load(name, LLM, **options)
        return found


def _chosen(
    settings: Settings, name: str, options: Mapping[str, Any], offline: str
) -> tuple[str, Mapping[str, Any]]:
    """What "auto" stands for, and the options, of which the choice without a model takes none."""
    if name == "auto":
        name = OPENAI if settings.api_key else offline
    if options and name == offline:
        raise ConfigurationError(
            f"{name} takes no options, and was given {', '.join(sorted(options))}; leave them out, "
            "or name the model they are meant for"
        )
    return name, options


def _offline(name: str, options: Mapping[str, Any]) -> BaseEmbedding:
    """The lexical embedding, or a model of fastembed."""
    if name == LEXICAL:
        from rag_nodes.models.lexical import LexicalEmbedding

        return LexicalEmbedding()
    if sys.version_info >= _NO_FASTEMBED:
        raise ConfigurationError(
            f"{name}: LlamaIndex's integration of fastembed takes no Python from "
            f"{'.'.join(map(str, _NO_FASTEMBED))} on; use an earlier one, or name another "
            "embedding by its import path"
        )
    from rag_nodes.models.local import LocalEmbedding

    return LocalEmbedding(name.removeprefix(FASTEMBED), **options)


def _server(settings: Settings) -> dict[str, Any]:
    """Where and how OpenAI or a compatible server is asked.

    Raises:
        CredentialsError: the key cannot work, which is found before any request; compatible
            servers choose their own.
    """
    key = settings.api_key.get_secret_value() if settings.api_key else ""
    if settings.uses_openai_itself and not key:
        raise CredentialsError(
            "OpenAI models are asked for and no key is set; set OPENAI_API_KEY or "
            "RAG_NODES_API_KEY, or use the offline models: embedding=lexical, llm=extractive"
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise CredentialsError(
            "the key holds a blank or a character no key has; copy it again, without quotes"
        )
    if settings.uses_openai_itself and not key.startswith("sk-"):
        raise CredentialsError(
            "the key does not start with sk-, so it is none of OpenAI's; set api_base if it "
            "belongs to a compatible server"
        )
    return {
        "api_key": settings.api_key,
        "api_base": settings.api_base,
        "timeout": settings.request_timeout,
        "retry_seconds": settings.retry_seconds,
    }


@contextmanager
def _making(name: str, options: Mapping[str, Any]) -> Iterator[None]:
    """Say what is wrong with an option without repeating a key that is among them."""
    try:
        yield
    except ValidationError as error:
        # Without the values: one of them may be a key.
        found = error.errors(include_input=False, include_url=False, include_context=False)
        refused = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found]
        raise ConfigurationError(f"{name}: {'; '.join(refused)}") from None
    except ConfigurationError as error:
        hidden = without_secrets(str(error), options)
        if hidden == str(error):
            raise
        raise type(error)(hidden) from None
