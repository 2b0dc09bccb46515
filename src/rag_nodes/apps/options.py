"""What can be chosen in the sidebar, as plain data: parsers, their options, retrieval, models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rag_nodes.apps.addresses import check_address
from rag_nodes.parsers import PRESETS, get_parser
from rag_nodes.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from pydantic import SecretStr

    from rag_nodes.parsers import SpanNodeParser

MOST_COLUMNS = 4
"""Parsers compared at once: more columns than that nobody reads."""


@dataclass(frozen=True, slots=True)
class Option:
    """One slider of a parser.

    Attributes:
        field: the parser's field.
        label: what the slider says, unit included.
        minimum: leftmost value.
        maximum: rightmost value.
        step: distance of neighbouring values.
    """

    field: str
    label: str
    minimum: int
    maximum: int
    step: int


OPTIONS: dict[str, tuple[Option, ...]] = {
    "fixed": (
        Option("chunk_size", "Chunk size, characters", 100, 4000, 50),
        Option("chunk_overlap", "Overlap, characters", 0, 1000, 10),
    ),
    "heading": (
        Option("chunk_size", "Largest section, tokens", 50, 4000, 50),
        Option("min_chunk_size", "Join sections below, tokens", 0, 500, 10),
    ),
    "token-overlap": (
        Option("chunk_size", "Chunk size, tokens", 50, 2000, 10),
        Option("chunk_overlap", "Overlap, tokens", 0, 500, 10),
    ),
    "semantic": (
        Option("breakpoint_percentile", "Break above percentile", 50, 99, 1),
        Option("min_chunk_size", "Smallest chunk, tokens", 0, 500, 2),
        Option("chunk_size", "Largest chunk, tokens", 64, 2000, 2),
    ),
}
"""The sliders of each preset (S0-12); a preset without an entry runs with its defaults."""

HEADLINES: dict[str, str] = {
    "FixedSizeNodeParser": "{chunk_size} {unit} · {chunk_overlap} shared",
    "HeadingHierarchyNodeParser": "sections of {min_chunk_size} to {chunk_size} tokens",
    "TokenOverlapNodeParser": "{chunk_size} tokens · {chunk_overlap} shared",
    "SemanticNodeParser": (
        "percentile {breakpoint_percentile:g} · {min_chunk_size} to {chunk_size} tokens"
    ),
}
"""What stands under the title of a column, by class and with its fields."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What one user chose.

    Attributes:
        parsers: presets to compare, in the order of `PRESETS`.
        options: per preset, the values of its sliders by field.
        budget: context tokens per answer; None for no budget.
        top_k: chunks per answer; None lets the budget decide.
        retrieval_only: show what was found, write no answer.
        api_key: typed in by the user; never the server's own.
        api_base: typed in by the user.
        embedding_model: typed in by the user.
        llm_model: typed in by the user.
    """

    parsers: tuple[str, ...]
    options: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    budget: int | None = 1500
    top_k: int | None = None
    retrieval_only: bool = False
    api_key: SecretStr | None = field(default=None, repr=False)
    api_base: str = ""
    embedding_model: str = ""
    llm_model: str = ""


def default_of(preset: str, option: Option) -> float:
    """Where a slider stands at first: what the preset says."""
    value: float = getattr(get_parser(preset), option.field)
    return value


def make_parsers(choice: Choice, embedding: BaseEmbedding | None) -> dict[str, SpanNodeParser]:
    """The chosen parsers, by preset.

    Args:
        choice: what was chosen.
        embedding: compares sentences where a parser needs that; None for the offline one.

    Raises:
        ConfigurationError: values contradict each other, such as more overlap than size.
    """
    parsers = {}
    for name in choice.parsers:
        options: dict[str, Any] = dict(choice.options.get(name, {}))
        if embedding is not None and "embed_model" in PRESETS[name].parser.model_fields:
            options["embed_model"] = embedding
        parsers[name] = get_parser(name, **options)
    return parsers


def effective_settings(
    settings: Settings, choice: Choice, *, local_models: bool = False
) -> Settings:
    """The server's settings with what the user typed in.

    A key configured on the server is never sent to an address a user typed in.

    Args:
        settings: the server's.
        choice: what the user typed in.
        local_models: allow addresses behind the server's firewall, see `check_address`.

    Raises:
        ConfigurationError: the address or a name cannot be one, or the address is not public.
    """
    typed: dict[str, Any] = {}
    if choice.embedding_model.strip():
        typed["embedding_model"] = choice.embedding_model.strip()
    if choice.llm_model.strip():
        typed["llm_model"] = choice.llm_model.strip()
    if choice.api_key is not None:
        typed["api_key"] = choice.api_key
    if choice.api_base.strip():
        typed |= {"api_base": choice.api_base.strip(), "api_key": choice.api_key}
    if "api_key" in typed:
        typed |= {"embedding": "openai", "llm": "openai"}
    if not typed:
        return settings
    effective = Settings(**{**settings.model_dump(exclude_unset=True), **typed})
    if effective.api_base and "api_base" in typed:
        check_address(effective.api_base, configured=settings.api_base, local=local_models)
    return effective
