"""Settings in, the models that will run out; nothing is chosen in silence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError, CredentialsError, RagNodesError
from rag_nodes.models.faults import map_model_error
from rag_nodes.models.names import EXTRACTIVE, embedding_name, place_of
from rag_nodes.settings import DEFAULT_PROMPT, DEFAULT_SYSTEM_PROMPT, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM

LEXICAL = "lexical"
OPENAI = "openai"


@dataclass(frozen=True, slots=True)
class Models:
    """What embeds and what answers.

    Attributes:
        embedding: any LlamaIndex embedding model.
        llm: any LlamaIndex LLM; None for extracts made without one.
        embedding_name: names the vector space in collections and reports.
        answer_name: name of the LLM, or "extractive".
        offline: True where no text leaves this process.
        prompt: template for the LLM, with {context} and {question}.
        system_prompt: what the LLM is told before it; blank for no system message (S4-16).
    """

    embedding: BaseEmbedding
    llm: LLM | None
    embedding_name: str
    answer_name: str
    offline: bool
    prompt: str = DEFAULT_PROMPT
    system_prompt: str = DEFAULT_SYSTEM_PROMPT

    @classmethod
    def of(
        cls,
        *,
        embed_model: BaseEmbedding | str | None = None,
        llm: LLM | str | None = None,
        offline: bool | None = None,
    ) -> Models:
        """Any models of LlamaIndex; names are derived.

        What is left out is that of LlamaIndex's `Settings` where it was set there, and offline
        where not. LlamaIndex is never made to choose one itself, which would be one of OpenAI.

        Args:
            embed_model: embeds; or "lexical", or "openai:<model>".
            llm: writes the answers; or "extractive" for sentences of the documents.
            offline: whether no text leaves this process, which spares a local model the care
                that servers need; None to take it for granted of our own offline models only.

        Raises:
            ConfigurationError: one of them is neither a model nor a name of one.
            CredentialsError: "openai:<model>" and the key is missing or cannot be one.
            MissingExtraError: "openai:<model>" and the OpenAI client is not installed.
        """
        from rag_nodes.models.given import models_of

        return models_of(embed_model, llm, offline=offline)

    @property
    def embeds_offline(self) -> bool:
        """True where no text leaves this process to be embedded."""
        return place_of(self.embedding) == "offline"

    def describe(self) -> str:
        """One line for reports and the app: each model and where it runs."""
        return (
            f"embedding: {self.embedding_name} ({place_of(self.embedding)}) · "
            f"answers: {self.answer_name} ({place_of(self.llm)})"
        )


def choose_models(settings: Settings, *, public_only: bool = False) -> Models:
    """The models that the settings name; `auto` is openai with a key and offline without.

    No request is made: that is `check_models`.

    Args:
        settings: names, address and key.
        public_only: connect to nothing but servers on the public internet, for an address that a
            stranger typed in.

    Raises:
        CredentialsError: OpenAI is asked for and the key is missing or cannot be one (S0-42).
        MissingExtraError: the OpenAI client is not installed.
    """
    automatic = OPENAI if settings.api_key else None
    embeds = (automatic or LEXICAL) if settings.embedding == "auto" else settings.embedding
    answers = (automatic or EXTRACTIVE) if settings.llm == "auto" else settings.llm
    if OPENAI in (embeds, answers):
        _require_credentials(settings)
    embedding = (
        _openai_embedding(settings, public_only=public_only)
        if embeds == OPENAI
        else _lexical_embedding()
    )
    return Models(
        embedding=embedding,
        llm=_openai_llm(settings, public_only=public_only) if answers == OPENAI else None,
        embedding_name=embedding_name(embedding),
        answer_name=settings.llm_model if answers == OPENAI else EXTRACTIVE,
        offline=OPENAI not in (embeds, answers),
        prompt=settings.prompt,
        system_prompt=settings.system_prompt,
    )


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


def get_embedding(name: str) -> BaseEmbedding:
    """The embedding model of that name, configured by the environment.

    Args:
        name: "lexical", or "openai:" and the model's name.

    Raises:
        ConfigurationError: the name is neither.
        CredentialsError: the key is missing or cannot be one.
        MissingExtraError: the OpenAI client is not installed.
    """
    kind, _, model = name.partition(":")
    if name == LEXICAL:
        return _lexical_embedding()
    if kind != OPENAI or not model:
        raise ConfigurationError(
            f"embedding model {name!r} is unknown; use lexical or openai:<model>, for example "
            "openai:text-embedding-3-small"
        )
    settings = Settings(embedding="openai", embedding_model=model)
    _require_credentials(settings)
    return _openai_embedding(settings)


def _require_credentials(settings: Settings) -> None:
    """Find a key that cannot work before any request; compatible servers choose their own (C21)."""
    key = settings.api_key.get_secret_value() if settings.api_key else ""
    if not settings.uses_openai_itself and not key:
        return
    if not key:
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


def _lexical_embedding() -> BaseEmbedding:
    from rag_nodes.models.lexical import LexicalEmbedding

    return LexicalEmbedding()


def _openai_embedding(settings: Settings, *, public_only: bool = False) -> BaseEmbedding:
    from rag_nodes.models.openai import OpenAIServerEmbedding

    return OpenAIServerEmbedding(
        model_name=settings.embedding_model,
        api_key=settings.api_key,
        api_base=settings.api_base,
        timeout=settings.request_timeout,
        retry_seconds=settings.retry_seconds,
        public_only=public_only,
    )


def _openai_llm(settings: Settings, *, public_only: bool = False) -> LLM:
    from rag_nodes.models.openai import OpenAIServerLLM

    return OpenAIServerLLM(
        model=settings.llm_model,
        api_key=settings.api_key,
        api_base=settings.api_base,
        temperature=settings.temperature,
        max_tokens=settings.max_output_tokens,
        timeout=settings.request_timeout,
        retry_seconds=settings.retry_seconds,
        public_only=public_only,
    )


def _try(request: Callable[[], object], model: BaseEmbedding | LLM, name: str) -> None:
    try:
        request()
    except RagNodesError:
        raise
    except Exception as error:
        # A model handed in by the user may raise anything; the caller is promised our errors.
        api_base = getattr(model, "api_base", None)
        raise map_model_error(error, model=name, api_base=api_base) from error
