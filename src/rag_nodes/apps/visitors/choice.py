"""What can be chosen above the tabs, as plain data: parsers, their options, retrieval, models."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.settings import MODEL_OPTIONS, Settings
from rag_nodes.operations.parsers import check_cost
from rag_nodes.parsers import PRESETS
from rag_nodes.parsers.offer import in_few_words
from rag_nodes.parsers.presets import OptionRange, Preset, preset_named, unknown_parser

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from pydantic import SecretStr

    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.query import QueryOptions
    from rag_nodes.query.options import Granularity

MOST_COLUMNS = 4
"""Parsers compared at once: more columns than that nobody reads."""
MOST_QUESTION = 4_000
"""Characters of a question."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What one user chose.

    Attributes:
        parsers: parsers to compare by name.
        options: per name, the values of its sliders by field.
        budget: context tokens per answer; None for no budget.
        top_k: chunks per answer; None lets the budget decide.
        granularity: whole chunks or sentences; None for what the settings say.
        retrieval_only: show what was found, write no answer.
        api_key: typed in by the user; never the server's own.
        embedding_model: typed in by the user.
        llm_model: typed in by the user.
        similarity_cutoff: chunks of a lower cosine similarity are left out; None to keep all.
        temperature: of the answer model; None for the server's.
        max_output_tokens: longest answer; None for the server's.
    """

    parsers: tuple[str, ...]
    options: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    budget: int | None = 1500
    top_k: int | None = None
    granularity: Granularity | None = None
    retrieval_only: bool = False
    api_key: SecretStr | None = field(default=None, repr=False)
    embedding_model: str = ""
    llm_model: str = ""
    similarity_cutoff: float | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None


def headline_of(name: str, configuration: Mapping[str, object]) -> str:
    """What stands under the title of a column: its options in a few words."""
    preset = PRESETS.get(name)
    # Another parser may have the name of a preset.
    if preset and preset.headline and preset.path.endswith(f":{configuration['class']}"):
        return preset.headline.format(**configuration)
    return in_few_words(configuration)


def default_of(preset: Preset, option: OptionRange) -> float:
    """Where a slider stands at first: what the preset says."""
    group, _, key = option.field.rpartition(".")
    parser = preset.make()
    value: float = getattr(parser, group)[key] if group else getattr(parser, option.field)
    return value


def make_parsers(
    choice: Choice,
    embedding: BaseEmbedding | None,
    offer: Mapping[str, Preset] | None = None,
) -> dict[str, SpanNodeParser]:
    """The chosen parsers, by name.

    Args:
        choice: what was chosen.
        embedding: compares sentences where a parser needs that; None for the offline one.
        offer: what may be chosen, see `rag_nodes.parsers.offered`; None for the presets.

    Raises:
        ConfigurationError: too many, one that is not on offer, chunks that would be too many, or
            values that contradict each other, such as more overlap than size.
    """
    from rag_nodes.evaluation.engines import FoundColumn

    surplus = len(choice.parsers) - MOST_COLUMNS
    if surplus > 0:
        raise ConfigurationError(
            f"{len(choice.parsers)} columns chosen, at most {MOST_COLUMNS} are compared: "
            f"untick {surplus}"
        )
    parsers = {}
    for name in choice.parsers:
        preset = _on_offer(name, offer)
        try:
            options = _fields(preset, choice.options.get(name, {}))
            if embedding is not None and preset.embeds:
                options["embed_model"] = embedding
            parsers[name] = preset.make(**options)
        except ConfigurationError as error:
            raise ConfigurationError(f"parser {name!r}: {error}") from error
        if not isinstance(preset, FoundColumn):
            check_cost(name, parsers[name])
    return parsers


def _on_offer(name: str, offer: Mapping[str, Preset] | None) -> Preset:
    """The preset of that name.

    Raises:
        ConfigurationError: there is none. What a visitor sends is looked up and never imported.
    """
    if offer is None:
        return preset_named(name)
    if name not in offer:
        raise unknown_parser(name, offer)
    return offer[name]


def _fields(preset: Preset, values: Mapping[str, float]) -> dict[str, Any]:
    """Values of sliders as fields of the parser; a key in a field leaves its other keys."""
    fields: dict[str, Any] = {}
    for name, value in values.items():
        group, _, key = name.rpartition(".")
        if group:
            fields.setdefault(group, dict(getattr(preset.make(), group)))[key] = value
        else:
            fields[name] = value
    return fields


def query_options(usual: QueryOptions, choice: Choice) -> QueryOptions:
    """How questions are answered: as the server is set up, and as was chosen."""
    chosen: dict[str, Any] = {
        "budget": choice.budget,
        "top_k": choice.top_k,
        "retrieval_only": choice.retrieval_only,
        "similarity_cutoff": choice.similarity_cutoff,
    }
    if choice.granularity:
        chosen["granularity"] = choice.granularity
    return replace(usual, **chosen)


def effective_settings(settings: Settings, choice: Choice) -> Settings:
    """The server's settings with what the user typed in.

    Args:
        settings: the server's.
        choice: what the user typed in.

    Raises:
        ConfigurationError: a name cannot be one.
    """
    typed = _typed(choice)
    typed |= _writing(settings, choice, own="api_key" in typed)
    if not typed:
        return settings
    effective = Settings(**{**settings.model_dump(exclude_unset=True), **typed})
    if "api_key" in typed:  # the options are those of the server's own models, keys included
        return effective.model_copy(update={name: {} for name in MODEL_OPTIONS})
    return effective


def names_models(choice: Choice) -> bool:
    """Whether the user typed in which models are to run."""
    return bool(_typed(choice))


def _typed(choice: Choice) -> dict[str, Any]:
    """The models that the user typed in, as settings; none of them can name a class."""
    typed: dict[str, Any] = {}
    if choice.embedding_model.strip():
        typed["embedding_model"] = choice.embedding_model.strip()
    if choice.llm_model.strip():
        typed["llm_model"] = choice.llm_model.strip()
    if choice.api_key is not None:
        typed["api_key"] = choice.api_key
        typed |= {"embedding": "openai", "llm": "openai"}
    return typed


def _writing(settings: Settings, choice: Choice, *, own: bool) -> dict[str, Any]:
    """How the answer model writes, where that was chosen.

    Raises:
        ConfigurationError: an answer that the server pays for would be longer than it allows.
    """
    longest = settings.max_output_tokens
    if choice.max_output_tokens is not None and choice.max_output_tokens > longest and not own:
        raise ConfigurationError(
            f"max_output_tokens must be at most {longest}, what this server allows; with a key of "
            "your own it may be more"
        )
    chosen = {"temperature": choice.temperature, "max_output_tokens": choice.max_output_tokens}
    return {name: value for name, value in chosen.items() if value is not None}
