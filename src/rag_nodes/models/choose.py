"""Settings, names or objects in, the models that will run out; nothing is chosen in silence.

Names may come with data, such as the options of a stored parser, so none of them imports anything
that is not ours. Import paths are taken from the settings alone, which only the user of this
machine writes: flags, the environment and `rag_nodes.toml`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import ConfigurationError, RagNodesError
from rag_nodes.core.import_paths import load
from rag_nodes.core.keys import without_secrets
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.settings import DEFAULT_PROMPT, DEFAULT_SYSTEM_PROMPT, FASTEMBED, Settings
from rag_nodes.core.spelling import quoted
from rag_nodes.models.access import server_access
from rag_nodes.models.faults import failure_of
from rag_nodes.models.names import (
    EXTRACTIVE,
    LEXICAL,
    OPENAI,
    answer_name,
    embedding_name,
    place_of,
    set_in_llama_index,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM

_WRITTEN = re.compile(r"(.+?)(-[0-9a-f]{8})?(@[^@]+)?")
"""A server's model, a hash of what else it is asked for, and the address of the server."""
_LEXICAL = re.compile(r"lexical-([0-9]{1,5})")
_PATHS = {
    ("embed_model", LEXICAL): "rag_nodes.models.lexical:LexicalEmbedding",
    ("embed_model", FASTEMBED): "rag_nodes.models.local:LocalEmbedding",
    ("embed_model", OPENAI): "rag_nodes.models.openai:OpenAIServerEmbedding",
    ("llm", OPENAI): "rag_nodes.models.openai:OpenAIServerLLM",
}
"""Import paths of short names; any other name in settings is an import path itself."""
_OFFLINE = {"embed_model": LEXICAL, "llm": EXTRACTIVE}
_GIVE = {
    "embed_model": "an embedding model of LlamaIndex, 'lexical', 'openai:<model>' or "
    "'fastembed:<model>'",
    "llm": "an LLM of LlamaIndex, or 'extractive' for answers made of the documents' own sentences",
}


@checks_keywords
@dataclass(frozen=True, slots=True)
class Models:
    """Embedding model and LLM.

    Attributes:
        embedding: any LlamaIndex embedding model.
        llm: any LlamaIndex LLM; None for extracts made without one.
        embedding_name: names the vector space in collections and reports.
        answer_name: name of the LLM, or "extractive".
        offline: True where no text leaves this process.
        prompt: template for the LLM, with {context} and {question}.
        system_prompt: text for the LLM before it; blank for no system message.
    """

    embedding: BaseEmbedding
    llm: LLM | None
    embedding_name: str
    answer_name: str
    offline: bool
    prompt: str = DEFAULT_PROMPT
    system_prompt: str = DEFAULT_SYSTEM_PROMPT

    @staticmethod
    def of(
        *,
        embed_model: BaseEmbedding | str | None = None,
        llm: LLM | str | None = None,
        offline: bool | None = None,
    ) -> Models:
        """Any models of LlamaIndex; names are derived.

        What is left out is that of LlamaIndex's `Settings` where it was set there, and offline
        where not. LlamaIndex is never made to choose one itself, which would be one of OpenAI.

        Args:
            embed_model: embeds; or "lexical", "openai:<model>" or "fastembed:<model>".
            llm: writes the answers; or "extractive" for sentences of the documents.
            offline: whether no text leaves this process, which spares a local model the care
                that servers need; None to take it for granted of our own offline models only.

        Raises:
            ConfigurationError: one of them is neither a model nor a name of one.
            CredentialsError: "openai:<model>" and the key is missing or cannot be one.
            MissingExtraError: a package for a named model is not installed.
        """
        return _models(_given("embed_model", embed_model), _given("llm", llm), offline=offline)

    @property
    def embeds_offline(self) -> bool:
        """True where no text leaves this process to be embedded."""
        return place_of(self.embedding) == "offline"

    @property
    def sentence_model(self) -> BaseEmbedding | None:
        """Return the embedding model for parsers that compare sentences; None for their default.

        That is the lexical one, under a name that the fingerprints of parsers know.
        """
        return self.embedding if self.embeds_meaning else None

    @property
    def embeds_meaning(self) -> bool:
        """Return True if a model's vectors carry meaning beyond the words of a text."""
        return type(self.embedding).__name__ != "LexicalEmbedding"

    def describe(self) -> str:
        """One line for reports and the app: each model and where it runs."""
        return (
            f"embedding: {self.embedding_name} ({place_of(self.embedding)}) · "
            f"answers: {self.answer_name} ({place_of(self.llm)})"
        )


@checks_keywords
def choose_models(settings: Settings) -> Models:
    """The models that the settings name; `auto` is openai with a key and offline without.

    No request is made: that is `check_models`.

    Args:
        settings: names, address and key.

    Raises:
        CredentialsError: OpenAI is asked for and the key is missing or cannot be one.
        ConfigurationError: a class cannot be imported, is none of a model, or refuses an option.
        MissingPackageError: a package for a model is not installed.
    """
    models = _models(_configured("embed_model", settings), _configured("llm", settings))
    return replace(models, prompt=settings.prompt, system_prompt=settings.system_prompt)


