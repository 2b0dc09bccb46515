"""Names of models, in reports and in the names of collections."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from rag_nodes.core.keys import is_secret
from rag_nodes.core.settings import FASTEMBED, OPENAI_API_BASE

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM

LEXICAL = "lexical"
OPENAI = "openai"
EXTRACTIVE = "extractive"
"""Name of answers that are made of the documents' own sentences."""
_UNNAMED = ("", "unknown")
_KINDS = {
    "rag_nodes.models.lexical:LexicalEmbedding": LEXICAL,
    "rag_nodes.models.openai.embedding:OpenAIServerEmbedding": OPENAI,
    "rag_nodes.models.local:LocalEmbedding": FASTEMBED.removesuffix(":"),
}
"""Prefixes of the names of our own embedding models, by class."""
_COSMETIC = frozenset(
    {
        "cache_folder",
        "embed_batch_size",
        "embeddings_cache",
        "max_retries",
        "model_name",
        "num_workers",
        "request_timeout",
        "requests_per_minute",
        "reuse_client",
        "show_progress_bar",
        "timeout",
        "tokens_per_minute",
    }
)
"""Options of embedding models, by LlamaIndex's names for them, that do not change a vector."""


def place_of(model: BaseEmbedding | LLM | None) -> str:
    """Return where texts are sent: "offline", "OpenAI", an address, or else the model's class."""
    if model is None:
        return "offline"
    return str(getattr(model, "place", type(model).__name__))


def set_in_llama_index(name: str) -> object | None:
    """The `llm` or `embed_model` of LlamaIndex's `Settings`; None where nobody has set one.

    Reading one that was never set makes LlamaIndex choose one, of OpenAI, and nothing but the
    private attribute tells whether it was set.
    """
    from llama_index.core import Settings

    return None if getattr(Settings, f"_{name}", None) is None else getattr(Settings, name)


def is_mock(llm: object) -> bool:
    """Return True if a model is one of LlamaIndex's mocks, whose words mean nothing."""
    return any(kind.__module__ == "llama_index.core.llms.mock" for kind in type(llm).__mro__)


def embedding_name(model: BaseEmbedding) -> str:
    """The name of a model's vector space: two models that share it must give the same vectors.

    Ours are called as they are, with a hash of what else the server is asked for, such as a number
    of dimensions; behind another server with its address: there the same name may be another
    model. Any other model is named with its class, and with a hash of the options that differ from
    the defaults of the class, but for those of speed and access. A key is never part of it.

    Examples:
        >>> from rag_nodes.models.names import embedding_name
        >>> from llama_index.core import MockEmbedding
        >>> embedding_name(MockEmbedding(embed_dim=8, model_name="tiny"))
        'tiny@MockEmbedding-ccd01969'
    """
    place = getattr(model, "place", None)
    if place is None:
        return _named_by_class(model)
    options = getattr(model, "additional_kwargs", None)
    name = f"{model.model_name}-{_digest(options)}" if options else model.model_name
    return priced_name(name, model)


def written_name(model: BaseEmbedding) -> str:
    """Return the name of a model in the configuration of a parser.

    `get_embedding` makes the models of this package from it. Any other model has to be given
    again, by the name of its vector space.

    Examples:
        >>> from rag_nodes.models import get_embedding
        >>> from rag_nodes.models.names import written_name
        >>> written_name(get_embedding("lexical"))
        'lexical'
    """
    kind = _KINDS.get(f"{type(model).__module__}:{type(model).__name__}")
    name = embedding_name(model)
    if kind == LEXICAL:
        return LEXICAL if name == type(model)().model_name else name
    return f"{kind}:{name}" if kind else name


def answer_name(llm: LLM | None) -> str:
    """The name of what writes answers, as it names itself, else its class."""
    if llm is None:
        return EXTRACTIVE
    name = llm.metadata.model_name
    return type(llm).__name__ if name in _UNNAMED else name


def priced_name(name: str, model: BaseEmbedding | LLM | None) -> str:
    """The name of a model in price lists: behind a server that is not OpenAI's with its address.

    There the same name may mean another model, and has another price.

    Examples:
        >>> from rag_nodes.models.names import priced_name
        >>> from llama_index.core.llms import MockLLM
        >>> priced_name("extractive", None), priced_name("mine", MockLLM())
        ('extractive', 'mine')
    """
    place = getattr(model, "place", None)
    address = str(place or "").partition("://")[2]
    return f"{name}@{address}" if address and place != OPENAI_API_BASE else name


def _named_by_class(model: BaseEmbedding) -> str:
    # Classes that forget `class_name` all share the one of their base.
    kind = type(model).__name__
    changed = {
        name: value
        for name, field in type(model).model_fields.items()
        if not (field.exclude or name in _COSMETIC or is_secret(name))
        and (value := getattr(model, name)) != field.default
        and (value or field.default_factory is None)
    }
    named = kind if model.model_name in _UNNAMED else f"{model.model_name}@{kind}"
    return f"{named}-{_digest(changed)}" if changed else named


def _digest(options: dict[str, Any]) -> str:
    # Of what is no plain data only the kind is known from one process to the next.
    plain = json.dumps(options, sort_keys=True, default=lambda value: type(value).__name__)
    return hashlib.sha256(plain.encode()).hexdigest()[:8]
