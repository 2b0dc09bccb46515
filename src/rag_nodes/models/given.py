"""Models that a user hands over in Python: any of LlamaIndex's, or those of its `Settings`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError
from rag_nodes.models.choose import LEXICAL, Models, get_embedding
from rag_nodes.models.names import EXTRACTIVE, answer_name, embedding_name, place_of

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM


def models_of(
    embed_model: BaseEmbedding | str | None = None,
    llm: LLM | str | None = None,
    *,
    offline: bool | None = None,
) -> Models:
    """The models handed over, and for what was not, LlamaIndex's `Settings`; see `Models.of`."""
    embedding = _embedding(embed_model)
    writer = _llm(llm)
    if offline is None:
        offline = place_of(embedding) == place_of(writer) == "offline"
    return Models(
        embedding=embedding,
        llm=writer,
        embedding_name=embedding_name(embedding),
        answer_name=answer_name(writer),
        offline=offline,
    )


def settled(
    models: Models | None,
    embed_model: BaseEmbedding | str | None = None,
    llm: LLM | str | None = None,
) -> Models:
    """`models` as given, or else what `Models.of` makes of the other arguments.

    Raises:
        ConfigurationError: both ways are used at once, or as `Models.of`.
    """
    if models is None:
        return models_of(embed_model, llm)
    if embed_model is not None or llm is not None:
        raise ConfigurationError(
            "models names both models already; give either models, or embed_model and llm"
        )
    return models


def _embedding(given: BaseEmbedding | str | None) -> BaseEmbedding:
    from llama_index.core.base.embeddings.base import BaseEmbedding

    found = _of_the_settings("embed_model") if given is None else given
    if found is None or isinstance(found, str):
        return get_embedding(found or LEXICAL)
    if isinstance(found, BaseEmbedding):
        return found
    raise ConfigurationError(
        f"embed_model is a {type(found).__name__}; give an embedding model of LlamaIndex, "
        "'lexical' or 'openai:<model>'"
    )


def _llm(given: LLM | str | None) -> LLM | None:
    from llama_index.core.llms import LLM

    found = _of_the_settings("llm") if given is None else given
    if found is None or found == EXTRACTIVE:
        return None
    if isinstance(found, LLM):
        return found
    raise ConfigurationError(
        f"llm is {found!r}; give an LLM of LlamaIndex, or 'extractive' for answers made of the "
        "documents' own sentences"
        if isinstance(found, str)
        else f"llm is a {type(found).__name__}; give an LLM of LlamaIndex or 'extractive'"
    )


def _of_the_settings(name: str) -> object | None:
    """A model of LlamaIndex's `Settings`; None where nobody has set one.

    Reading a model that was never set makes LlamaIndex choose one, of OpenAI, so whether it was
    set is asked first. Nothing but the private attribute tells.
    """
    from llama_index.core import Settings

    return None if getattr(Settings, f"_{name}", None) is None else getattr(Settings, name)
