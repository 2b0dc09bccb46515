"""Settings in, the models that will run out; nothing is chosen in silence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError, RagNodesError
from rag_nodes.models.faults import failure_of
from rag_nodes.models.named import (
    configured_embedding,
    configured_llm,
    given_embedding,
    given_llm,
)
from rag_nodes.models.names import answer_name, embedding_name, place_of
from rag_nodes.settings import DEFAULT_PROMPT, DEFAULT_SYSTEM_PROMPT, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM


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
        system_prompt: what the LLM is told before it; blank for no system message.
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
        return _named(given_embedding(embed_model), given_llm(llm), offline=offline)

    @property
    def embeds_offline(self) -> bool:
        """True where no text leaves this process to be embedded."""
        return place_of(self.embedding) == "offline"

    @property
    def sentence_model(self) -> BaseEmbedding | None:
        """What parsers that compare sentences are given; None for their own default.

        That is the lexical one, under a name that the fingerprints of parsers know.
        """
        return self.embedding if self.embeds_meaning else None

    @property
    def embeds_meaning(self) -> bool:
        """Whether a vector says more of a text than which words are in it."""
        from rag_nodes.models.lexical import LexicalEmbedding

        return type(self.embedding) is not LexicalEmbedding

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
        CredentialsError: OpenAI is asked for and the key is missing or cannot be one.
        ConfigurationError: a class cannot be imported, is none of a model, or refuses an option.
        MissingPackageError: a package for a model is not installed.
    """
    models = _named(
        configured_embedding(settings, public_only=public_only),
        configured_llm(settings, public_only=public_only),
    )
    return replace(models, prompt=settings.prompt, system_prompt=settings.system_prompt)


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
            "models names both models already; give either models, or embed_model and llm"
        )
    return models


def _named(embedding: BaseEmbedding, llm: LLM | None, *, offline: bool | None = None) -> Models:
    if offline is None:
        offline = place_of(embedding) == place_of(llm) == "offline"
    return Models(embedding, llm, embedding_name(embedding), answer_name(llm), offline)


def _try(request: Callable[[], object], model: BaseEmbedding | LLM, name: str) -> None:
    try:
        request()
    except RagNodesError:
        raise
    except Exception as error:
        # A model handed in by the user may raise anything; the caller is promised our errors.
        raise failure_of(error, model, name=name) from error