@checks_keywords
def get_embedding(name: str) -> BaseEmbedding:
    """The embedding model of that name, configured by the environment.

    Args:
        name: "lexical", or "openai:" or "fastembed:" and the model's name; also as parsers write
            it, with dimensions, a hash of options, and the address of a server.

    Raises:
        ConfigurationError: the name is none of these, or the environment names another server.
        CredentialsError: the key is missing or cannot be one.
        MissingExtraError: a package for it is not installed.
    """
    kind, _, model = name.partition(":")
    embedding: BaseEmbedding
    if kind == OPENAI and model:
        embedding = _of_server(model)
    elif lexical := _LEXICAL.fullmatch(name):
        embedding = _made("embed_model", LEXICAL, {"dimension": int(lexical[1])})
    elif name == LEXICAL or (f"{kind}:" == FASTEMBED and model):
        embedding = _made("embed_model", name, {})
    else:
        raise ConfigurationError(
            f"embedding model '{name}' is unknown; use lexical, openai:<model> or "
            "fastembed:<model>, for example openai:text-embedding-3-small; to use another class, "
            "pass the model itself as embed_model"
        )
    return embedding


def _of_server(name: str) -> Any:
    """Return a server's model by the name that the server knows, or as `written_name` writes it."""

    def model_named(model: str) -> Any:
        return _configured("embed_model", Settings(embedding=OPENAI, embedding_model=model))

    model, options, address = _WRITTEN.fullmatch(name).groups("")  # type: ignore[union-attr] # any
    for shorter in dict.fromkeys((model, f"{model}{options}")):
        if shorter != name and embedding_name(embedding := model_named(shorter)) == name:
            return embedding
    if set(".:/").intersection(address):
        raise ConfigurationError(
            f"embedding model '{name}' is served by {address[1:]}, but the settings name another "
            f"server or other options; set api_base and the options as they were"
        )
    return model_named(name)


def check_models(models: Models, *, answers: bool = True) -> None:
    """One tiny real request to each model that is not offline, so work starts only if both answer.

    Args:
        models: what will run.
        answers: ask the LLM too; for work that answers nothing, its server may have none.

    Raises:
        CredentialsError: the key was refused.
        ModelConnectionError: the server cannot be reached.
        RateLimitedError: no request or no quota is left.
        ModelRequestError: the server does not know the model.
        ModelResponseError: the server answers with something unusable.
    """
    if models.offline:
        return
    embedding = models.embedding
    _try(lambda: embedding.get_text_embedding("ready?"), embedding, models.embedding_name)
    if answers and (llm := models.llm) is not None:
        _try(lambda: llm.complete("Reply with the single word: ready"), llm, models.answer_name)


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
        return Models.of(embed_model=embed_model, llm=llm)
    if embed_model is not None or llm is not None:
        raise ConfigurationError(
            "models already holds both models; pass either models, or embed_model and llm"
        )
    return models


def _models(embedding: BaseEmbedding, llm: LLM | None, *, offline: bool | None = None) -> Models:
    if offline is None:
        offline = place_of(embedding) == place_of(llm) == "offline"
    return Models(embedding, llm, embedding_name(embedding), answer_name(llm), offline)


def _given(what: str, given: Any) -> Any:
    """A model as it was handed over in Python, or that of LlamaIndex's `Settings`."""
    given = set_in_llama_index(what) if given is None else given
    if isinstance(given, _kind(what)):
        return given
    if what == "llm" and given in (None, EXTRACTIVE):
        return None
    if what == "embed_model" and isinstance(given, str | None):
        return get_embedding(given or LEXICAL)
    raise ConfigurationError(f"{what} is {quoted(given)}; give {_GIVE[what]}")


def _configured(what: str, settings: Settings) -> Any:
    """The model that settings name; None for answers made without one."""
    is_llm = what == "llm"
    name = settings.llm if is_llm else settings.embedding
    options = settings.llm_options if is_llm else settings.embedding_options
    if name == "auto":
        name = OPENAI if settings.api_key else _OFFLINE[what]
    if options and name == _OFFLINE[what]:
        raise ConfigurationError(
            f"{name} takes no options, but was given {', '.join(sorted(options))}; leave them out, "
            "or name the model they are meant for"
        )
    if name == EXTRACTIVE:
        return None
    own: dict[str, Any] = {}
    if name == OPENAI and is_llm:
        own = {"model": settings.llm_model, "temperature": settings.temperature}
        own["max_tokens"] = settings.max_output_tokens
    elif name == OPENAI:
        own = {"model_name": settings.embedding_model}
    if name == OPENAI:
        own |= server_access(settings)
    return _made(what, name, {**own, **options})


def _made(what: str, name: str, options: Mapping[str, Any]) -> Any:
    """A model by its name; an error does not repeat a key that is among the options."""
    if name.startswith(FASTEMBED):
        options = {"model_name": name.removeprefix(FASTEMBED), **options}
        name = FASTEMBED
    try:
        return load(_PATHS.get((what, name), name), _kind(what), **options)
    except ConfigurationError as error:
        raise type(error)(without_secrets(str(error), options)) from None


def _kind(what: str) -> type:
    if what == "llm":
        from llama_index.core.llms import LLM

        return LLM
    from llama_index.core.base.embeddings.base import BaseEmbedding

    return BaseEmbedding


def _try(request: Callable[[], object], model: BaseEmbedding | LLM, name: str) -> None:
    try:
        request()
    except RagNodesError:
        raise
    except Exception as error:
        # A model handed in by the user may raise anything; the caller is promised our errors.
        raise failure_of(error, model, name=name) from error
